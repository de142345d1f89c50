//! A directory of recordings: names, rotation, and nothing that a stranger could plant.

use super::{RecordError, io_at};
use crate::writes;
use pressure::config::Recording;
use pressure::sample::Wall;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "warmset-";
const SUFFIX: &str = ".rec.gz";
/// Mode of a recording. The group that the guard runs with reads it: as packaged that is `warmset`, elsewhere root's own.
const GROUP_READS: u32 = 0o640;
/// Mode of their directory.
const GROUP_ENTERS: u32 = 0o750;

/// The recordings in `directory`, oldest first; other files are passed over.
///
/// They are in the order of their running number, for the clock in the name may have been set back.
pub fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some(number) = name.to_str().and_then(number) {
            found.push((number, directory.join(name)));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The recording begun last; `None` if there is none.
pub fn newest(directory: &Path) -> io::Result<Option<PathBuf>> {
    list(directory).map(|mut files| files.pop())
}

/// The running number in a name.
fn number(name: &str) -> Option<u64> {
    let (_, number) = name
        .strip_prefix(PREFIX)?
        .strip_suffix(SUFFIX)?
        .rsplit_once('-')?;
    number.parse().ok()
}

/// A directory that recordings are written to.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    handle: OwnedFd,
    limits: Recording,
    current: Option<Current>,
    next: u64,
}

#[derive(Debug)]
struct Current {
    name: String,
    file: File,
    written: u64,
}

impl Directory {
    /// Opens `path`, and makes it if it is not there. A directory that others may write to is refused:
    /// they could make names of ours.
    pub(super) fn open(path: &Path, limits: &Recording) -> Result<Self, RecordError> {
        let at = |error| io_at(path, error);
        DirBuilder::new()
            .recursive(true)
            .mode(GROUP_ENTERS)
            .create(path)
            .map_err(at)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())
            .map_err(|error| at(error.into()))?;
        let mode = rustix::fs::fstat(&handle)
            .map_err(|error| at(error.into()))?
            .st_mode;
        if mode & 0o022 != 0 {
            let refusal = format!(
                "others may write to this directory (mode {:o}, want 700)",
                mode & 0o7777
            );
            return Err(at(io::Error::new(io::ErrorKind::PermissionDenied, refusal)));
        }
        let last = newest(path).map_err(at)?;
        let last = last
            .and_then(|path| number(path.file_name()?.to_str()?))
            .unwrap_or(0);
        let next = last.saturating_add(1);
        Ok(Self {
            path: path.to_owned(),
            handle,
            limits: limits.clone(),
            current: None,
            next,
        })
    }

    /// The file being written.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.current
            .as_ref()
            .map(|current| self.path.join(&current.name))
    }

    /// Whether there is no file, or a full one.
    pub(super) fn needs_file(&self) -> bool {
        self.current
            .as_ref()
            .is_none_or(|current| current.written >= self.limits.file_size.get())
    }

    /// Begins a new file, and deletes the oldest beyond the limits.
    pub(super) fn next_file(&mut self, wall: Wall) -> Result<(), RecordError> {
        let name = format!("{PREFIX}{}-{:06}{SUFFIX}", utc(wall), self.next);
        let file = writes::create_new_at(&self.handle, Path::new(&name), GROUP_READS)
            .map_err(|error| io_at(&self.path.join(&name), error))?;
        self.next = self.next.saturating_add(1);
        self.current = Some(Current {
            name,
            file,
            written: 0,
        });
        self.forget_oldest(wall)
            .map_err(|error| io_at(&self.path, error))
    }

    /// Deletes files that are too old, and the oldest until a new file has room.
    ///
    /// The size counts and not their number: a guard that is restarted again and again begins many small files.
    fn forget_oldest(&self, now: Wall) -> io::Result<()> {
        let mut kept = Vec::new();
        for path in list(&self.path)? {
            let Some(name) = path.file_name() else {
                continue;
            };
            let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let written = u64::try_from(stat.st_mtime).unwrap_or(0);
            let age = Duration::from_millis(now.0).saturating_sub(Duration::from_secs(written));
            let is_current = self.current.as_ref().is_some_and(|one| *one.name == *name);
            if age > self.limits.age.get() && !is_current {
                rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?;
            } else {
                kept.push((name.to_owned(), u64::try_from(stat.st_size).unwrap_or(0)));
            }
        }
        let mut size: u64 = kept.iter().map(|(_, size)| size).sum();
        let most = self.limits.size.less(self.limits.file_size).get();
        for (name, its_size) in kept {
            if size <= most {
                break;
            }
            rustix::fs::unlinkat(&self.handle, &name, AtFlags::empty())?;
            size -= its_size;
        }
        Ok(())
    }

    /// What is written from now on goes to `full`, which takes nothing, and not to the current file.
    #[cfg(test)]
    pub(super) fn fill_the_disk(&mut self, full: File) {
        if let Some(current) = &mut self.current {
            current.file = full;
        }
    }

    /// Ends the file being written, so that the next member begins a new one.
    pub(super) fn close(&mut self) {
        self.current = None;
    }

    /// Writes one gzip member.
    pub(super) fn write(&mut self, member: &[u8]) -> Result<(), RecordError> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let written = current.file.write_all(member);
        current.written += member.len() as u64;
        written.map_err(|error| io_at(&self.path.join(&current.name), error))
    }
}

/// `20261121T014805Z`: sorts as it reads, and is a plain file name.
pub(super) fn utc(wall: Wall) -> String {
    let seconds = wall.0 / 1000;
    let days = seconds / 86_400;
    let second = seconds % 86_400;
    let (year, month, day) = date(days);
    let hour = second / 3600;
    let minute = second / 60 % 60;
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z",
        second % 60
    )
}

/// Year, month and day of a number of days since 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    // Whole cycles of 400 years first, so that the loops below are short for any number.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    let leap = |year: u64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}
