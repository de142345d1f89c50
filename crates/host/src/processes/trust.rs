//! Which files only root can have put where they are.
//!
//! A file counts if it and every directory above it are root's and nobody else may write to them. Only paths in the
//! directories of the system, and on the file system of `/`, are asked for: any other path may lead to a server that does
//! not answer.

use arrayvec::ArrayVec;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where a system has its programs and libraries, on whatever file system. The two stores are those of NixOS and Guix, and
/// the last two are where distributions mount snaps.
const SYSTEM: &[&[u8]] = &[
    b"/usr/",
    b"/bin/",
    b"/sbin/",
    b"/lib/",
    b"/lib64/",
    b"/opt/",
    b"/etc/",
    b"/nix/store/",
    b"/gnu/store/",
    b"/run/current-system/",
    b"/snap/",
    b"/var/lib/snapd/snap/",
];
/// Others may make files in such a directory, and not replace those of root's: `/nix/store` is one.
const STICKY: u16 = 0o1000;
/// The type of a symbolic link in a file's mode (`S_IFLNK`); no other type has all of these bits but a socket.
const LINK: u32 = 0o120_000;
/// Directories remembered by one [`Trust`]: libraries are in a few.
const KNOWN: usize = 8;

/// Tells root's files from others, and remembers directories that are root's.
#[derive(Debug)]
pub(super) struct Trust<'r> {
    root: &'r Path,
    /// The owner of `/`.
    owner: u32,
    known: ArrayVec<PathBuf, KNOWN>,
    /// Directories that no link leads to.
    plain: ArrayVec<PathBuf, KNOWN>,
}

impl<'r> Trust<'r> {
    /// For the machine at `root`; `None` if that is not there.
    pub(super) fn of(root: &'r Path) -> Option<Self> {
        Some(Self {
            root,
            owner: rustix::fs::stat(root).ok()?.st_uid,
            known: ArrayVec::new(),
            plain: ArrayVec::new(),
        })
    }

    /// The file at this path of the machine, if only root can have put it there. A path with links in it is followed:
    /// they are root's, too.
    pub(super) fn file(&mut self, path: &[u8]) -> Option<Statx> {
        let path = self.below(path)?;
        let file = seen(&path)?;
        if !self.is_roots(&file) || !self.is_in_roots_directory(&path) {
            return None;
        }
        if self.has_links(&path) {
            let real = std::fs::canonicalize(&path).ok()?;
            self.is_in_roots_directory(&real).then_some(())?;
        }
        Some(file)
    }

    /// Whether a file is root's, and nobody else may write to it.
    pub(super) fn is_roots(&self, file: &Statx) -> bool {
        file.stx_uid == self.owner && file.stx_mode & 0o022 == 0
    }

    /// Whether the path of the file leads over links. Those of the kernel's own, as in `maps`, never do.
    fn has_links(&mut self, path: &Path) -> bool {
        let is_link = |path: &Path| {
            let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
            let seen = statx(CWD, path, flags, StatxFlags::TYPE);
            seen.is_ok_and(|it| u32::from(it.stx_mode) & LINK == LINK)
        };
        let directory = path.parent().unwrap_or(path);
        if self.plain.iter().any(|plain| plain == directory) {
            return is_link(path);
        }
        if directory.ancestors().any(is_link) {
            return true;
        }
        remember(&mut self.plain, directory);
        is_link(path)
    }

    /// Whether only root can make files in the directory of this path. The file itself may be gone.
    pub(super) fn is_in_system(&mut self, path: &[u8]) -> bool {
        let Some(path) = self.below(path) else {
            return false;
        };
        let Some(directory) = path.parent() else {
            return false;
        };
        let is_closed = seen(directory).is_some_and(|it| it.stx_mode & 0o022 == 0);
        is_closed && self.is_in_roots_directory(&path)
    }

    /// Whether nothing is at this path, and only root can put something there.
    pub(super) fn is_roots_to_make(&mut self, path: &[u8]) -> bool {
        let is_absent = self.below(path).is_some_and(|path| seen(&path).is_none());
        is_absent && self.is_in_system(path)
    }

    /// Where this path is from our own root; `None` if it may not be asked for.
    fn below(&self, path: &[u8]) -> Option<PathBuf> {
        let is_systems = SYSTEM.iter().any(|directory| path.starts_with(directory));
        let relative = Path::new(OsStr::from_bytes(path.strip_prefix(b"/")?));
        let is_plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || !(is_systems || self.is_on_root(relative)) {
            return None;
        }
        Some(self.root.join(relative))
    }

    /// Whether every directory of this path is on the file system of `/`. From the top down, so that no other file system
    /// is entered.
    fn is_on_root(&self, relative: &Path) -> bool {
        let device = |path: &Path| seen(path).map(|it| (it.stx_dev_major, it.stx_dev_minor));
        let of_root = device(self.root);
        let mut directory = self.root.to_owned();
        let above = relative.parent().unwrap_or(relative);
        for part in above.components() {
            directory.push(part);
            if device(&directory) != of_root {
                return false;
            }
        }
        of_root.is_some()
    }

    /// Whether every directory above is root's alone, down from the root of the machine.
    fn is_in_roots_directory(&mut self, path: &Path) -> bool {
        let Some(directory) = path.parent() else {
            return false;
        };
        if self.known.iter().any(|known| known == directory) {
            return true;
        }
        let above = directory
            .ancestors()
            .take_while(|above| above.starts_with(self.root));
        let mut levels = 0;
        for directory in above {
            levels += 1;
            let is_roots = seen(directory).is_some_and(|it| {
                let is_closed = it.stx_mode & 0o022 == 0 || it.stx_mode & STICKY != 0;
                it.stx_uid == self.owner && is_closed
            });
            if !is_roots {
                return false;
            }
        }
        if levels == 0 {
            return false;
        }
        remember(&mut self.known, directory);
        true
    }
}

/// Remembers one more directory, and forgets the first if there are too many.
fn remember(known: &mut ArrayVec<PathBuf, KNOWN>, directory: &Path) {
    if known.is_full() {
        known.remove(0);
    }
    known.push(directory.to_owned());
}

/// No question goes to a server over the network: what is known of the file has to do.
fn seen(path: &Path) -> Option<Statx> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    statx(CWD, path, flags, StatxFlags::BASIC_STATS).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn write(root: &Path, path: &str, mode: u32) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_is_roots_with_every_directory_above_it() {
        let machine = tempfile::tempdir().unwrap();
        let root = machine.path();
        write(root, "usr/bin/qtile", 0o755);
        write(root, "usr/bin/open", 0o777);
        write(root, "usr/share/all/x", 0o755);
        write(root, "home/me/qtile", 0o755);
        write(root, "nix/store/abc-qtile/bin/qtile", 0o555);
        let mode = |path: &str, mode| {
            fs::set_permissions(root.join(path), Permissions::from_mode(mode)).unwrap();
        };
        write(root, "lab/w/qtile", 0o755);
        mode("usr/share/all", 0o777);
        mode("home/me", 0o777);
        mode("nix/store", 0o1775);
        symlink("qtile", root.join("usr/bin/link")).unwrap();
        symlink("/nowhere", root.join("usr/bin/dangling")).unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        let is_roots = |path: &str| {
            let mut trust = Trust::of(root).unwrap();
            trust.file(path.as_bytes()).is_some()
        };
        assert!(is_roots("/usr/bin/qtile"));
        assert!(is_roots("/usr/bin/link"));
        assert!(is_roots("/bin/qtile"));
        assert!(is_roots("/lab/w/qtile"));
        assert!(is_roots("/nix/store/abc-qtile/bin/qtile"));
        for path in [
            "/usr/bin/open",
            "/usr/share/all/x",
            "/home/me/qtile",
            "/usr/bin/../../home/me/qtile",
            "/usr/bin/dangling",
            "/gone/x",
            "usr/bin/qtile",
            "/usr/bin/gone",
            "/usr/\u{1b}[2J",
            "/",
            "",
        ] {
            assert!(!is_roots(path), "{path}");
        }
        let mut trust = Trust::of(root).unwrap();
        assert!(trust.is_in_system(b"/usr/bin/gone"));
        assert!(!trust.is_in_system(b"/usr/share/all/gone"));
        assert!(
            !trust.is_in_system(b"/nix/store/gone"),
            "others may make it"
        );
        assert!(!trust.is_in_system(b"/home/me/gone"));
        assert!(trust.is_roots_to_make(b"/home/gone"));
        assert!(!trust.is_roots_to_make(b"/home/me"));
    }

    #[test]
    fn a_link_that_leads_to_a_persons_directory_is_not_followed() {
        let machine = tempfile::tempdir().unwrap();
        let root = machine.path();
        write(root, "home/me/bin/qtile", 0o755);
        write(root, "usr/bin/x", 0o755);
        let open = Permissions::from_mode(0o777);
        fs::set_permissions(root.join("home/me/bin"), open).unwrap();
        symlink(root.join("home/me/bin/qtile"), root.join("usr/bin/qtile")).unwrap();
        let mut trust = Trust::of(root).unwrap();
        assert!(trust.file(b"/usr/bin/qtile").is_none());
    }
}
