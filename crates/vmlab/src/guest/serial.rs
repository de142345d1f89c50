//! The second serial port: the line on which the lab sends plans and the guest answers with frames.

use anyhow::{Context, Result};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};
use warmset_vmlab::frame::Frame;

/// The port that frames are sent on. The lock keeps frames of different threads apart.
static PORT: Mutex<Option<File>> = Mutex::new(None);

/// Opens the port in raw mode: a terminal would translate line ends inside of frames. It must not become the terminal of
/// this process and of all that it starts: a guard spares the unit of a terminal.
pub(crate) fn open() -> Result<File> {
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open("/dev/ttyS1")
        .context("cannot open the second serial port, /dev/ttyS1")?;
    let mut settings = tcgetattr(&port)?;
    settings.make_raw();
    tcsetattr(&port, OptionalActions::Now, &settings)?;
    Ok(port)
}

/// Makes this the port that [`say`] sends on.
pub(crate) fn send_on(port: File) {
    let mut current = PORT.lock().unwrap_or_else(PoisonError::into_inner);
    *current = Some(port);
}

/// Sends a frame. Without a port nothing is sent: the lab notices the silence itself.
pub(crate) fn say(kind: &str, payload: impl Into<Vec<u8>>) {
    let mut port = PORT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(port) = port.as_mut() {
        let _ = Frame::new(kind, payload).write(port);
    }
}
