//! Sockets that accept connections: a Unix socket with its file, or a port on the loopback.

use anyhow::{Context, Result, bail};
use pressure::config::Loopback;
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
pub(crate) enum Listener {
    /// A file. Its mode decides which users can connect.
    Unix(UnixSocket),
    /// A port on the loopback, which every user of the machine can open.
    Loopback(TcpListener),
}

/// A listening Unix socket. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    identity: FileIdentity,
}

/// Device and inode number, to recognise a file that another program has put at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn of(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        Ok(Self {
            device: file.dev(),
            inode: file.ino(),
        })
    }
}

impl Listener {
    /// Listens on the file `path`, which gets this mode.
    ///
    /// A socket that no program listens on is replaced. Errors: a program listens on it, or the file is no socket.
    pub(crate) fn unix(path: PathBuf, mode: u32) -> Result<Self> {
        remove_dead_socket(&path)?;
        let socket = UnixSocket::bind(&path, mode).with_context(|| path.display().to_string())?;
        Ok(Self::Unix(socket))
    }

    /// Listens on an address of the loopback.
    pub(crate) fn loopback(address: Loopback) -> Result<Self> {
        let listener = bind_loopback(address.address())
            .with_context(|| format!("metrics.listen: {address}"))?;
        Ok(Self::Loopback(listener))
    }

    /// The next connection, on a socket that does not block.
    pub(crate) fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Unix(socket) => {
                let (client, _) = socket.listener.accept()?;
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

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.listener.as_fd(),
            Self::Loopback(listener) => listener.as_fd(),
        }
    }
}

impl UnixSocket {
    fn bind(path: &Path, mode: u32) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            identity: FileIdentity::of(path)?,
        })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let now = FileIdentity::of(&self.path);
        let is_ours = now.is_ok_and(|now| now == self.identity);
        if is_ours {
            // A socket that stays behind is dead, and the next start replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind_loopback(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Removes a socket that a killed guard left behind.
fn remove_dead_socket(path: &Path) -> Result<()> {
    let shown = || path.display().to_string();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(shown),
        Ok(file) if !file.file_type().is_socket() => {
            bail!("{} exists and is not a socket", shown())
        }
        Ok(_) => {}
    }
    match try_connect(path) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).with_context(shown),
        Err(Errno::NOENT) => Ok(()),
        Ok(()) | Err(Errno::AGAIN) => bail!("another warmsetd answers on {}", shown()),
        Err(error) => Err(error).with_context(shown),
    }
}

/// Connects without waiting: a frozen program that listens does not accept.
fn try_connect(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        drop(UnixListener::bind(&path).unwrap());
        let listener = Listener::unix(path.clone(), 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        let error = Listener::unix(path.clone(), 0o600).unwrap_err().to_string();
        assert!(error.starts_with("another warmsetd answers on "), "{error}");
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        fs::write(&path, "precious").unwrap();
        let error = Listener::unix(path.clone(), 0o600).unwrap_err().to_string();
        assert!(
            error.ends_with("warmset.sock exists and is not a socket"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn dropping_a_listener_leaves_the_socket_of_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("warmset.sock");
        let first = Listener::unix(path.clone(), 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        let second = Listener::unix(path.clone(), 0o600).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
    }
}
