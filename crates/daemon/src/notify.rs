//! Telling systemd how we are.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The service manager's socket, if there is one. Opened once; sending allocates nothing.
#[derive(Debug, Default)]
pub struct Notify {
    socket: Option<UnixDatagram>,
}

impl Notify {
    /// The socket that `NOTIFY_SOCKET` names; silent where there is none.
    pub fn from_environment() -> Self {
        let socket =
            std::env::var_os("NOTIFY_SOCKET").and_then(|name| connected(name.as_bytes()).ok());
        Self { socket }
    }

    /// How often the watchdog wants to hear from us, at least; `None` where there is none.
    pub fn watchdog_from_environment() -> Option<Duration> {
        let micros = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
        let pid = std::env::var("WATCHDOG_PID").ok();
        let ours = pid.is_none_or(|pid| pid == std::process::id().to_string());
        ours.then(|| Duration::from_micros(micros) / 2)
    }

    /// The first sample is taken, everything works.
    pub fn ready(&self) {
        self.send("READY=1\nSTATUS=guarding\n");
    }

    /// The loop still turns.
    pub fn alive(&self) {
        self.send("WATCHDOG=1\n");
    }

    /// The configuration is being read again; [`Notify::ready`] ends that.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// We are putting everything back.
    pub fn stopping(&self) {
        self.send("STOPPING=1\n");
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            // Who does not listen is not told.
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// A path, or after `@` a name without a file.
fn connected(name: &[u8]) -> io::Result<UnixDatagram> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_an_abstract_name_are_heard() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let name = format!("warmset-test-{}", std::process::id());
        let hidden =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (listener, name) in [
            (listener, path.as_os_str().as_bytes().to_vec()),
            (hidden, format!("@{name}").into_bytes()),
        ] {
            let notify = Notify {
                socket: Some(connected(&name).unwrap()),
            };
            notify.ready();
            let mut buffer = [0; 64];
            let length = listener.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1\nSTATUS=guarding\n");
        }
    }
}
