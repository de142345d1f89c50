//! The directory of a control group of version 2.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where version 2 may be mounted, from the machine's root: alone, or beside version 1.
pub const MOUNTS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// A cgroup's directory, open: the descriptor stays of this cgroup, whatever takes its path later.
#[derive(Debug)]
pub struct Directory {
    /// The descriptor.
    pub file: OwnedFd,
    /// From the machine's root, without a leading slash.
    pub path: PathBuf,
    /// Its inode, by which a cgroup is known.
    pub inode: u64,
}

impl Directory {
    /// The directory of the cgroup at `path`, as `/proc/PID/cgroup` has it, wherever version 2 is mounted. `None` if it is
    /// not there, or the path has `..` in it.
    pub fn of(root: &Path, path: &[u8]) -> Option<Self> {
        let below = Path::new(OsStr::from_bytes(path.strip_prefix(b"/").unwrap_or(path)));
        if !below
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return None;
        }
        MOUNTS
            .iter()
            .find_map(|mount| Self::open(root, &Path::new(mount).join(below)))
    }

    /// The directory at this path from the machine's root.
    pub fn open(root: &Path, path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = rustix::fs::open(root.join(path), flags, Mode::empty()).ok()?;
        let inode = rustix::fs::fstat(&file).ok()?.st_ino;
        Some(Self {
            file,
            path: path.to_owned(),
            inode,
        })
    }

    /// The names of the cgroups just below it, in order.
    pub fn names_below(&self, root: &Path) -> Vec<OsString> {
        let Ok(entries) = std::fs::read_dir(root.join(&self.path)) else {
            return Vec::new();
        };
        let directories = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<OsString> = directories.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    }

    /// The cgroups above it, the outermost first, without the root: that has no limits.
    pub fn above(&self, root: &Path) -> Vec<Self> {
        let mount = MOUNTS
            .iter()
            .rev()
            .map(Path::new)
            .find(|mount| self.path.starts_with(mount));
        let Some(mount) = mount else {
            return Vec::new();
        };
        let mut above: Vec<Self> = self
            .path
            .ancestors()
            .skip(1)
            .take_while(|path| path != &mount && path.starts_with(mount))
            .filter_map(|path| Self::open(root, path))
            .collect();
        above.reverse();
        above
    }
}
