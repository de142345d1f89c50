//! A unit by the files of its control group, version 2.

use super::{Sample, Subject, Taken};
use crate::tracee::watch::kilobytes;
use host::cgroups::directory::Directory;
use host::cgroups::reclaim::{RECLAIM, take};
use host::cgroups::usage::{amount, field, refaulted, text, waiting_for_memory};
use host::{Error, ErrorKind};
use std::fs;
use std::path::Path;
use std::time::Instant;
use units::{Bytes, Pages, Span};

/// A control group, open.
#[derive(Debug)]
pub struct Group {
    directory: Directory,
    above: Vec<Directory>,
    page: Bytes,
    began: Instant,
}

impl Group {
    /// The group at this path, as `/proc/PID/cgroup` has it; `None` if it is not there, or is the root.
    pub fn open(root: &Path, path: &str, page: Bytes) -> Option<Self> {
        let directory = Directory::of(root, path.as_bytes())?;
        Some(Self {
            above: directory.above(root),
            directory,
            page,
            began: Instant::now(),
        })
    }

    /// How much it may still write to swap; zero without any. `None` if it is not told.
    pub fn swap_free(&self, root: &Path) -> Option<Bytes> {
        let meminfo = fs::read(root.join("proc/meminfo")).ok()?;
        let free = kilobytes(&meminfo, "SwapFree")?;
        let file = &self.directory.file;
        // Without a limit there is the word `max`.
        let Some(most) = amount(file, "memory.swap.max") else {
            return Some(free);
        };
        let used = amount(file, "memory.swap.current").unwrap_or_default();
        Some(free.min(most.less(used)))
    }

    /// Its directory.
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    fn sample(&self) -> Option<Sample> {
        let file = &self.directory.file;
        let stat = text(file, "memory.stat")?;
        let bytes = |name| field(&stat, name).map(Bytes::new);
        Some(Sample {
            at: Span::new(self.began.elapsed()),
            used: amount(file, "memory.current")?,
            anon: bytes("anon")?,
            file: bytes("file")?,
            shared: bytes("shmem")?,
            refaulted: Pages::new(refaulted(&stat)?).to_bytes(self.page),
            stalled: waiting_for_memory(file)?,
            swapped: amount(file, "memory.swap.current"),
            limit: self.limit(),
        })
    }

    fn limit(&self) -> Option<Bytes> {
        let all = self.above.iter().chain([&self.directory]);
        let limits = all.flat_map(|group| {
            // A group without a limit has the word `max` there, which is no number.
            ["memory.high", "memory.max"].map(|name| amount(&group.file, name))
        });
        limits.flatten().min()
    }

    fn is_gone(&self) -> bool {
        amount(&self.directory.file, "memory.current").is_none()
    }
}

impl Subject for Group {
    fn look(&mut self) -> Result<Option<Sample>, Error> {
        match self.sample() {
            Some(sample) => Ok(Some(sample)),
            None if self.is_gone() => Ok(None),
            None => Err(Error::refused(
                &self.directory.path,
                "memory.stat or memory.pressure is not told",
            )),
        }
    }

    fn take(&mut self, asked: Bytes) -> Result<Option<Taken>, Error> {
        match take(&self.directory.file, asked) {
            Ok(got) => Ok(got.map(|got| Taken { asked, got })),
            Err(error) => Err(Error {
                path: self.directory.path.join(RECLAIM),
                kind: ErrorKind::Unreadable(error),
            }),
        }
    }
}
