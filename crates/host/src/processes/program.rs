//! Which program a process runs, if that can be trusted.

use super::trust::Trust;
use crate::parse::process::printable;
use pressure::scan::{Name, unwrapped};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Statx, StatxFlags, statx};
use std::ffi::OsStr;
use std::path::Path;

/// A program that was replaced while it runs, as an upgrade does.
const REPLACED: &[u8] = b" (deleted)";

/// The base name of the file that the process runs, if only root can have put it at its path, and it is the file that we
/// see there.
///
/// The last of these: in a mount namespace of their own anyone may show any file of root's under any path. So may a process
/// outside of it, by a descriptor that was opened inside. A file that was replaced cannot be compared. It must have lost its
/// last name: a path may end with `(deleted)` by itself.
pub(super) fn program(root: &Path, process: BorrowedFd<'_>) -> Option<Name> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
    let (path, _) = rustix::fs::readlinkat_raw(process, c"exe", &mut buffer).ok()?;
    let path: &[u8] = path;
    let running = seen(process, OsStr::new("exe"))?;
    let mut trust = Trust::of(root)?;
    if !trust.is_roots(&running) {
        return None;
    }
    let known = match path.strip_suffix(REPLACED) {
        Some(path) if running.stx_nlink == 0 => trust.is_in_system(path).then_some(path),
        // Only paths that only root can change are followed: any other may lead to a server that does not answer.
        _ => {
            let there = trust.file(path)?;
            (identity(&running) == identity(&there)).then_some(path)
        }
    };
    let name = known?.rsplit(|byte| *byte == b'/').next()?;
    Some(printable(unwrapped(name)))
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
    use rustix::fd::AsFd;
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use testsupport::forged::{Forged, SLEEP};

    fn program_of(pid: u32) -> Option<String> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let process = openat(CWD, format!("/proc/{pid}"), flags, Mode::empty()).unwrap();
        program(Path::new("/"), process.as_fd()).map(|name| name.to_string())
    }

    #[test]
    fn no_path_that_a_user_shows_makes_a_file_of_roots_another_program() {
        let own = Forged::start(SLEEP).unwrap();
        assert_eq!(program_of(own.pid()).as_deref(), Some("sleep"));
        // The second is called so, and nothing was removed.
        for path in ["/usr/local/bin/sshd", "/usr/local/bin/sshd (deleted)"] {
            let Some(forged) = Forged::in_own_mounts(path) else {
                return;
            };
            assert_eq!(program_of(forged.pid()), None, "{path}");
            let outside = forged.run_outside();
            assert_eq!(program_of(outside.pid()), None, "{path} by a descriptor");
        }
    }

    #[test]
    fn a_program_that_was_replaced_is_known_by_its_old_name() {
        let directory = tempfile::tempdir_in("/usr/local/bin");
        let Ok(directory) = directory else {
            eprintln!("SKIPPED: only root can replace a program of the system");
            return;
        };
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let path = directory.path().join("sshd");
        std::fs::copy(SLEEP, &path).unwrap();
        let running = Forged::start(path.to_str().unwrap()).unwrap();
        assert_eq!(program_of(running.pid()).as_deref(), Some("sshd"));
        std::fs::remove_file(path).unwrap();
        assert_eq!(program_of(running.pid()).as_deref(), Some("sshd"));
    }

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
