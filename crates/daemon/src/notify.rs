//! Notifications to systemd: ready, alive, reloading, stopping (`sd_notify(3)`).

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
        let Some(name) = std::env::var_os("NOTIFY_SOCKET") else {
            return Self::default();
        };
        Self {
            socket: connect(name.as_bytes()).ok(),
        }
    }

    /// Half of the watchdog's time, as `sd_watchdog_enabled(3)` advises; `None` without a watchdog.
    pub fn watchdog_from_environment() -> Option<Duration> {
        let text = std::env::var("WATCHDOG_USEC").ok()?;
        let micros = text.parse().ok()?;
        if let Ok(pid) = std::env::var("WATCHDOG_PID") {
            // The variable may be inherited from a parent that is watched.
            if pid != std::process::id().to_string() {
                return None;
            }
        }
        Some(Duration::from_micros(micros) / 2)
    }

    /// Reports that the guard has started.
    pub fn ready(&self) {
        self.send("READY=1\nSTATUS=guarding\n");
    }

    /// Reports that the loop still runs: sent after every tick.
    pub fn alive(&self) {
        self.send("WATCHDOG=1\n");
    }

    /// Reports that the configuration is being read again; [`Notify::ready`] ends that.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"));
    }

    /// Reports that the guard puts everything back and ends.
    pub fn stopping(&self) {
        self.send("STOPPING=1\n");
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            // A service manager that does not read must not stop the guard.
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// A socket connected to a path, or to an abstract name after `@`.
fn connect(name: &[u8]) -> io::Result<UnixDatagram> {
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
    fn messages_reach_a_path_and_an_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let name = format!("warmset-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let hidden = UnixDatagram::bind_addr(&address).unwrap();
        for (listener, name) in [
            (listener, path.as_os_str().as_bytes().to_vec()),
            (hidden, format!("@{name}").into_bytes()),
        ] {
            let notify = Notify {
                socket: Some(connect(&name).unwrap()),
            };
            notify.ready();
            let mut buffer = [0; 64];
            let length = listener.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1\nSTATUS=guarding\n");
        }
    }
}
