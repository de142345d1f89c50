//! Control groups: protected ones, which keep their memory, throttled and frozen ones, which may not take more, and squeezed ones,
//! which lose what they do not use.
//!
//! ```text
//! patterns ─► find ─► protected: used, warm, refaulted, memory.min ─┐
//! candidates of a decision ─► throttled: used, events ──────────────┴─► the sample
//! CgroupAction ─► the undo log ─► memory.min of the protected cgroup and of those above it, or memory.high
//! ```
//!
//! Memory that is protected for a cgroup must be protected for every cgroup above it too. Those get the sum of what is
//! below them and nothing more: the rest would go to whatever else lives there.
//!
//! Cost: three small files for each protected cgroup, every `PACE`, and three more while evicted pages are read again. The search runs every `SEARCH`, and every
//! `PACE` while memory runs out, so that a session that begins then is protected too.

pub mod directory;
mod find;
mod frozen;
mod limited;
mod protected;
pub mod reclaim;
pub(crate) mod squeezed;
mod throttled;
pub mod usage;

use crate::applied::Applied;
use crate::error::Error;
use crate::undo::{Restored, UndoLog};
use crate::worker::{Job, Worker};
use directory::Directory;
use find::Search;
use frozen::FrozenCgroup;
use pressure::groups::{Answer, CgroupAction, Groups as Seen, MAX_PROTECTED, MAX_SQUEEZED};
use pressure::sample::Sample;
use pressure::scan::Candidate;
use protected::ProtectedCgroups;
use squeezed::SqueezedCgroups;
use std::path::{Path, PathBuf};
use std::time::Duration;
use throttled::ThrottledCgroup;
use units::{Bytes, Percent, Span};

/// Time between two readings of a protected cgroup. Shorter reads more files; longer misses how fast its working set
/// changes.
const PACE: Duration = Duration::from_secs(5);
/// Time between two searches for protected cgroups while there is memory. A search lists directories, and a unit that
/// starts has little memory yet.
const SEARCH: Duration = Duration::from_secs(30);
/// At most this share of memory is protected, whatever is asked for: reclaim must find enough elsewhere.
const MOST_PROTECTED: Percent = Percent::new(25);

/// All cgroups that the guard looks after.
#[derive(Debug)]
pub(crate) struct Cgroups {
    root: PathBuf,
    search: Search,
    protected: ProtectedCgroups,
    squeezable: Search,
    squeezed: SqueezedCgroups,
    throttled: Vec<ThrottledCgroup>,
    /// Frozen now, or thawed a moment ago.
    frozen: Vec<FrozenCgroup>,
    /// Throttled cgroups with a limit that could not be put back: tried again at the end.
    stuck: Vec<ThrottledCgroup>,
    /// Inodes of cgroups that are never throttled: our own, and those that refused a limit.
    never: Vec<u64>,
    read_at: Option<Duration>,
    /// Refaults of file pages until then.
    refaults: Option<u64>,
    searched_at: Option<Duration>,
    memory: Bytes,
    /// When the last sample was taken.
    at: Span,
}

impl Cgroups {
    /// The cgroups of the machine at `root`. Reads nothing but which is our own.
    pub(crate) fn at(root: &Path) -> Self {
        let own = find::own(root);
        Self {
            root: root.to_owned(),
            search: Search::default(),
            protected: ProtectedCgroups::at(root),
            squeezable: Search::default(),
            squeezed: SqueezedCgroups::default(),
            throttled: Vec::new(),
            frozen: Vec::new(),
            stuck: Vec::new(),
            never: own.iter().map(|directory| directory.inode).collect(),
            read_at: None,
            refaults: None,
            searched_at: None,
            memory: Bytes::ZERO,
            at: Span::default(),
        }
    }

    /// Protects these units from the next sample on, as the configuration names them.
    pub(crate) fn protect(&mut self, units: &[String]) {
        self.search = Search::new(units);
        self.searched_at = None;
    }

    /// Squeezes these units from the next sample on, as the configuration names them.
    pub(crate) fn squeeze(&mut self, units: &[String]) {
        self.squeezable = Search::new(units);
        self.searched_at = None;
    }

    /// Reads what is due into the sample. A cgroup that is gone is let go of, in the log too.
    pub(crate) fn observe(&mut self, sample: &mut Sample, log: &mut UndoLog) {
        self.memory = sample.memory.total.unwrap_or_default();
        self.at = sample.at;
        for candidate in &mut sample.scan.candidates {
            self.hide_usage(candidate);
        }
        self.observe_throttled(&mut sample.groups, log);
        self.observe_frozen(&mut sample.groups, log);
        let pace = if sample.scan.candidates.is_empty() {
            SEARCH
        } else {
            PACE
        };
        let now = sample.at.get();
        if is_due(self.searched_at, pace, now) {
            self.searched_at = Some(now);
            let protected = self.search.run(&self.root, MAX_PROTECTED);
            self.protected.replace(protected, log);
            let squeezed = self.squeezable.run(&self.root, MAX_SQUEEZED);
            self.squeezed.replace(squeezed);
            self.read_at = None;
        }
        if is_due(self.read_at, PACE, now) {
            self.read_at = Some(now);
            let waits = self.note_refaults(sample);
            self.protected.read(sample.at, waits, log);
            self.squeezed.read(sample.at);
        }
        self.protected.tell(&mut sample.groups.protected, log);
        self.squeezed.tell(&mut sample.groups.squeezed);
    }

    /// Whether anything that was evicted has been read again since the last reading.
    fn note_refaults(&mut self, sample: &Sample) -> bool {
        let counters = &sample.counters;
        let now = counters
            .workingset_refault_file
            .or(counters.workingset_refault);
        let before = std::mem::replace(&mut self.refaults, now);
        now > before
    }

    /// A cgroup without usage is not throttled by any decision.
    fn hide_usage(&self, candidate: &mut Candidate) {
        if let Some(group) = &mut candidate.group {
            if self.never.contains(&group.id) {
                group.used = Bytes::ZERO;
            }
        }
    }

    fn observe_throttled(&mut self, seen: &mut Seen, log: &mut UndoLog) {
        seen.throttled.clear();
        let mut index = 0;
        while let Some(cgroup) = self.throttled.get_mut(index) {
            if let Some(throttled) = cgroup.read() {
                seen.throttled.push(throttled);
                index += 1;
                continue;
            }
            let cgroup = self.throttled.remove(index);
            // If it only could not be read, its limit is still ours.
            if cgroup.limited.put_back(log).is_err() {
                self.stuck.push(cgroup);
            }
        }
    }

    fn observe_frozen(&mut self, seen: &mut Seen, log: &mut UndoLog) {
        seen.frozen.clear();
        let at = self.at;
        self.frozen.retain_mut(|cgroup| match cgroup.read(at, log) {
            Some(told) => {
                seen.frozen.push(told);
                true
            }
            // It is empty, and a process that comes into it later must not be frozen. On failure it is tried again.
            None => cgroup.limited.put_back(log).is_err(),
        });
    }

    /// Takes a user's answer about a frozen cgroup.
    pub(crate) fn answered(&mut self, id: u64, user: u32, answer: Answer) {
        for cgroup in &mut self.frozen {
            if cgroup.id() == id {
                cgroup.answered(user, answer);
            }
        }
    }

    /// Carries out an action, entered in the log first. `unit` opens the directory of a candidate's unit.
    pub(crate) fn apply(
        &mut self,
        action: &CgroupAction,
        log: &mut UndoLog,
        unit: &dyn Fn(u64) -> Option<Directory>,
    ) -> Applied {
        let done = match *action {
            CgroupAction::Keep { id, to, .. } => {
                let most = MOST_PROTECTED.of(self.memory);
                self.protected.keep(id, to, most, log)
            }
            CgroupAction::Leave { id, .. } => self.protected.leave(id, log),
            CgroupAction::Throttle { .. } => self.throttle(action, log, unit),
            CgroupAction::Free { id, .. } => self.free(id, log),
            CgroupAction::Freeze { .. } => self.freeze(action, log, unit),
            CgroupAction::Thaw { id, .. } => self.thaw(id, log),
        };
        match done {
            Ok(()) => Applied::Limited,
            Err(error) => Applied::refused(error),
        }
    }

    /// Has the worker read back from swap what a protected cgroup has there.
    pub(crate) fn recall(&mut self, id: u64, amount: Bytes, worker: &Worker) -> Applied {
        let Some(directory) = self.protected.directory(id) else {
            return Applied::Dropped;
        };
        let applied = worker.ask(Job::Recall(directory.to_owned(), amount));
        if applied == Applied::HandedToWorker {
            self.protected.recalled(id);
        }
        applied
    }

    /// Has the worker take unused memory of a squeezed cgroup.
    pub(crate) fn take(&self, id: u64, amount: Bytes, worker: &Worker) -> Applied {
        match self.squeezed.shared(id) {
            Some(cgroup) => worker.ask(Job::Squeeze(cgroup, amount)),
            None => Applied::Dropped,
        }
    }

    /// Units that could not be squeezed, and why.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        self.squeezed.take_warnings()
    }

    fn throttle(
        &mut self,
        action: &CgroupAction,
        log: &mut UndoLog,
        unit: &dyn Fn(u64) -> Option<Directory>,
    ) -> Result<(), Error> {
        let CgroupAction::Throttle {
            id, memory_high, ..
        } = *action
        else {
            return Ok(());
        };
        if let Some(known) = self.throttled.iter_mut().find(|known| known.id() == id) {
            return known.raise(memory_high, log);
        }
        let opened =
            unit(id).and_then(|directory| ThrottledCgroup::open(directory, action, self.at));
        let Some(mut cgroup) = opened else {
            self.never.push(id);
            return Err(gone(action));
        };
        let done = cgroup.limit(log);
        match done {
            Ok(()) => self.throttled.push(cgroup),
            Err(_) => self.never.push(id),
        }
        done
    }

    fn free(&mut self, id: u64, log: &mut UndoLog) -> Result<(), Error> {
        let Some(index) = self.throttled.iter().position(|cgroup| cgroup.id() == id) else {
            return Ok(());
        };
        let cgroup = self.throttled.swap_remove(index);
        let back = cgroup.limited.put_back(log).map(drop);
        if back.is_err() {
            self.stuck.push(cgroup);
        }
        back
    }

    fn freeze(
        &mut self,
        action: &CgroupAction,
        log: &mut UndoLog,
        unit: &dyn Fn(u64) -> Option<Directory>,
    ) -> Result<(), Error> {
        let CgroupAction::Freeze { id, .. } = *action else {
            return Ok(());
        };
        let opened = unit(id).and_then(|directory| FrozenCgroup::open(directory, action, self.at));
        let done = match &opened {
            Some(cgroup) => cgroup.freeze(log),
            None => Err(gone(action)),
        };
        match (opened, &done) {
            (Some(cgroup), Ok(())) => self.frozen.push(cgroup),
            // It cannot be frozen, so no user is asked about it: it counts as having no unit.
            _ => self.never.push(id),
        }
        done
    }

    fn thaw(&mut self, id: u64, log: &mut UndoLog) -> Result<(), Error> {
        let at = self.at;
        for cgroup in &mut self.frozen {
            if cgroup.id() == id {
                cgroup.thaw(at, log)?;
            }
        }
        Ok(())
    }

    /// Puts every limit back that is still ours, and says what became of each.
    pub(crate) fn restore(&mut self, log: &mut UndoLog, restored: &mut Restored) {
        for cgroup in self.throttled.drain(..).chain(self.stuck.drain(..)) {
            limited::tell(cgroup.limited.put_back(log), restored);
        }
        for cgroup in self.frozen.drain(..) {
            limited::tell(cgroup.limited.put_back(log), restored);
        }
        self.protected.restore(log, restored);
    }
}

fn is_due(last: Option<Duration>, pace: Duration, now: Duration) -> bool {
    last.is_none_or(|last| now.saturating_sub(last) >= pace)
}

/// Returns true if the machine has a cgroup of this name, as the configuration names units.
pub fn is_there(root: &Path, unit: &str) -> bool {
    !Search::new(&[unit.to_owned()])
        .run(root, MAX_PROTECTED)
        .is_empty()
}

/// A unit that ended before its limit could be set, or that has no such file.
fn gone(action: &CgroupAction) -> Error {
    Error::refused(
        Path::new(action.unit().as_str()),
        "it has gone, or cannot be limited",
    )
}

#[cfg(test)]
mod tests;
