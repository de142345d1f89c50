//! One group that may not take more.

use super::limited::Limited;
use crate::parse::lines::number;
use crate::procs::{Folder, printable};
use crate::trouble::Trouble;
use crate::undo::UndoLog;
use crate::undo::limit::Kind;
use pressure::census::UnitName;
use pressure::groups::{Contained, Grip};
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
    told: Contained,
}

impl Cell {
    /// `None` if the group is gone, has no such files, or the grip is no containment.
    pub(super) fn open(folder: Folder, grip: &Grip, since: Span) -> Option<Self> {
        let Grip::Contain {
            id,
            unit,
            ceiling,
            reserve,
            ..
        } = *grip
        else {
            return None;
        };
        let file = |name: &str| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&folder.file, name, flags, Mode::empty()).ok()
        };
        let (used, events) = (file("memory.current")?, file("memory.events")?);
        let told = Contained {
            id,
            unit,
            since,
            used: Bytes::ZERO,
            ceiling,
            reserve,
            pushes: 0,
        };
        let limited = Limited::open(folder, Kind::High)?;
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
    pub(super) fn close(&mut self, log: &mut UndoLog) -> Result<(), Trouble> {
        let used = self.current().unwrap_or_default();
        // The kernel counts in pages.
        let page = rustix::param::page_size() as u64;
        let ceiling = self
            .told
            .ceiling
            .max(used)
            .get()
            .checked_next_multiple_of(page)
            .unwrap_or(u64::MAX);
        self.told.ceiling = Bytes::new(ceiling);
        self.limited.set(self.told.ceiling.get(), log)
    }

    /// Sets another ceiling; the old one stands if that fails.
    pub(super) fn raise(&mut self, ceiling: Bytes, log: &mut UndoLog) -> Result<(), Trouble> {
        let before = std::mem::replace(&mut self.told.ceiling, ceiling);
        self.close(log).inspect_err(|_| self.told.ceiling = before)
    }

    /// How it does; `None` if the group is gone, cannot be read, or its limit is no longer ours.
    pub(super) fn read(&mut self) -> Option<Contained> {
        self.told.used = self.current()?;
        let mut buffer = [0; 256];
        let text = read(&self.events, &mut buffer)?;
        let high = text
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"high "))?;
        self.told.pushes = number(high)?;
        (self.limited.now().ok().flatten() == Some(self.told.ceiling.get())).then_some(self.told)
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
