//! A cgroup that is frozen until its user has answered.

use super::directory::Directory;
use super::limited::Limited;
use crate::error::Error;
use crate::parse::lines::number;
use crate::undo::UndoLog;
use crate::undo::limit::Kind;
use pressure::groups::{Answer, CgroupAction, Frozen};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::time::Duration;
use units::Span;

/// Minimum time between two questions about one unit: after an answer the same question does not come at once.
const AGAIN: Duration = Duration::from_secs(60);
/// Frozen, as `cgroup.freeze` has it.
const FROZEN: u64 = 1;

/// A frozen cgroup, with the file that tells whether it is populated held open.
#[derive(Debug)]
pub(super) struct FrozenCgroup {
    pub(super) limited: Limited,
    events: OwnedFd,
    told: Frozen,
}

impl FrozenCgroup {
    /// `None` if the cgroup is gone, the kernel cannot freeze it, or the action is another.
    pub(super) fn open(directory: Directory, action: &CgroupAction, since: Span) -> Option<Self> {
        let CgroupAction::Freeze {
            id,
            unit,
            user,
            headroom,
            ..
        } = *action
        else {
            return None;
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let events =
            rustix::fs::openat(&directory.file, "cgroup.events", flags, Mode::empty()).ok()?;
        let told = Frozen {
            id,
            unit,
            user,
            since,
            headroom,
            thawed: None,
            answer: None,
        };
        Some(Self {
            limited: Limited::open(directory, Kind::Freeze)?,
            events,
            told,
        })
    }

    /// The inode.
    pub(super) fn id(&self) -> u64 {
        self.told.id
    }

    /// Freezes it, unless another program already has: then it is that program's.
    pub(super) fn freeze(&self, log: &mut UndoLog) -> Result<(), Error> {
        if self.limited.found(log) == Some(FROZEN) {
            let unit = Path::new(self.told.unit.as_str());
            return Err(Error::refused(unit, "another program has frozen it"));
        }
        self.limited.set(FROZEN, log)
    }

    /// Thaws it; it is remembered for [`AGAIN`].
    pub(super) fn thaw(&mut self, at: Span, log: &mut UndoLog) -> Result<(), Error> {
        self.limited.put_back(log)?;
        self.told.thawed = Some(at);
        Ok(())
    }

    /// Takes an answer of the unit's user, or of root.
    pub(super) fn answered(&mut self, user: u32, answer: Answer) {
        if (user == self.told.user || user == 0) && self.told.is_frozen() {
            self.told.answer = Some(answer);
        }
    }

    /// Its state; `None` if it is gone or empty, or was thawed longer than [`AGAIN`] ago.
    pub(super) fn read(&mut self, at: Span, log: &mut UndoLog) -> Option<Frozen> {
        if self.is_populated()? == 0 {
            return None;
        }
        let is_thawed = matches!(self.limited.now(), Ok(now) if now != Some(FROZEN));
        if self.told.is_frozen() && is_thawed {
            // Another program has thawed it, and the log must not freeze it again.
            self.limited.forget(log);
            self.told.thawed = Some(at);
        }
        let is_long_ago = self
            .told
            .thawed
            .is_some_and(|thawed| at.get().saturating_sub(thawed.get()) >= AGAIN);
        if is_long_ago { None } else { Some(self.told) }
    }

    /// 1 if a process is in it, or below it; 0 if not. A text without the line counts as populated.
    fn is_populated(&self) -> Option<u64> {
        let mut buffer = [0; 128];
        let length = rustix::io::pread(&self.events, &mut buffer, 0).ok()?;
        let populated = buffer[..length]
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"populated ").and_then(number));
        Some(populated.unwrap_or(1))
    }
}
