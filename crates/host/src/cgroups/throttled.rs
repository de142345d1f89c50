//! A cgroup that is throttled by `memory.high`.

use super::directory::Directory;
use super::limited::Limited;
use crate::error::Error;
use crate::parse::lines::number;
use crate::undo::UndoLog;
use crate::undo::limit::Kind;
use pressure::groups::{CgroupAction, Throttled};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use units::{Bytes, Span};

/// A throttled cgroup, with the files that tell its usage held open.
#[derive(Debug)]
pub(super) struct ThrottledCgroup {
    pub(super) limited: Limited,
    used: OwnedFd,
    events: OwnedFd,
    told: Throttled,
}

impl ThrottledCgroup {
    /// `None` if the cgroup is gone, has no such files, or the action is another.
    pub(super) fn open(directory: Directory, action: &CgroupAction, since: Span) -> Option<Self> {
        let CgroupAction::Throttle {
            id,
            unit,
            memory_high,
            reserve,
            ..
        } = *action
        else {
            return None;
        };
        let file = |name: &str| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&directory.file, name, flags, Mode::empty()).ok()
        };
        let used = file("memory.current")?;
        let events = file("memory.events")?;
        let told = Throttled {
            id,
            unit,
            since,
            used: Bytes::ZERO,
            memory_high,
            reserve,
            pushes: 0,
        };
        Some(Self {
            limited: Limited::open(directory, Kind::High)?,
            used,
            events,
            told,
        })
    }

    /// The inode.
    pub(super) fn id(&self) -> u64 {
        self.told.id
    }

    /// Sets `memory.high`, never below what the cgroup uses at this moment: then the write has nothing to reclaim, and
    /// does not block.
    pub(super) fn limit(&mut self, log: &mut UndoLog) -> Result<(), Error> {
        let used = self.current().unwrap_or_default();
        let wanted = self.told.memory_high.max(used);
        // The kernel rounds to pages, and what is read back is compared with what was written.
        let page = rustix::param::page_size() as u64;
        let rounded = wanted
            .get()
            .checked_next_multiple_of(page)
            .unwrap_or(u64::MAX);
        self.told.memory_high = Bytes::new(rounded);
        self.limited.set(rounded, log)
    }

    /// Sets another `memory.high`; the old one stands if that fails.
    pub(super) fn raise(&mut self, memory_high: Bytes, log: &mut UndoLog) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.told.memory_high, memory_high);
        self.limit(log)
            .inspect_err(|_| self.told.memory_high = before)
    }

    /// Its state; `None` if the cgroup is gone, cannot be read, or its limit is no longer ours.
    pub(super) fn read(&mut self) -> Option<Throttled> {
        self.told.used = self.current()?;
        let mut buffer = [0; 256];
        let text = read(&self.events, &mut buffer)?;
        let high = text
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"high "))?;
        self.told.pushes = number(high)?;
        let now = self.limited.now().ok().flatten()?;
        if now == self.told.memory_high.get() {
            Some(self.told)
        } else {
            None
        }
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
