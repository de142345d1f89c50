//! What was recently evicted of the files that processes have in use: `cachestat`, since 6.5.
//!
//! Pages count that would be active at once if they came back now: they belong to the warm set and are not in memory.
//! A file that two units have in use counts for both.
//!
//! No file is opened that could keep us waiting. A descriptor is opened only if its mount is of a local file system, a
//! mapping only through `map_files`, which leads past every name, and only on a device of its own (not Btrfs, overlays).
//!
//! Source: `filemap_cachestat` in mm/filemap.c of Linux.

use crate::pinned::{FileId, pinned, reopened};
use host::filesystems;
use host::parse::lines::{lines, number, words};
use host::system_calls::cachestat;
use rustix::fd::OwnedFd;
use rustix::fs::makedev;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use units::{Bytes, Pages};

/// Units, the warmest, that have their files asked: about what a terminal shows.
pub(super) const ASKED: usize = 12;
/// Processes of one, and files in all, at most.
const PROCESSES: usize = 32;
const FILES: usize = 512;
/// Bytes of a larger file that are asked, in so many parts: 20 ns a page are 5 ms for a GiB.
const WHOLE: u64 = 1 << 30;
const PARTS: u64 = 64;

/// One look at the files of many units; each file is asked once.
#[derive(Debug)]
pub(super) struct Evictions {
    proc: PathBuf,
    page_size: Bytes,
    left: usize,
    asked: HashMap<FileId, Option<u64>>,
    /// Numbers of local mounts, which are unique on a machine, and the namespaces with roots that were read for them.
    mounts: HashSet<u64>,
    views: HashSet<[PathBuf; 2]>,
}

impl Evictions {
    pub(super) fn of(root: &Path, page_size: Bytes) -> Self {
        Self {
            proc: root.join("proc"),
            page_size,
            left: FILES,
            asked: HashMap::new(),
            mounts: HashSet::new(),
            views: HashSet::new(),
        }
    }

    /// Of all files that these processes have open or mapped; `None` if none of them could be asked.
    pub(super) fn of_processes(&mut self, pids: &[u32]) -> Option<Bytes> {
        let mut seen = HashSet::new();
        for pid in pids.iter().take(PROCESSES) {
            let directory = self.proc.join(pid.to_string());
            self.open_files(&directory, &mut seen);
            self.mapped_files(&directory, &mut seen);
        }
        let told: Vec<u64> = seen
            .iter()
            .filter_map(|file| *self.asked.get(file)?)
            .collect();
        (!told.is_empty()).then(|| Pages::new(told.iter().sum()).to_bytes(self.page_size))
    }

    fn open_files(&mut self, directory: &Path, seen: &mut HashSet<FileId>) {
        let view =
            ["ns/mnt", "root"].map(|link| fs::read_link(directory.join(link)).unwrap_or_default());
        if self.views.insert(view) {
            self.mounts.extend(local_mounts(
                &fs::read(directory.join("mountinfo")).unwrap_or_default(),
            ));
        }
        let Ok(entries) = fs::read_dir(directory.join("fd")) else {
            return;
        };
        for entry in entries.flatten() {
            let info = directory.join("fdinfo").join(entry.file_name());
            let mount = mount_of(&fs::read(info).unwrap_or_default());
            if !mount.is_some_and(|mount| self.mounts.contains(&mount)) {
                continue;
            }
            if let Some((id, file)) = pinned(&entry.path()) {
                seen.insert(id);
                self.ask(id, || reopened(&file).ok());
            }
        }
    }

    fn mapped_files(&mut self, directory: &Path, seen: &mut HashSet<FileId>) {
        let maps = fs::read(directory.join("maps")).unwrap_or_default();
        for (range, file) in lines(&maps).filter_map(mapped) {
            seen.insert(file);
            self.ask(file, || {
                let path = directory
                    .join("map_files")
                    .join(String::from_utf8_lossy(range).as_ref());
                pinned(&path).and_then(|(_, file)| reopened(&file).ok())
            });
        }
    }

    fn ask(&mut self, file: FileId, open: impl FnOnce() -> Option<OwnedFd>) {
        if self.left == 0 || self.asked.contains_key(&file) {
            return;
        }
        self.left -= 1;
        let evicted = open().and_then(|file| recently_evicted(&file));
        self.asked.insert(file, evicted);
    }
}

/// The number of the mount in a descriptor's `fdinfo`.
fn mount_of(text: &[u8]) -> Option<u64> {
    let mount = lines(text).find_map(|line| line.strip_prefix(b"mnt_id:"))?;
    number(mount.trim_ascii())
}

/// The mounts, by number, of a `mountinfo` that have a local file system.
fn local_mounts(text: &[u8]) -> HashSet<u64> {
    let local = |line: &[u8]| {
        let mut words = words(line);
        let id = number(words.next()?)?;
        // Any number of fields, a lone dash, then the kind.
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        filesystems::is_local_name(kind).then_some(id)
    };
    lines(text).filter_map(local).collect()
}

/// A mapping of a file on a device of its own, by a line of `maps`: its range and the file.
fn mapped(line: &[u8]) -> Option<(&[u8], FileId)> {
    // range, rights, place in the file, device as two numbers to the base of 16, inode.
    let mut words = words(line);
    let range = words.next()?;
    let device = words.nth(2)?;
    let inode = number(words.next()?)?;
    let (major, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
    let major = u32::from_str_radix(major, 16).ok()?;
    let minor = u32::from_str_radix(minor, 16).ok()?;
    if major == 0 || inode == 0 {
        return None;
    }
    Some((range, (makedev(major, minor), inode)))
}

/// Pages of this file that were evicted of late; of a large one by a part of it. `None` where the kernel does not tell.
fn recently_evicted(file: &OwnedFd) -> Option<u64> {
    let size = u64::try_from(rustix::fs::fstat(file).ok()?.st_size).ok()?;
    if size <= WHOLE {
        return Some(cachestat(file, 0, size).ok()?.recently_evicted);
    }
    let mut pages = 0;
    for part in 0..PARTS {
        let told = cachestat(file, size / PARTS * part, WHOLE / PARTS).ok()?;
        pages += told.recently_evicted;
    }
    Some((u128::from(pages) * u128::from(size) / u128::from(WHOLE)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_mapping_is_told_by_its_line() {
        let line = b"7f00-7f10 r-xp 00001000 fe:02 4711                      /usr/lib/a b.so";
        assert_eq!(
            mapped(line),
            Some((&b"7f00-7f10"[..], (makedev(0xfe, 2), 4711)))
        );
        assert_eq!(
            mapped(b"7f00-7f10 rw-p 00000000 00:00 0 "),
            None,
            "anonymous"
        );
        assert_eq!(
            mapped(b"7f00-7f10 rw-s 00000000 00:01 9 /memfd:x (deleted)"),
            None,
            "no device of its own"
        );
        assert_eq!(mapped(b"nonsense"), None);
    }

    #[test]
    fn local_mounts_are_told_from_those_that_may_wait() {
        let text = b"21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
22 21 0:31 / /net rw - nfs4 server:/ rw\n23 21 0:32 / /b rw master:1 shared:9 - btrfs /dev/vdb rw\n24 21 0:33 / /f rw - fuse.x x rw\n";
        assert_eq!(local_mounts(text), HashSet::from([21, 23]));
        assert!(local_mounts(b"nonsense\n- ext4").is_empty());
    }

    #[test]
    fn our_own_files_can_be_asked_where_the_kernel_tells() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[1; 8192]).unwrap();
        let (id, held) = pinned(file.path()).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        assert_eq!(id, (metadata.dev(), metadata.ino()), "as `maps` has it");
        match cachestat(reopened(&held).unwrap(), 0, 8192) {
            Ok(told) => assert_eq!(told.evicted, 0, "what was just written was not evicted"),
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)),
                "{error}"
            ),
        }
        assert!(
            pinned(Path::new("/dev/null")).is_none(),
            "only regular files"
        );
    }
}
