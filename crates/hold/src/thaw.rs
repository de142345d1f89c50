//! Waits for the end of the guard, and thaws what it had frozen.

use host::{Error, Places};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Waits until the other end of `socket` is closed, however that comes; then thaws what the undo log in `run` says.
///
/// It must run when memory is short, so it is locked in memory and OOM-killed last, as far as it may.
pub fn wait_and_thaw(socket: BorrowedFd<'_>, run: PathBuf) -> Result<(), Error> {
    let _ = host::lock_in_memory();
    let _ = host::spare_from_oom(Path::new("/"));
    // Tells the guard that it may freeze a unit. If the guard has gone, so is its end of the socket, and recv says so.
    let _ = send(socket, b"r", SendFlags::NOSIGNAL);
    let mut nothing = [0; 16];
    while let Ok((1.., _)) | Err(Errno::INTR) = recv(socket, &mut nothing, RecvFlags::empty()) {}
    let places = Places {
        root: "/".into(),
        run,
    };
    host::thaw(&places).map(drop)
}
