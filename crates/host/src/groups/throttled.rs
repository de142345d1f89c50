//! One group that may not take more.

use super::limited::Limited;
use crate::error::Error;
use crate::parse::lines::number;
use crate::procs::{Directory, printable};
use crate::undo::UndoLog;
use crate::undo::limit::Kind;
use pressure::groups::{CgroupAction, Throttled};
use pressure::scan::UnitName;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use units::{Bytes, Span};

/// A contained group, with the files that tell how it does held open.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) limited: Limited,
    used: OwnedFd,
    events: OwnedFd,
    told: Throttled,
}

impl Cell {
    /// `None` if the group is gone, has no such files, or the grip is no containment.
    pub(super) fn open(
        directory: Directory,
        cgroup_action: &CgroupAction,
        since: Span,
    ) -> Option<Self> {
        let CgroupAction::Throttle {
            id,
            unit,
            memory_high,
            reserve,
            ..
        } = *cgroup_action
        else {
            return None;
        };
        let file = |name: &str| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&directory.file, name, flags, Mode::empty()).ok()
        };
        let (used, events) = (file("memory.current")?, file("memory.events")?);
        let told = Throttled {
            id,
            unit,
            since,
            used: Bytes::ZERO,
            memory_high,
            reserve,
            pushes: 0,
        };
        let limited = Limited::open(directory, Kind::High)?;
        Some(Self {
            limited,
            used,
            events,
            told,
        })
    }

    pub(super) fn id(&self) -> u64 {
        self.told.id
    }

    /// Sets the ceiling: never below what the group has at this moment, so there is nothing to reclaim and nothing to
    /// wait for.
    pub(super) fn close(&mut self, log: &mut UndoLog) -> Result<(), Error> {
        let used = self.current().unwrap_or_default();
        // The kernel counts in pages.
        let page = rustix::param::page_size() as u64;
        let memory_high = self
            .told
            .memory_high
            .max(used)
            .get()
            .checked_next_multiple_of(page)
            .unwrap_or(u64::MAX);
        self.told.memory_high = Bytes::new(memory_high);
        self.limited.set(self.told.memory_high.get(), log)
    }

    /// Sets another ceiling; the old one stands if that fails.
    pub(super) fn raise(&mut self, memory_high: Bytes, log: &mut UndoLog) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.told.memory_high, memory_high);
        self.close(log)
            .inspect_err(|_| self.told.memory_high = before)
    }

    /// How it does; `None` if the group is gone, cannot be read, or its limit is no longer ours.
    pub(super) fn read(&mut self) -> Option<Throttled> {
        self.told.used = self.current()?;
        let mut buffer = [0; 256];
        let text = read(&self.events, &mut buffer)?;
        let high = text
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"high "))?;
        self.told.pushes = number(high)?;
        (self.limited.now().ok().flatten() == Some(self.told.memory_high.get()))
            .then_some(self.told)
    }

    fn current(&self) -> Option<Bytes> {
        let mut buffer = [0; 32];
        number(read(&self.used, &mut buffer)?.trim_ascii()).map(Bytes::new)
    }
}

fn read<'b>(file: &OwnedFd, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = rustix::io::pread(file, &mut *buffer, 0).ok()?;
    buffer.get(..length)
}

/// What a group is called: the last part of its path.
pub(super) fn name(path: &Path) -> UnitName {
    use std::os::unix::ffi::OsStrExt;
    printable(path.file_name().map_or(b"", OsStrExt::as_bytes))
}
