//! Files held without opening them, and opened only once it is known that they are regular ones.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, makedev, open, statx};
use std::io;
use std::path::Path;

/// A file by its device and inode.
pub(crate) type FileId = (u64, u64);

/// How a file is opened to be asked: it is not read, and no lease, FIFO or terminal keeps us waiting.
pub(crate) const TO_ASK: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The regular file that this link leads to, held without opening it.
pub(crate) fn pinned(link: &Path) -> Option<(FileId, OwnedFd)> {
    let file = open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = statx(&file, "", flags, StatxFlags::TYPE | StatxFlags::INO).ok()?;
    let device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
    let kind = FileType::from_raw_mode(stat.stx_mode.into());
    if kind != FileType::RegularFile {
        return None;
    }
    Some(((device, stat.stx_ino), file))
}

/// The same file, open for `cachestat`.
///
/// Errors: no right to read it, a lease on it, no `/proc`.
pub(crate) fn reopened(file: &OwnedFd) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(open(path, TO_ASK, Mode::empty())?)
}
