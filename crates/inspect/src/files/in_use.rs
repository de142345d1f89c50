//! The files that processes have open or mapped, each once.
//!
//! No file is opened that could keep us waiting: only those on mounts that answer by themselves.

use super::By;
use super::ask::{Told, ask, pages_of};
use super::collector::{Collector, Found};
use super::left_out::Why;
use super::local::{Kind, MountOf, Mounts};
use crate::pinned::{FileId, reopened};
use host::Error;
use host::parse::lines::{lines, number, words};
use host::parse::mounts::path as unescaped;
use host::system_calls::CacheStat;
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, fstat, makedev, open,
    statx,
};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Looks at the files of all of them.
///
/// Errors: there is one process, and nothing of it can be looked at.
pub(super) fn of_processes(
    proc: &Path,
    pids: &[u32],
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    let mut files = InUse {
        seen: HashSet::new(),
        mapped: HashSet::new(),
        mounts: Mounts::default(),
        views: HashSet::new(),
        collector,
    };
    for pid in pids {
        let directory = proc.join(pid.to_string());
        files.add_mounts(&directory);
        for failed in [files.open_files(&directory), files.mapped_files(&directory)] {
            let Err(error) = failed else { continue };
            if pids.len() == 1 {
                return Err(Error::unreadable(&directory, error));
            }
            files.unreadable(&directory, error);
        }
    }
    Ok(())
}

struct InUse<'a, 'b> {
    seen: HashSet<FileId>,
    /// Mapped files by the device and inode of `maps`, which are not always those of `stat`.
    mapped: HashSet<((u32, u32), u64)>,
    mounts: Mounts,
    /// Mount namespaces with roots that were read.
    views: HashSet<[PathBuf; 2]>,
    collector: &'a mut Collector<'b>,
}

impl InUse<'_, '_> {
    fn add_mounts(&mut self, directory: &Path) {
        let view =
            ["ns/mnt", "root"].map(|link| fs::read_link(directory.join(link)).unwrap_or_default());
        if self.views.insert(view) {
            let text = fs::read(directory.join("mountinfo")).unwrap_or_default();
            self.mounts.add(&text);
        }
    }

    fn open_files(&mut self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory.join("fd"))? {
            let link = entry?.path();
            // One that is closed by now is a file in use no more.
            let Ok(path) = fs::read_link(&link) else {
                continue;
            };
            if let Ok(file) = held(&link) {
                self.held(&file, &path);
            }
        }
        Ok(())
    }

    fn mapped_files(&mut self, directory: &Path) -> io::Result<()> {
        let maps = fs::read(directory.join("maps"))?;
        for mapping in lines(&maps).filter_map(Mapping::of) {
            if !self.mapped.insert((mapping.device, mapping.inode)) {
                continue;
            }
            let range = OsStr::from_bytes(mapping.range);
            match held(&directory.join("map_files").join(range)) {
                Ok(file) => self.held(&file, &mapping.path),
                // Only root may follow these links; anyone may look where the name leads.
                Err(Errno::PERM | Errno::ACCESS) => self.by_name(directory, &mapping),
                Err(Errno::NOENT) => self.collector.left_out(Why::Vanished, &mapping.path, None),
                Err(errno) => self.unreadable(&mapping.path, errno.into()),
            }
        }
        Ok(())
    }

    /// Looks at a mapped file by its name, if that still leads to it.
    fn by_name(&mut self, directory: &Path, mapping: &Mapping<'_>) {
        if !self.may_ask(self.mounts.kind_of_device(mapping.device), &mapping.path) {
            return;
        }
        let below = mapping.path.strip_prefix("/").unwrap_or(&mapping.path);
        let link = directory.join("root").join(below);
        let file = match held(&link) {
            Ok(file) => file,
            Err(errno) => {
                self.unreadable(&mapping.path, errno.into());
                return;
            }
        };
        let is_same = fstat(&file).is_ok_and(|stat| stat.st_ino == mapping.inode);
        if is_same {
            self.held(&file, &mapping.path);
        } else {
            self.collector.left_out(Why::Replaced, &mapping.path, None);
        }
    }

    /// Looks at a file that is held and not opened yet.
    fn held(&mut self, file: &OwnedFd, path: &Path) {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let stat = match statx(file, "", flags, wanted) {
            Ok(stat) => stat,
            Err(errno) => {
                self.unreadable(path, errno.into());
                return;
            }
        };
        let id = (
            makedev(stat.stx_dev_major, stat.stx_dev_minor),
            stat.stx_ino,
        );
        if !self.seen.insert(id) {
            return;
        }
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => {}
            FileType::Directory => return,
            _ => {
                self.collector.left_out(Why::Special, path, None);
                return;
            }
        }
        let mount = MountOf::of(&stat);
        if !self.may_ask(self.mounts.kind(&mount), path) {
            return;
        }
        let Some((size, told)) = self.told(file, &stat, path) else {
            return;
        };
        let group = match self.collector.by() {
            By::Mount => self.mounts.point(&mount),
            By::Directory | By::File => path.parent().map(Path::to_owned),
        };
        self.collector.found(&Found {
            path,
            id,
            size,
            told,
            group: group.as_deref().unwrap_or(path),
        });
    }

    fn may_ask(&mut self, kind: Option<Kind>, path: &Path) -> bool {
        let why = match kind {
            Some(Kind::Local) => return true,
            Some(Kind::MadeUp) => Why::Special,
            Some(Kind::Other) => Why::NotLocal,
            None => Why::WithoutPath,
        };
        self.collector.left_out(why, path, None);
        false
    }

    fn told(&mut self, file: &OwnedFd, stat: &Statx, path: &Path) -> Option<(u64, Told)> {
        let size = stat.stx_size;
        if size == 0 {
            return Some((0, Told::All(CacheStat::default())));
        }
        if stat.stx_attributes.contains(StatxAttributes::DAX) {
            let why = "its file system has no page cache for it (DAX)";
            return Some((size, Told::Nothing(why)));
        }
        match reopened(file) {
            Ok(file) => Some((size, ask(&file, size, pages_of(&file)))),
            Err(error) => {
                self.unreadable(path, error);
                None
            }
        }
    }

    fn unreadable(&mut self, path: &Path, error: io::Error) {
        // ESRCH: the process of an entry of /proc has ended.
        let is_gone = error.kind() == ErrorKind::NotFound
            || error.raw_os_error() == Some(Errno::SRCH.raw_os_error());
        let (why, detail) = if is_gone {
            (Why::Vanished, None)
        } else {
            (Why::Unreadable, Some(error.to_string()))
        };
        self.collector.left_out(why, path, detail);
    }
}

/// What a link leads to, held and not opened: so nothing waits, and no device notices.
fn held(link: &Path) -> Result<OwnedFd, Errno> {
    open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// A mapping of a file, by a line of `maps`.
#[derive(Debug)]
struct Mapping<'a> {
    range: &'a [u8],
    device: (u32, u32),
    inode: u64,
    path: PathBuf,
}

impl<'a> Mapping<'a> {
    /// range, rights, place in the file, device as two numbers to the base of 16, inode, blanks, path.
    fn of(line: &'a [u8]) -> Option<Self> {
        let mut fields = words(line);
        let range = fields.next()?;
        let device = std::str::from_utf8(fields.nth(2)?).ok()?;
        let inode = number(fields.next()?)?;
        let (major, minor) = device.split_once(':')?;
        let major = u32::from_str_radix(major, 16).ok()?;
        let minor = u32::from_str_radix(minor, 16).ok()?;
        if inode == 0 {
            return None;
        }
        // The path may have blanks in it, and is all that is behind the fifth one.
        let path = line.splitn(6, |byte| *byte == b' ').nth(5)?;
        Some(Self {
            range,
            device: (major, minor),
            inode,
            path: unescaped(path.trim_ascii_start()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_told_by_its_line() {
        let line = b"7f00-7f10 r-xp 00001000 fe:02 4711                      /usr/lib/a b\\012.so";
        let mapping = Mapping::of(line).unwrap();
        assert_eq!(mapping.range, b"7f00-7f10");
        assert_eq!((mapping.device, mapping.inode), ((0xfe, 2), 4711));
        assert_eq!(mapping.path, Path::new("/usr/lib/a b\n.so"));
        for anonymous in [&b"7f00-7f10 rw-p 00000000 00:00 0 "[..], b"nonsense", b""] {
            assert!(Mapping::of(anonymous).is_none());
        }
    }
}
