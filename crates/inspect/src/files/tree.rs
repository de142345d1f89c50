//! Files below paths, walked by descriptors: whatever takes the place of a directory meanwhile, nothing is looked at that
//! is not below it.

use super::ask::{Pages, Told, ask, pages_of};
use super::collector::{Collector, Found};
use super::left_out::Why;
use super::local::{Kind, MountOf, Mounts};
use super::{By, Crossing, REMEMBERED};
use crate::pinned::{FileId, TO_ASK};
use host::Error;
use host::system_calls::CacheStat;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, fstat, makedev,
    openat, statx,
};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A deeper directory is left out: each level has a descriptor open, of which a process has 1,024 as a rule.
const DEEPEST: usize = 256;

/// Walks all of them; a path below another one is not walked twice.
pub(super) fn walk(
    paths: &[PathBuf],
    crossing: Crossing,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    let mut roots = Vec::new();
    for path in paths {
        let whole = path
            .canonicalize()
            .map_err(|error| Error::unreadable(path, error))?;
        let stat = look(CWD, whole.as_os_str(), AtFlags::empty())
            .map_err(|errno| Error::unreadable(path, errno.into()))?;
        let kind = file_type(&stat);
        if kind != FileType::RegularFile && kind != FileType::Directory {
            return Err(Error::refused(path, special(kind)));
        }
        roots.push((whole, stat));
    }
    roots.sort_by(|a, b| a.0.cmp(&b.0));
    roots.dedup_by(|a, b| a.0 == b.0);
    let mounts = Mounts::own();
    let mut links = HashSet::new();
    let mut walked: Vec<(PathBuf, MountOf)> = Vec::new();
    for (root, stat) in roots {
        let mount = MountOf::of(&stat);
        let is_below = |(above, of): &(PathBuf, MountOf)| {
            root.starts_with(above) && (crossing == Crossing::Local || of.is(&mount))
        };
        if walked.iter().any(is_below) {
            continue;
        }
        let mut tree = Tree {
            root: &root,
            group: root.clone(),
            crossing,
            mounts: &mounts,
            links: &mut links,
            collector,
        };
        tree.walk(&stat)?;
        walked.push((root, mount));
    }
    Ok(())
}

struct Tree<'a, 'b> {
    root: &'a Path,
    /// What files count for now: the path itself, or what is directly below it.
    group: PathBuf,
    crossing: Crossing,
    mounts: &'a Mounts,
    /// Files with several names that were seen.
    links: &'a mut HashSet<FileId>,
    collector: &'a mut Collector<'b>,
}

/// A directory that is being read.
struct Level {
    entries: Dir,
    mount: MountOf,
    pages: Pages,
}

impl Tree<'_, '_> {
    fn walk(&mut self, stat: &Statx) -> Result<(), Error> {
        let mut path = self.root.to_owned();
        let root = self.root.as_os_str();
        if file_type(stat) == FileType::RegularFile {
            let name = self.root.file_name().unwrap_or(root);
            let parent = self.root.parent().unwrap_or(self.root);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = openat(CWD, parent, flags, Mode::empty())
                .map_err(|errno| Error::unreadable(parent, errno.into()))?;
            self.file(&directory, name, &path, stat, pages_of(&directory));
            return Ok(());
        }
        let first = open(CWD, root, MountOf::of(stat))
            .map_err(|errno| Error::unreadable(self.root, errno.into()))?;
        let mut levels = vec![first];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.entries.next() else {
                levels.pop();
                self.leave(&mut path, levels.len());
                continue;
            };
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    self.unreadable(&path, errno);
                    levels.pop();
                    self.leave(&mut path, levels.len());
                    continue;
                }
            };
            if [c".", c".."].contains(&entry.file_name()) {
                continue;
            }
            path.push(name_of(entry.file_name()));
            let depth = levels.len();
            let below = levels.last().and_then(|level| {
                self.entry(level, entry.file_name(), entry.file_type(), &path, depth)
            });
            match below {
                Some(below) => {
                    if depth == 1 {
                        self.group.clone_from(&path);
                    }
                    levels.push(below);
                }
                None => {
                    path.pop();
                }
            }
        }
        Ok(())
    }

    /// A directory was read to its end; so many are still open.
    fn leave(&mut self, path: &mut PathBuf, depth: usize) {
        if depth == 1 && self.collector.by() == By::Directory {
            self.collector.close(&self.group);
        }
        if depth == 1 {
            self.group = self.root.to_owned();
        }
        path.pop();
    }

    /// Looks at one entry; a directory that is to be walked is returned.
    fn entry(
        &mut self,
        level: &Level,
        name: &CStr,
        kind: FileType,
        path: &Path,
        depth: usize,
    ) -> Option<Level> {
        match kind {
            FileType::RegularFile | FileType::Directory | FileType::Unknown => {}
            kind => {
                self.special(kind, path);
                return None;
            }
        }
        let Ok(directory) = level.entries.fd() else {
            return None;
        };
        let name = name_of(name);
        let stat = match look(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(errno) => {
                self.unreadable(path, errno);
                return None;
            }
        };
        let found = file_type(&stat);
        if kind != FileType::Unknown && found != kind {
            self.collector.left_out(Why::Replaced, path, None);
            return None;
        }
        let mount = MountOf::of(&stat);
        if !mount.is(&level.mount) && !self.may_cross(&mount, path) {
            return None;
        }
        match found {
            FileType::RegularFile => {
                // A file that is mounted over another has a mount of its own.
                let pages = if mount.is(&level.mount) {
                    level.pages
                } else {
                    Pages::OfLayer
                };
                self.file(directory, name, path, &stat, pages);
                None
            }
            FileType::Directory if depth >= DEEPEST => {
                self.collector.left_out(Why::TooDeep, path, None);
                None
            }
            FileType::Directory => match open(directory, name, mount) {
                Ok(below) => Some(below),
                Err(errno) => {
                    self.unreadable(path, errno);
                    None
                }
            },
            kind => {
                self.special(kind, path);
                None
            }
        }
    }

    fn may_cross(&mut self, mount: &MountOf, path: &Path) -> bool {
        let kind = self.mounts.kind(mount);
        let why = match (self.crossing, kind) {
            (_, Some(Kind::MadeUp)) => Why::Special,
            (Crossing::Never, _) => Why::OtherFileSystem,
            (Crossing::Local, Some(Kind::Local)) => return true,
            (Crossing::Local, _) => Why::NotLocal,
        };
        self.collector.left_out(why, path, None);
        false
    }

    fn file(&mut self, at: impl AsFd, name: &OsStr, path: &Path, stat: &Statx, pages: Pages) {
        let id = id(stat);
        if stat.stx_nlink > 1 && self.links.contains(&id) {
            self.collector.left_out(Why::Again, path, None);
            return;
        }
        if stat.stx_nlink > 1 {
            if self.links.len() < REMEMBERED {
                self.links.insert(id);
            } else {
                self.collector.left_out(Why::PerhapsAgain, path, None);
            }
        }
        let (size, told) = if stat.stx_size == 0 {
            (0, Told::All(CacheStat::default()))
        } else if stat.stx_attributes.contains(StatxAttributes::DAX) {
            let why = "its file system has no page cache for it (DAX)";
            (stat.stx_size, Told::Nothing(why))
        } else {
            match self.opened(at, name, path, id) {
                Some((file, size)) => (size, ask(&file, size, pages)),
                None => return,
            }
        };
        let point = match self.collector.by() {
            By::Mount => self.mounts.point(&MountOf::of(stat)),
            By::File | By::Directory => None,
        };
        self.collector.found(&Found {
            path,
            id,
            size,
            told,
            group: point.as_deref().unwrap_or(&self.group),
        });
    }

    /// The file with its size, if it is still the same and may be opened.
    fn opened(
        &mut self,
        at: impl AsFd,
        name: &OsStr,
        path: &Path,
        expected: FileId,
    ) -> Option<(OwnedFd, u64)> {
        let opened = openat(at, name, TO_ASK | OFlags::NOFOLLOW, Mode::empty());
        let file = match opened {
            Ok(file) => file,
            Err(Errno::LOOP) => {
                self.collector.left_out(Why::Replaced, path, None);
                return None;
            }
            Err(errno) => {
                self.unreadable(path, errno);
                return None;
            }
        };
        let stat = match fstat(&file) {
            Ok(stat) => stat,
            Err(errno) => {
                self.unreadable(path, errno);
                return None;
            }
        };
        let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_regular || (stat.st_dev, stat.st_ino) != expected {
            self.collector.left_out(Why::Replaced, path, None);
            return None;
        }
        Some((file, u64::try_from(stat.st_size).unwrap_or_default()))
    }

    fn unreadable(&mut self, path: &Path, errno: Errno) {
        let (why, detail) = if errno == Errno::NOENT {
            (Why::Vanished, None)
        } else {
            let error = io::Error::from(errno);
            (Why::Unreadable, Some(error.to_string()))
        };
        self.collector.left_out(why, path, detail);
    }

    fn special(&mut self, kind: FileType, path: &Path) {
        let why = if kind == FileType::Symlink {
            Why::Link
        } else {
            Why::Special
        };
        self.collector.left_out(why, path, None);
    }
}

/// A directory below an open one.
fn open(at: impl AsFd, name: &OsStr, mount: MountOf) -> Result<Level, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(at, name, flags, Mode::empty())?;
    let pages = pages_of(&file);
    Ok(Level {
        entries: Dir::new(file)?,
        mount,
        pages,
    })
}

fn look(at: impl AsFd, name: &OsStr, flags: AtFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    statx(
        at,
        name,
        flags,
        StatxFlags::BASIC_STATS | StatxFlags::MNT_ID,
    )
}

fn file_type(stat: &Statx) -> FileType {
    FileType::from_raw_mode(stat.stx_mode.into())
}

fn id(stat: &Statx) -> FileId {
    (
        makedev(stat.stx_dev_major, stat.stx_dev_minor),
        stat.stx_ino,
    )
}

fn name_of(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "this is a FIFO; the page cache has regular files",
        FileType::Socket => "this is a socket; the page cache has regular files",
        FileType::CharacterDevice => "this is a device; the page cache has regular files",
        FileType::BlockDevice => "this is a block device, which is left out: name files on it",
        _ => "this is neither a regular file nor a directory",
    }
}
