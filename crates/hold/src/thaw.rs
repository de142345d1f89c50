//! Waits for the end of the guard, and lets go on whom it had stopped.

use host::{Error, Places};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Waits until the other end of `socket` is closed, however that comes; then thaws what the undo log in `run` says.
///
/// It must answer when memory is short, so it is locked in memory and spared, as far as it may.
pub fn wait_and_thaw(socket: BorrowedFd<'_>, run: PathBuf) -> Result<(), Error> {
    let _ = host::lock_in_memory();
    let _ = host::spare_from_oom(Path::new("/"));
    // The guard's word that it may stop someone; if it has gone, so is its end of the socket.
    let _ = send(socket, b"r", SendFlags::NOSIGNAL);
    let mut nothing = [0; 16];
    while matches!(
        recv(socket, &mut nothing, RecvFlags::empty()),
        Ok((1.., _)) | Err(Errno::INTR)
    ) {}
    host::thaw(&Places {
        root: "/".into(),
        run,
    })
    .map(drop)
}
