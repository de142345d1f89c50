//! Which program a process runs, if that can be trusted.

use super::text::printable;
use pressure::census::Name;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, Statx, StatxFlags};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A program that was replaced while it runs, as an upgrade does.
const REPLACED: &[u8] = b" (deleted)";

/// The base name of the file that the process runs, if the file belongs to the owner of `/`, nobody else may write
/// to it, and it is the file that we see at its path.
///
/// The last of these: in a mount namespace of their own anyone may show any file of root's under any path. A file
/// that is gone from its path cannot be compared; it must be root's all the same.
pub(super) fn program(root: &Path, process: BorrowedFd<'_>) -> Option<Name> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
    let (path, _) = rustix::fs::readlinkat_raw(process, c"exe", &mut buffer).ok()?;
    // No question goes to a server over the network: what is known of the file has to do.
    let seen = |folder: BorrowedFd<'_>, path: &OsStr| {
        rustix::fs::statx(folder, path, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS).ok()
    };
    let running = seen(process, OsStr::new("exe"))?;
    let owner = rustix::fs::stat(root).ok()?.st_uid;
    if running.stx_uid != owner || running.stx_mode & 0o022 != 0 {
        return None;
    }
    let base = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next().map(printable);
    if let Some(path) = path.strip_suffix(REPLACED) {
        return base(path);
    }
    let relative = path.strip_prefix(b"/").unwrap_or(path);
    let there = seen(rustix::fs::CWD.as_fd(), root.join(OsStr::from_bytes(relative)).as_os_str())?;
    if is_same(&running, &there) { base(path) } else { None }
}

const fn is_same(a: &Statx, b: &Statx) -> bool {
    a.stx_ino == b.stx_ino && a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor
}
