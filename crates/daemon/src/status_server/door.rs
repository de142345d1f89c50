//! The sockets that visitors come through.

use anyhow::{Context, Result, anyhow, bail};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A socket that is listened on.
#[derive(Debug)]
pub(crate) enum Door {
    /// A file, for whom its mode lets in.
    Unix(UnixDoor),
    /// A loopback port, which every user of the machine may open.
    Loopback(TcpListener),
}

/// A listening unix socket; its file goes with it.
#[derive(Debug)]
pub(crate) struct UnixDoor {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, to leave alone what someone else has put in its place.
    identity: (u64, u64),
}

impl Door {
    /// Listens on the file at `path`, with this mode. A socket that nobody answers is replaced;
    /// a live one, and anything that is not a socket, is an error.
    pub(crate) fn unix(path: PathBuf, mode: u32) -> Result<Self> {
        clear(&path)?;
        let open = || -> io::Result<_> {
            let listener = UnixListener::bind(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
            listener.set_nonblocking(true)?;
            let file = fs::symlink_metadata(&path)?;
            Ok((listener, (file.dev(), file.ino())))
        };
        let (listener, identity) = open().with_context(|| path.display().to_string())?;
        Ok(Self::Unix(UnixDoor {
            listener,
            path,
            identity,
        }))
    }

    /// Listens on `address`, which must be of the loopback.
    pub(crate) fn loopback(address: &str) -> Result<Self> {
        let expected = "a loopback address and port, such as \"127.0.0.1:9750\" or \"[::1]:9750\"";
        let parsed: SocketAddr = address
            .parse()
            .map_err(|_| anyhow!("metrics.listen: expected {expected}, found {address:?}"))?;
        if !parsed.ip().is_loopback() {
            bail!(
                "metrics.listen: {address:?} can be reached from other machines; expected {expected}"
            );
        }
        let open = || -> io::Result<_> {
            let listener = TcpListener::bind(parsed)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        open()
            .map(Self::Loopback)
            .with_context(|| format!("metrics.listen: {address}"))
    }

    /// The next visitor, on a socket that does not block.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Unix(door) => {
                let (client, _) = door.listener.accept()?;
                client.set_nonblocking(true)?;
                Ok(client.into())
            }
            Self::Loopback(listener) => {
                let (client, _) = listener.accept()?;
                client.set_nonblocking(true)?;
                Ok(client.into())
            }
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(door) => door.listener.as_fd(),
            Self::Loopback(listener) => listener.as_fd(),
        }
    }
}

impl Drop for UnixDoor {
    fn drop(&mut self) {
        let still = fs::symlink_metadata(&self.path).map(|file| (file.dev(), file.ino()));
        if still.is_ok_and(|identity| identity == self.identity) {
            // What cannot be removed is stale, and the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the socket of a dead predecessor.
fn clear(path: &Path) -> Result<()> {
    let shown = || path.display().to_string();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(shown),
        Ok(file) if !file.file_type().is_socket() => bail!("{} is there and is no socket", shown()),
        Ok(_) => {}
    }
    match knock(path) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).with_context(shown),
        Err(Errno::NOENT) => Ok(()),
        Ok(()) | Err(Errno::AGAIN) => bail!("another warmsetd answers on {}", shown()),
        Err(error) => Err(error).with_context(shown),
    }
}

/// Tries to connect, without waiting for one that is stopped.
fn knock(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_is_listened_on() {
        for local in ["127.0.0.1:0", "127.8.8.8:0"] {
            assert!(Door::loopback(local).is_ok(), "{local}");
        }
        for bad in [
            "0.0.0.0:9750",
            "[::]:9750",
            "10.0.0.1:9750",
            "[::ffff:10.0.0.1]:1",
            "localhost:9750",
            "9750",
            "",
        ] {
            let error = Door::loopback(bad).unwrap_err().to_string();
            assert!(
                error.starts_with("metrics.listen: ") && error.contains(&format!("{bad:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_dead_predecessor_is_replaced_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        drop(UnixListener::bind(&path).unwrap());
        let door = Door::unix(path.clone(), 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        let error = Door::unix(path.clone(), 0o600).unwrap_err().to_string();
        assert!(error.starts_with("another warmsetd answers on "), "{error}");
        drop(door);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        fs::write(&path, "precious").unwrap();
        let error = Door::unix(path.clone(), 0o600).unwrap_err().to_string();
        assert!(
            error.ends_with("warmset.sock is there and is no socket"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_successor_keeps_its_socket_when_we_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        let door = Door::unix(path.clone(), 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        let successor = Door::unix(path.clone(), 0o600).unwrap();
        drop(door);
        assert!(path.exists());
        drop(successor);
    }
}
