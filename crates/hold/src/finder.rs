//! From a device and an inode to an open file, without a search of the file system.
//!
//! 1. By the task that brought its pages in, if it still runs: one of its descriptors or its executable. Works on
//!    every file system, in every container, and for files without a name.
//! 2. By a file handle made of the inode's number, on file systems that take one without a generation (ext2, ext3,
//!    ext4: `ext4_nfs_get_inode`). Finds the file of a task that has ended.
//!
//! Only a plain file on a local disk's file system is taken, with a name left, and older than what is known of it:
//! one that was made since may have the number of one that is gone.

#![allow(unsafe_code, reason = "one system call that has no wrapper")]

use host::filesystems;
use pressure::protect::FileId;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, fstatfs, openat, statx};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Descriptors of a task that are looked at.
const MOST_DESCRIPTORS: usize = 256;
/// `FILEID_INO32_GEN`.
const BY_INODE: i32 = 1;

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

/// The file `id`, which task `task` has lately read, and which was there at `since`, in seconds since 1970.
pub(crate) fn find(id: FileId, task: Option<u32>, since: i64) -> Result<Found, Unfit> {
    let opened = task.and_then(|task| by_task(id, task)).or_else(|| by_handle(id)).ok_or(Unfit::NotFound)?;
    fit(id, opened, since)
}

/// Whether it may be held; looked at once it is open, so that nobody can change it under the look.
pub(crate) fn fit(id: FileId, file: File, since: i64) -> Result<Found, Unfit> {
    let meta = file.metadata().map_err(|_| Unfit::NotFound)?;
    if (meta.dev(), meta.ino()) != (id.device, id.inode) {
        return Err(Unfit::NotFound);
    }
    let local = fstatfs(&file).is_ok_and(|system| filesystems::is_local(system.f_type as u64));
    if !meta.is_file() || meta.len() == 0 || meta.nlink() == 0 || !local {
        return Err(Unfit::Kind);
    }
    let born = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let born = born.filter(|born| born.stx_mask & StatxFlags::BTIME.bits() != 0).map(|born| born.stx_btime.tv_sec);
    if born.is_some_and(|born| born >= since) {
        return Err(Unfit::Young);
    }
    let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
    Ok(Found { size: meta.len(), name: name.to_string_lossy().into_owned(), file })
}

/// Whether what was found may be held no longer: it has become shorter, or has lost its last name.
pub(crate) fn is_gone(file: &File, size: u64) -> bool {
    file.metadata().map_or(true, |meta| meta.len() < size || meta.nlink() == 0)
}

fn by_task(id: FileId, task: u32) -> Option<File> {
    let task = PathBuf::from(format!("/proc/{task}"));
    let descriptors = std::fs::read_dir(task.join("fd")).into_iter().flatten().flatten().take(MOST_DESCRIPTORS);
    let paths = std::iter::once(task.join("exe")).chain(descriptors.map(|entry| entry.path()));
    let is = |path: &PathBuf| {
        // Follows the link as the kernel does, to the file and not to a name.
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && (meta.dev(), meta.ino()) == (id.device, id.inode))
    };
    paths.into_iter().filter(is).find_map(|path| open(&path))
}

fn open(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat(CWD, path, flags, Mode::empty()).ok().map(File::from)
}

pub(crate) fn by_handle(id: FileId) -> Option<File> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let point = mount_of(&mounts, id.device)?;
    let mount = openat(CWD, point, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // `struct file_handle`: its length, its type, and for this type the inode and a generation, zero for any.
    let handle = [8_u32, BY_INODE as u32, u32::try_from(id.inode).ok()?, 0];
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the handle is as long as it says and lives through the call; the descriptor is new and ours.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_by_handle_at, mount.as_raw_fd(), handle.as_ptr(), flags);
        (fd >= 0).then(|| File::from_raw_fd(fd as i32))
    }
}

/// Where a device of an ext file system is mounted, from lines such as `36 35 254:16 / /data rw - ext4 /dev/vdb rw`.
fn mount_of(mounts: &str, device: u64) -> Option<String> {
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(2);
        let here = words.next()? == number && kind.starts_with("ext");
        here.then(|| unescaped(words.nth(1).unwrap_or_default()))
    })
}

/// The kernel writes space, tab, line end and backslash as `\040` and so on.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign))
}

/// The name of a file of a running process, for tests of those that hold.
#[cfg(test)]
pub(crate) fn id_of(file: &File) -> std::io::Result<FileId> {
    let meta = file.metadata()?;
    Ok(FileId { device: meta.dev(), inode: meta.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_task_has_open_is_found_by_it() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        let id = id_of(&file).unwrap();
        assert_eq!(id_of(&by_task(id, std::process::id()).unwrap()).unwrap(), id);
        assert!(by_task(FileId { inode: id.inode + 1, ..id }, std::process::id()).is_none());
        assert!(by_task(id, u32::MAX).is_none());
    }

    #[test]
    fn an_old_program_on_a_disk_is_fit_and_others_are_not() {
        let file = File::open("/proc/self/exe").unwrap();
        let id = id_of(&file).unwrap();
        if let Ok(found) = fit(id, file, i64::MAX) {
            assert!(found.size > 0 && found.name.starts_with('/'), "{found:?}");
            assert!(matches!(fit(id, found.file, 0), Err(Unfit::Young) | Ok(_)), "made since, or nobody knows when");
        }
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(fit(id_of(&file).unwrap(), file, i64::MAX).unwrap_err(), Unfit::Kind);
        let file = File::open("/").unwrap();
        assert_eq!(fit(id, file, i64::MAX).unwrap_err(), Unfit::NotFound, "it is another file");
    }

    #[test]
    fn what_is_cut_short_or_has_lost_its_name_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_gone(&file, 10));
        std::fs::write(&path, "01234").unwrap();
        assert!(is_gone(&file, 10) && !is_gone(&file, 5));
        std::fs::write(folder.path().join("new"), "0123456789").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(is_gone(&file, 5), "replaced");
    }

    #[test]
    fn a_mount_is_found_by_its_device() {
        let mounts = "22 1 254:0 / / rw - ext4 /dev/vda rw\n36 35 254:16 / /my\\040data rw shared:1 - ext4 /dev/vdb rw\n\
                      40 1 0:5 / /dev rw - devtmpfs udev rw\nshort\n";
        assert_eq!(mount_of(mounts, rustix::fs::makedev(254, 16)).as_deref(), Some("/my data"));
        assert_eq!(mount_of(mounts, rustix::fs::makedev(0, 5)), None, "no handles of inodes there");
        assert_eq!(mount_of(mounts, rustix::fs::makedev(9, 9)), None);
    }
}
