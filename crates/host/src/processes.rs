//! Processes: the ones that hold most memory, and the means to kill one.
//!
//! Nothing here runs while memory is plenty. When a decision asks for candidates, all of `/proc` is gone through, in parts
//! where that takes long:
//!
//! ```text
//! stat of every process ─► the largest by resident memory ─► status: anonymous memory and swap ─► the candidates
//!                                                             a handle of each, opened once: unit, program, owner,
//!                                                             pidfd, the unit's files, all held open
//! ```
//!
//! So when one has to be killed, everything is open already: its `stat` is read again through the directory that the pidfd was
//! opened beside, and the signal goes through the pidfd. No file is opened, no memory is taken, and none of the
//! victim's locks (`cmdline`, `environ`, `maps`, `smaps` take them) is waited for.
//!
//! Cost: `benches/tick.rs` of the daemon; memory is bounded at [`MOST`] processes. Known limit: a process that has little in RAM and much on
//! swap is found within some scans, as only a few of the small ones have their `status` read at a time.

mod handle;
mod kill;
mod members;
pub mod pagemap;
mod program;
mod reaper;
pub(crate) mod recall;
mod table;
mod touch;

pub use kill::Order;

use crate::applied::Applied;
use crate::cgroups::directory::Directory;
use crate::knobs::rivals::{Rival, is_left_to};
use crate::system::clock::monotonic;
use arrayvec::ArrayVec;
use handle::CandidateHandle;
use kill::Killed;
use pressure::config::Guard;
use pressure::decision::Attention;
use pressure::scan::{Candidate, Group, Identity, MAX_CANDIDATES, MAX_VICTIMS, ProcessScan};
use reaper::Reaper;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use table::{Entry, ProcessTable};
use units::{Bytes, Span};

pub use table::MOST;

/// Of so many, the largest by resident memory, anonymous memory and swap are read. Twice the candidates: what is
/// resident and what a kill gives back differ by shared and file pages.
const LOOKED_INTO: usize = 2 * MAX_CANDIDATES;
/// Minimum time between two scans: a scan of a thousand processes takes some milliseconds.
const PACE: Duration = Duration::from_millis(180);
/// Time that one part of a pass through `/proc` takes: between two parts the known candidates are read again.
const PATIENCE: Duration = Duration::from_millis(80);
/// After a pass, the rest is this many times as long as the pass took, so that scans take at most one part in seventeen
/// of the time; and at most [`LONGEST_REST`], so that a runaway is seen in time.
const REST: u32 = 16;
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Time for which a process that the kernel did not let us signal is no candidate: long enough to try others first.
const REFUSED: Duration = Duration::from_secs(30);

/// The processes of a machine, read while a decision asks for them.
#[derive(Debug)]
pub struct Processes {
    root: PathBuf,
    proc: OwnedFd,
    table: ProcessTable,
    handles: Vec<CandidateHandle>,
    killed: Vec<Killed>,
    /// Processes that the kernel did not let us signal, and when.
    refused: ArrayVec<(Identity, Duration), MAX_CANDIDATES>,
    /// Units of candidates, and how many of their members are exempt.
    units: ArrayVec<members::Unit, { members::UNITS }>,
    /// Which processes are exempt.
    rules: Guard,
    /// Programs that may kill where a candidate is.
    rivals: Arc<[Rival]>,
    /// Some of them kill by swap only.
    has_swap: bool,
    reaper: Reaper,
    page_size: Bytes,
    next: Duration,
}

impl Processes {
    /// The processes of the machine at `root`. Reads nothing yet.
    pub fn open(root: &Path, page_size: Bytes) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            root: root.to_owned(),
            proc: rustix::fs::open(root.join("proc"), flags, Mode::empty())?,
            table: ProcessTable::new(page_size),
            handles: Vec::with_capacity(2 * LOOKED_INTO),
            killed: Vec::with_capacity(MAX_VICTIMS),
            refused: ArrayVec::new(),
            units: ArrayVec::new(),
            rules: Guard::default(),
            rivals: Arc::new([]),
            has_swap: true,
            reaper: Reaper::start()?,
            page_size,
            next: Duration::ZERO,
        })
    }

    /// Takes the exemptions of the configuration, for the next scan on.
    pub fn rule(&mut self, rules: &Guard) {
        self.rules.clone_from(rules);
        self.units.clear();
    }

    /// Takes the programs to which candidates are left where these kill.
    pub(crate) fn leave_to(&mut self, rivals: Arc<[Rival]>, has_swap: bool) {
        self.rivals = rivals;
        self.has_swap = has_swap;
    }

    /// Reads what the last decision wants to see.
    pub(crate) fn observe(&mut self, attention: Attention, at: Span, scan: &mut ProcessScan) {
        match attention {
            Attention::Candidates => self.look(at, scan),
            Attention::Rest => self.rest(scan),
        }
        self.watch(at, scan);
    }

    /// Signals a process.
    pub(crate) fn apply(&mut self, at: Span, order: &Order) -> Applied {
        match self.kill(at, order) {
            Ok(()) => Applied::Signalled,
            Err(why) => Applied::Missed(why),
        }
    }

    /// Reads the processes that hold most memory into `scan`, unless that was done less than `PACE` ago.
    ///
    /// A process that vanishes while it is read is left out.
    pub fn look(&mut self, at: Span, scan: &mut ProcessScan) {
        if at.get() < self.next {
            return;
        }
        let begun = monotonic();
        let is_through = self.table.read(&self.proc, PATIENCE);
        let mut largest = self.table.largest::<LOOKED_INTO>();
        // The guard itself is no candidate. On a recorded machine none of the processes is the guard.
        let own = (self.root == Path::new("/")).then(std::process::id);
        largest.retain(|entry| Some(entry.pid) != own && self.look_into(entry));
        largest.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.anon + entry.swapped));
        scan.at = at;
        scan.candidates.clear();
        self.handles
            .iter_mut()
            .for_each(|handle| handle.wanted = false);
        // A process that we may not signal would take the place of one that we may.
        self.refused
            .retain(|(_, then)| at.get().saturating_sub(*then) < REFUSED);
        largest.retain(|entry| {
            !self
                .refused
                .iter()
                .any(|(identity, _)| *identity == entry.identity())
        });
        for entry in &largest {
            if scan.candidates.is_full() {
                break;
            }
            scan.candidates.extend(self.candidate(at, entry));
        }
        self.handles.retain(|handle| handle.wanted);
        let took = monotonic().saturating_sub(begun);
        let rest = if is_through {
            (took * REST).min(LONGEST_REST)
        } else {
            Duration::ZERO
        };
        self.next = at.get() + PACE.max(took + rest);
    }

    /// The directory of a candidate's unit, opened anew, as its candidate may go before it.
    pub(crate) fn unit(&self, id: u64) -> Option<Directory> {
        let path = self
            .handles
            .iter()
            .find_map(|handle| handle.group_path(id))?;
        Directory::open(&self.root, path).filter(|directory| directory.inode == id)
    }

    /// Forgets the candidates; processes that were signalled are still watched.
    pub fn rest(&mut self, scan: &mut ProcessScan) {
        scan.clear();
        self.handles.clear();
        self.next = Duration::ZERO;
    }

    /// Anonymous memory and swap of one of the largest, by now; `false` if it is gone.
    fn look_into(&mut self, entry: &mut Entry) -> bool {
        let Some(now) = self.table.renew(&self.proc, entry) else {
            return false;
        };
        *entry = now;
        if let Some(status) = table::status(&self.proc, entry.pid) {
            entry.anon = status
                .anon
                .unwrap_or(entry.resident.to_bytes(self.page_size));
            entry.swapped = status.swapped.unwrap_or_default();
            entry.user = status.user.unwrap_or(u32::MAX);
            self.table.remember(entry);
        }
        true
    }

    /// One of the largest as a candidate; `None` if it is gone.
    fn candidate(&mut self, at: Span, entry: &Entry) -> Option<Candidate> {
        let page_size = self.page_size;
        let rivals = Arc::clone(&self.rivals);
        let has_swap = self.has_swap;
        let handle = self.handle(entry)?;
        let mut candidate = handle.candidate(entry, page_size);
        candidate.left_to_rival = is_left_to(&rivals, handle.home(), has_swap);
        let exempt = self.exempt_beside(at, &candidate);
        candidate.group = candidate.group.map(|group| Group { exempt, ..group });
        Some(candidate)
    }

    /// The handle of a process, opened if there is none, or it has changed; `None` if it is gone.
    fn handle(&mut self, entry: &Entry) -> Option<&mut CandidateHandle> {
        let index = match self
            .handles
            .iter()
            .position(|handle| handle.identity == entry.identity())
        {
            Some(index) if self.handles[index].has_changed() => {
                self.handles[index] = CandidateHandle::open(&self.root, &self.proc, entry)?;
                index
            }
            Some(index) => index,
            None => {
                let handle = CandidateHandle::open(&self.root, &self.proc, entry)?;
                self.handles.push(handle);
                self.handles.len() - 1
            }
        };
        let handle = &mut self.handles[index];
        handle.wanted = true;
        Some(handle)
    }
}

#[cfg(test)]
mod tests;
