//! From a device and an inode to an open file, without a search of the file system.
//!
//! 1. By the task that brought its pages in, if it still runs: one of its descriptors or its executable. Works on
//!    every file system, in every container, and for files without a name.
//! 2. By a [file handle](super::handle) made of the inode's number, where the file system takes one. Finds the file of
//!    a task that has ended, and the one below a file of an overlay.
//!
//! The device is that of the file system, as the page cache knows it; `stat` has another for each subvolume of Btrfs.
//! Only a plain file on a local disk's file system is taken, with a name left, and older than what is known of it:
//! one that was made since may have the number of one that is gone.

use crate::handle;
use crate::map::Map;
use host::filesystems;
use pressure::protect::FileId;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, fstatfs, major, makedev, openat, statx,
};
use std::fmt::{Display, Formatter};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Descriptors of a task that are looked at: each is a system call, and most programs have fewer.
const MOST_DESCRIPTORS: usize = 256;

/// A file that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Open for reading.
    pub(crate) file: File,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// What it was called when it was found.
    pub(crate) name: String,
}

/// Why a file that is there cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// No way led to it.
    NotFound,
    /// It was made after the pages of that inode's number were first seen.
    Young,
    /// It is no plain file, is empty, has no name left, or is not on a local disk.
    Kind,
}

impl Display for Unfit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotFound => "it was not found",
            Self::Young => "it is too new",
            Self::Kind => "it is no plain file of a local disk, is empty, or has no name left",
        })
    }
}

/// The file `id`, which task `task` has lately read, and which was there at `since`, in seconds since 1970.
pub(crate) fn find(id: FileId, task: Option<u32>, since: i64) -> Result<Found, Unfit> {
    let opened = task
        .and_then(|task| by_task(id, task))
        .or_else(|| handle::open(id))
        .ok_or(Unfit::NotFound)?;
    fit(id, opened, since)
}

/// Returns the file if it may be held. It is open already, so that it cannot be exchanged between check and use.
pub(crate) fn fit(id: FileId, file: File, since: i64) -> Result<Found, Unfit> {
    let meta = file.metadata().map_err(|_| Unfit::NotFound)?;
    if !is(&file, id) {
        return Err(Unfit::NotFound);
    }
    let local = fstatfs(&file).is_ok_and(|system| filesystems::is_local(system.f_type as u64));
    if !meta.is_file() || meta.len() == 0 || meta.nlink() == 0 || !local {
        return Err(Unfit::Kind);
    }
    let born = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let born = born
        .filter(|born| born.stx_mask & StatxFlags::BTIME.bits() != 0)
        .map(|born| born.stx_btime.tv_sec);
    if born.is_some_and(|born| born >= since) {
        return Err(Unfit::Young);
    }
    let name =
        std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    Ok(Found {
        size: meta.len(),
        name: name.to_string_lossy().into_owned(),
        file,
    })
}

/// Returns true if a file may be held no longer: it has become shorter, or has lost its last name.
pub(crate) fn is_gone(file: &File, size: u64) -> bool {
    file.metadata()
        .map_or(true, |meta| meta.len() < size || meta.nlink() == 0)
}

fn by_task(id: FileId, task: u32) -> Option<File> {
    let task = PathBuf::from(format!("/proc/{task}"));
    let descriptors = std::fs::read_dir(task.join("fd"))
        .into_iter()
        .flatten()
        .flatten()
        .take(MOST_DESCRIPTORS);
    let paths = std::iter::once(task.join("exe")).chain(descriptors.map(|entry| entry.path()));
    paths
        .into_iter()
        .filter(|path| may_be(path, id))
        .find_map(|path| open(&path).filter(|file| is(file, id)))
}

/// Whether this link leads to a plain file of that number, on that device or on another that is none of its own. Follows
/// it as the kernel does, to the file and not to a name, and waits for no server.
fn may_be(path: &Path, id: FileId) -> bool {
    let known = statx(
        CWD,
        path,
        AtFlags::STATX_DONT_SYNC,
        StatxFlags::TYPE | StatxFlags::INO,
    );
    known.is_ok_and(|stat| {
        let device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
        let is_file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        let is_there = device == id.device || (major(device), major(id.device)) == (0, 0);
        is_file && stat.stx_ino == id.inode && is_there
    })
}

fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat(CWD, path, flags, Mode::empty()).ok().map(File::from)
}

/// The device and inode by which the page cache knows this file.
pub(crate) fn id_of(file: &File) -> std::io::Result<FileId> {
    let meta = file.metadata()?;
    let is_btrfs =
        fstatfs(file).is_ok_and(|system| filesystems::has_subvolumes(system.f_type as u64));
    let device = if is_btrfs {
        Map::of(file, 1)?.device()?
    } else {
        meta.dev()
    };
    Ok(FileId {
        device,
        inode: meta.ino(),
    })
}

fn is(file: &File, id: FileId) -> bool {
    id_of(file).is_ok_and(|own| own == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_task_has_open_is_found_by_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        let id = id_of(&file).unwrap();
        assert_eq!(
            id_of(&by_task(id, std::process::id()).unwrap()).unwrap(),
            id
        );
        assert!(
            by_task(
                FileId {
                    inode: id.inode + 1,
                    ..id
                },
                std::process::id()
            )
            .is_none()
        );
        assert!(by_task(id, u32::MAX).is_none());
    }

    #[test]
    fn an_old_program_on_a_disk_is_fit_and_others_are_not() {
        let file = File::open("/proc/self/exe").unwrap();
        let id = id_of(&file).unwrap();
        if let Ok(found) = fit(id, file, i64::MAX) {
            assert!(found.size > 0 && found.name.starts_with('/'), "{found:?}");
            assert!(
                matches!(fit(id, found.file, 0), Err(Unfit::Young) | Ok(_)),
                "made since, or nobody knows when"
            );
        }
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(
            fit(id_of(&file).unwrap(), file, i64::MAX).unwrap_err(),
            Unfit::Kind
        );
        let file = File::open("/").unwrap();
        assert_eq!(
            fit(id, file, i64::MAX).unwrap_err(),
            Unfit::NotFound,
            "it is another file"
        );
    }

    #[test]
    fn what_is_cut_short_or_has_lost_its_name_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_gone(&file, 10));
        std::fs::write(&path, "01234").unwrap();
        assert!(is_gone(&file, 10) && !is_gone(&file, 5));
        std::fs::write(directory.path().join("new"), "0123456789").unwrap();
        std::fs::rename(directory.path().join("new"), &path).unwrap();
        assert!(is_gone(&file, 5), "replaced");
    }
}
