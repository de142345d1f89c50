//! Control groups: whose memory is to stay, and who may not take more.
//!
//! ```text
//! patterns ─► find ─► wards: used, warm, refaulted, memory.min ─┐
//! suspects of a decision ─► contained: used, pushes ────────────┴─► the sample
//! Grip ─► the undo log ─► memory.min of the ward and what is above it, or memory.high
//! ```
//!
//! Memory that is kept for a group must be kept for every group above it too, so those get the sum of what is below them,
//! and nothing more: what a group above has beyond that would go to whoever else lives in it.
//!
//! Cost: reading a ward is three small files, every [`PACE`]; wards are looked for every [`SEARCH`], and as often as they are
//! read while memory runs out: a session that begins then is kept too.

mod find;
mod frozen;
mod limited;
mod protected;
mod recall;
mod throttled;
pub(crate) mod usage;

use crate::error::Error;
use crate::procs::Directory;
use crate::undo::{Restored, UndoLog};
use find::Search;
use frozen::Frozen_;
use pressure::groups::{Answer, CgroupAction, Groups as Seen};
use pressure::sample::Sample;
use protected::ProtectedCgroups;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use throttled::Cell;
use units::{Bytes, Percent, Span};

pub(crate) use recall::recall;

/// Between two readings of a ward.
const PACE: Duration = Duration::from_secs(5);
/// Between two searches for wards while there is memory.
const SEARCH: Duration = Duration::from_secs(30);
/// No more than this share of memory is kept for wards, whoever asks.
const MOST_KEPT: Percent = Percent::new(25);

/// All groups that we look after.
#[derive(Debug)]
pub(crate) struct Groups {
    root: PathBuf,
    search: Search,
    protected: ProtectedCgroups,
    throttled: Vec<Cell>,
    /// Who stands still, or did a moment ago.
    still: Vec<Frozen_>,
    /// Those whose limit could not be put back: tried again at the end.
    stuck: Vec<Cell>,
    /// Groups that are never contained: our own, and those whose limit could not be set.
    never: Vec<u64>,
    read_at: Option<Duration>,
    searched_at: Option<Duration>,
    memory: Bytes,
    /// When the last sample was taken.
    at: Span,
}

impl Groups {
    /// The groups of the machine at `root`. Looks at nothing yet.
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            search: Search::default(),
            protected: ProtectedCgroups::at(root),
            throttled: Vec::new(),
            still: Vec::new(),
            stuck: Vec::new(),
            never: find::own(root)
                .iter()
                .map(|directory| directory.inode)
                .collect(),
            read_at: None,
            searched_at: None,
            memory: Bytes::ZERO,
            at: Span::default(),
        }
    }

    /// Whose memory is to stay, from the next sample on.
    pub(crate) fn cgroup(&mut self, units: &[String]) {
        self.search = Search::new(units);
        self.searched_at = None;
    }

    /// Reads what is due into the sample. What is no longer there is let go of, in the log too.
    pub(crate) fn look(&mut self, sample: &mut Sample, log: &mut UndoLog) {
        self.memory = sample.memory.total.unwrap_or_default();
        self.at = sample.at;
        for candidate in &mut sample.scan.candidates {
            if let Some(group) = candidate
                .group
                .as_mut()
                .filter(|group| self.never.contains(&group.id))
            {
                // Unknown: who has nothing cannot be contained.
                group.used = Bytes::ZERO;
            }
        }
        self.look_at_throttled(&mut sample.groups, log);
        self.look_at_frozen(&mut sample.groups, log);
        let now = sample.at.get();
        let is_due =
            |last: Option<Duration>, pace| last.is_none_or(|last| now.saturating_sub(last) >= pace);
        let search = if sample.scan.candidates.is_empty() {
            SEARCH
        } else {
            PACE
        };
        if is_due(self.searched_at, search) {
            self.searched_at = Some(now);
            self.protected.replace(self.search.run(&self.root), log);
            self.read_at = None;
        }
        if is_due(self.read_at, PACE) {
            self.read_at = Some(now);
            self.protected.read(sample.at, log);
        }
        self.protected.tell(&mut sample.groups.protected, log);
    }

    /// The folder of a ward, what of which is in swap may be read back.
    pub(crate) fn directory(&self, id: u64) -> Option<&Path> {
        self.protected.directory(id)
    }

    /// What a ward has in swap is being read back.
    pub(crate) fn recalled(&mut self, id: u64) {
        self.protected.recalled(id);
    }

    fn look_at_throttled(&mut self, seen: &mut Seen, log: &mut UndoLog) {
        seen.throttled.clear();
        let mut index = 0;
        while let Some(cell) = self.throttled.get_mut(index) {
            if let Some(throttled) = cell.read() {
                seen.throttled.push(throttled);
                index += 1;
                continue;
            }
            let cell = self.throttled.remove(index);
            // If it is only that it cannot be read, it is still ours.
            if cell.limited.put_back(log).is_err() {
                self.stuck.push(cell);
            }
        }
    }

    fn look_at_frozen(&mut self, seen: &mut Seen, log: &mut UndoLog) {
        seen.frozen.clear();
        let at = self.at;
        self.still.retain_mut(|one| match one.read(at, log) {
            Some(told) => {
                seen.frozen.push(told);
                true
            }
            // Nobody is in it any more: what comes into it later is not to stand still. If that fails it is tried again.
            None => one.limited.put_back(log).is_err(),
        });
    }

    /// Takes what a person has said about a group.
    pub(crate) fn answered(&mut self, id: u64, user: u32, answer: Answer) {
        self.still
            .iter_mut()
            .filter(|one| one.id() == id)
            .for_each(|one| one.answered(user, answer));
    }

    /// Does what was decided, entered in the log first. `unit` finds the folder of a suspect's unit.
    pub(crate) fn cgroup_action(
        &mut self,
        cgroup_action: &CgroupAction,
        log: &mut UndoLog,
        unit: &dyn Fn(u64) -> Option<Directory>,
    ) -> Result<(), Error> {
        match *cgroup_action {
            CgroupAction::Keep { id, to, .. } => {
                self.protected.keep(id, to, MOST_KEPT.of(self.memory), log)
            }
            CgroupAction::Leave { id, .. } => self.protected.leave(id, log),
            CgroupAction::Throttle {
                id, memory_high, ..
            } => {
                if let Some(cell) = self.throttled.iter_mut().find(|cell| cell.id() == id) {
                    return cell.raise(memory_high, log);
                }
                let cell = unit(id).map(|directory| Cell::open(directory, cgroup_action, self.at));
                let Some(mut cell) = cell.flatten() else {
                    self.never.push(id);
                    return Err(gone(cgroup_action));
                };
                let done = cell.close(log);
                match done {
                    Ok(()) => self.throttled.push(cell),
                    Err(_) => self.never.push(id),
                }
                done
            }
            CgroupAction::Freeze { id, .. } => {
                let still =
                    unit(id).and_then(|directory| Frozen_::open(directory, cgroup_action, self.at));
                let done = still.map(|still| still.stop(log).map(|()| self.still.push(still)));
                if !matches!(done, Some(Ok(()))) {
                    // It cannot be stopped, so nobody is asked about it: it is as if it had no unit.
                    self.never.push(id);
                }
                done.unwrap_or_else(|| Err(gone(cgroup_action)))
            }
            CgroupAction::Thaw { id, .. } => {
                let at = self.at;
                let mut mine = self.still.iter_mut().filter(|one| one.id() == id);
                mine.try_for_each(|one| one.go_on(at, log))
            }
            CgroupAction::Free { id, .. } => {
                let Some(index) = self.throttled.iter().position(|cell| cell.id() == id) else {
                    return Ok(());
                };
                let cell = self.throttled.swap_remove(index);
                let back = cell.limited.put_back(log).map(drop);
                if back.is_err() {
                    self.stuck.push(cell);
                }
                back
            }
        }
    }

    /// Puts every limit back that is still ours, and tells.
    pub(crate) fn put_everything_back(&mut self, log: &mut UndoLog, restored: &mut Restored) {
        for cell in self.throttled.drain(..).chain(self.stuck.drain(..)) {
            limited::tell(cell.limited.put_back(log), restored);
        }
        for one in self.still.drain(..) {
            limited::tell(one.limited.put_back(log), restored);
        }
        self.protected.put_everything_back(log, restored);
    }
}

/// Whether anyone is there whose memory `unit` would keep, as the configuration names units.
pub fn is_there(root: &Path, unit: &str) -> bool {
    !Search::new(&[unit.to_owned()]).run(root).is_empty()
}

/// A unit that went before it could be gripped, or has not the files for it.
fn gone(cgroup_action: &CgroupAction) -> Error {
    Error::unreadable(
        Path::new(cgroup_action.unit().as_str()),
        io::Error::other("it has gone, or cannot be limited"),
    )
}

#[cfg(test)]
mod tests;
