//! One group that stands still until a person has answered.

use super::limited::Limited;
use crate::error::Error;
use crate::parse::lines::number;
use crate::procs::Directory;
use crate::undo::UndoLog;
use crate::undo::limit::Kind;
use pressure::groups::{Answer, CgroupAction, Frozen};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::Path;
use std::time::Duration;
use units::Span;

/// Nobody is asked about the same unit again within this time.
const AGAIN: Duration = Duration::from_secs(60);
/// As `cgroup.freeze` has it.
const STILL: u64 = 1;

/// A group that was stopped, with what tells whether anyone is in it held open.
#[derive(Debug)]
pub(super) struct Frozen_ {
    pub(super) limited: Limited,
    events: OwnedFd,
    told: Frozen,
}

impl Frozen_ {
    /// `None` if the group is gone, the kernel cannot stop it, or the grip is another.
    pub(super) fn open(
        directory: Directory,
        cgroup_action: &CgroupAction,
        since: Span,
    ) -> Option<Self> {
        let CgroupAction::Freeze {
            id,
            unit,
            user,
            headroom,
            ..
        } = *cgroup_action
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

    pub(super) fn id(&self) -> u64 {
        self.told.id
    }

    /// Stops it. One that stands still already is someone else's affair.
    pub(super) fn stop(&self, log: &mut UndoLog) -> Result<(), Error> {
        if self.limited.found(log) == Some(STILL) {
            let path = Path::new(self.told.unit.as_str());
            return Err(Error::unreadable(
                path,
                io::Error::other("someone else has stopped it"),
            ));
        }
        self.limited.set(STILL, log)
    }

    /// Lets it go on; it is remembered for a while.
    pub(super) fn go_on(&mut self, at: Span, log: &mut UndoLog) -> Result<(), Error> {
        self.limited.put_back(log)?;
        self.told.thawed = Some(at);
        Ok(())
    }

    /// Takes an answer, if it is of whom it concerns.
    pub(super) fn answered(&mut self, user: u32, answer: Answer) {
        if (user == self.told.user || user == 0) && self.told.is_frozen() {
            self.told.answer = Some(answer);
        }
    }

    /// How it does; `None` if it is gone or empty, or was let go on long ago.
    pub(super) fn read(&mut self, at: Span, log: &mut UndoLog) -> Option<Frozen> {
        let mut buffer = [0; 128];
        let length = rustix::io::pread(&self.events, &mut buffer, 0).ok()?;
        let populated = |line: &[u8]| line.strip_prefix(b"populated ").and_then(number);
        let lives = buffer[..length]
            .split(|byte| *byte == b'\n')
            .find_map(populated);
        if lives == Some(0_u64) {
            return None;
        }
        let is_let_go = matches!(self.limited.now(), Ok(now) if now != Some(STILL));
        if self.told.is_frozen() && is_let_go {
            // Someone has let it go on, and the log is not to stop it again.
            self.limited.forget(log);
            self.told.thawed = Some(at);
        }
        let long_ago = self
            .told
            .thawed
            .is_some_and(|thawed| at.get().saturating_sub(thawed.get()) >= AGAIN);
        (!long_ago).then_some(self.told)
    }
}
