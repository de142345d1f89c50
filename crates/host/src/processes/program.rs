//! Which program a process runs, if that can be trusted.

use crate::parse::process::printable;
use pressure::scan::{Name, unwrapped};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
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
    let running = seen(process, OsStr::new("exe"))?;
    let owner = rustix::fs::stat(root).ok()?.st_uid;
    if running.stx_uid != owner || running.stx_mode & 0o022 != 0 {
        return None;
    }
    let base = |path: &[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next()?;
        Some(printable(unwrapped(name)))
    };
    if let Some(path) = path.strip_suffix(REPLACED) {
        return base(path);
    }
    let relative = path.strip_prefix(b"/").unwrap_or(path);
    let there = seen(
        CWD.as_fd(),
        root.join(OsStr::from_bytes(relative)).as_os_str(),
    )?;
    if identity(&running) == identity(&there) {
        base(path)
    } else {
        None
    }
}

/// Of a longer path the beginning is known.
pub(super) const LONGEST_PATH: usize = 1024;

/// The path of the file that a process runs, whoever owns it, as the kernel shows it to us; empty if that is not told.
pub(super) fn exe<'b>(
    process: BorrowedFd<'_>,
    buffer: &'b mut [std::mem::MaybeUninit<u8>],
) -> &'b [u8] {
    match rustix::fs::readlinkat_raw(process, c"exe", buffer) {
        Ok((path, _)) => path.strip_suffix(REPLACED).unwrap_or(path),
        Err(_) => &[],
    }
}

/// Device and inode of a file.
pub(super) type Running = (u32, u32, u64);

/// Which file the process runs; `None` if that is not told.
pub(super) fn running(process: BorrowedFd<'_>) -> Option<Running> {
    seen(process, OsStr::new("exe")).as_ref().map(identity)
}

/// No question goes to a server over the network: what is known of the file has to do.
fn seen(directory: BorrowedFd<'_>, path: &OsStr) -> Option<Statx> {
    statx(
        directory,
        path,
        AtFlags::STATX_DONT_SYNC,
        StatxFlags::BASIC_STATS,
    )
    .ok()
}

const fn identity(file: &Statx) -> Running {
    (file.stx_dev_major, file.stx_dev_minor, file.stx_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_program_has_the_name_of_its_wrapper() {
        for (file, name) in [
            (".kwin_wayland-wrapped", "kwin_wayland"),
            (".kwin_wayland-wrapped_", "kwin_wayland"),
            ("..foo-wrapped-wrapped", "foo"),
            ("kwin_wayland-wrapped", "kwin_wayland-wrapped"),
            (".kwin_wayland", ".kwin_wayland"),
            (".-wrapped", ""),
            ("", ""),
            ("___", "___"),
        ] {
            assert_eq!(unwrapped(file.as_bytes()), name.as_bytes(), "{file}");
        }
    }
}
