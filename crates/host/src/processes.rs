//! Processes: the ones that hold most memory, and the means to kill one.
//!
//! Nothing here runs while memory is plenty. When a decision asks for candidates, all of `/proc` is gone through, in parts
//! where that takes long:
//!
//! ```text
//! stat of every process ─► the largest by what is known of them ─► status: each kind of memory ─► the candidates
//!   │                      families of many alike ─► the largest and the youngest of each      ─►   │
//!   │                                                         a handle of each, opened once: unit, program, owner,
//!   │                                                         script, pidfd, the unit's files, all held open
//!   └► of some in turn: status, and open files while the machine has much shared memory
//! ```
//!
//! So when one has to be killed, everything is open already: its `stat` is read again through the directory that the pidfd was
//! opened beside, and the signal goes through the pidfd. No file is opened, no memory is taken, and none of the
//! victim's locks (`cmdline`, `environ`, `maps`, `smaps` take them) is waited for.
//!
//! Cost: `benches/tick.rs` of the daemon; memory is bounded at [`MOST`] processes. Known limit: a process that has little in RAM and much on
//! swap, in page tables or in a memfd that it does not map is found within some scans, as only a few of the small ones
//! are looked into at a time.

mod ancestor;
mod command;
mod families;
mod family_kill;
mod foreign;
mod handle;
mod kill;
mod members;
mod mounts;
mod open_files;
pub mod pagemap;
mod program;
mod reaper;
pub(crate) mod recall;
mod script;
pub mod survey;
mod table;
mod touch;
mod trust;

pub use kill::Order;

use crate::applied::{Applied, Missed};
use crate::cgroups::directory::Directory;
use crate::knobs::rivals::{Rival, is_left_to};
use crate::system::clock::monotonic;
use arrayvec::ArrayVec;
use handle::CandidateHandle;
use kill::Killed;
use open_files::OpenFiles;
use pressure::config::Guard;
use pressure::decision::Attention;
use pressure::distress::{Exemption, exemption, is_a_persons};
use pressure::sample::Memory;
use pressure::scan::{
    Candidate, Family, Group, Identity, MAX_CANDIDATES, MAX_FAMILIES, MAX_VICTIMS, PathName,
    ProcessScan,
};
use reaper::Reaper;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use table::{Entry, ProcessTable, Told};
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
    open_files: OpenFiles,
    handles: Vec<CandidateHandle>,
    killed: Vec<Killed>,
    /// Processes that the kernel did not let us signal, and when.
    refused: ArrayVec<(Identity, Duration), MAX_CANDIDATES>,
    /// Units of candidates, and what their members are.
    units: ArrayVec<members::Unit, { members::UNITS }>,
    /// Which processes are exempt.
    rules: Guard,
    /// Programs that may kill where a candidate is.
    rivals: Arc<[Rival]>,
    /// Some of them kill by swap only.
    has_swap: bool,
    reaper: Reaper,
    /// The families of the last scan.
    families: ArrayVec<Family, MAX_FAMILIES>,
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
            open_files: OpenFiles::default(),
            handles: Vec::with_capacity(2 * LOOKED_INTO),
            killed: Vec::with_capacity(MAX_VICTIMS),
            refused: ArrayVec::new(),
            units: ArrayVec::new(),
            rules: Guard::default(),
            rivals: Arc::new([]),
            has_swap: true,
            reaper: Reaper::start()?,
            families: ArrayVec::new(),
            page_size,
            next: Duration::ZERO,
        })
    }

    /// Takes the exemptions of the configuration, for the next scan on.
    pub fn rule(&mut self, rules: &Guard) {
        self.rules.clone_from(rules);
        self.units.clear();
        // A handle knows which rules match, so what was found by the rules of before says nothing.
        self.handles.clear();
        self.next = Duration::ZERO;
    }

    /// Takes the programs to which candidates are left where these kill.
    pub(crate) fn leave_to(&mut self, rivals: Arc<[Rival]>, has_swap: bool) {
        self.rivals = rivals;
        self.has_swap = has_swap;
    }

    /// Reads what the last decision wants to see.
    pub(crate) fn observe(
        &mut self,
        attention: Attention,
        at: Span,
        memory: &Memory,
        scan: &mut ProcessScan,
    ) {
        match attention {
            Attention::Candidates => {
                self.see(at, memory);
                self.look(at, scan);
            }
            Attention::Rest => self.rest(scan),
        }
        self.watch(at, scan);
    }

    /// Signals a process.
    pub fn apply(&mut self, at: Span, order: &Order) -> Applied {
        match self.kill(at, order) {
            Ok(()) => Applied::Signalled,
            // What a signal was to reach has come true without one.
            Err(Missed::Gone) => Applied::Overtaken,
            Err(why) => Applied::Missed(why),
        }
    }

    /// Sends SIGTERM to a process that a person has chosen, if its number still is its own.
    pub fn terminate(&self, identity: Identity) -> Result<(), Missed> {
        // The numbers of a recorded machine are of other processes here.
        if self.root != Path::new("/") {
            return Err(Missed::NoMeans);
        }
        family_kill::signal_one(&self.proc, identity, rustix::process::Signal::TERM)
    }

    /// Takes the counters of the machine: open files are looked at only while it has much shared memory, or that grows.
    pub fn see(&mut self, at: Span, memory: &Memory) {
        if at.get() >= self.next {
            self.open_files.see(at.get(), memory);
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
        self.open_files
            .read(&self.root, &self.proc, at.get(), &mut self.table);
        let families = self.table.families(&self.proc);
        let largest = self.largest(at);
        scan.at = at;
        scan.processes = u32::try_from(self.table.entries.len()).ok();
        self.fill(at, &largest, &families, scan);
        scan.mounts = self.open_files.mounts.told(&mut self.table);
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
        self.open_files.rest();
        self.next = Duration::ZERO;
    }

    /// The largest processes that may be signalled, by what their `status` tells now; the largest first.
    fn largest(&mut self, at: Span) -> ArrayVec<Reading, LOOKED_INTO> {
        // A process that we may not signal would take the place of one that we may.
        self.refused
            .retain(|(_, then)| at.get().saturating_sub(*then) < REFUSED);
        let mut largest = ArrayVec::<Reading, LOOKED_INTO>::new();
        for entry in self.table.largest::<LOOKED_INTO>() {
            if let Some(reading) = self.look_into(&entry) {
                largest.push(reading);
            }
        }
        largest.sort_unstable_by_key(|reading| std::cmp::Reverse(reading.size()));
        largest
    }

    /// Puts candidates and families into the scan: the members of families that may be chosen, then the largest.
    fn fill(
        &mut self,
        at: Span,
        largest: &[Reading],
        families: &[families::Found],
        scan: &mut ProcessScan,
    ) {
        scan.candidates.clear();
        scan.families.clear();
        self.handles
            .iter_mut()
            .for_each(|handle| handle.wanted = false);
        // A family is of interest if it holds as much as the smallest process that would be a candidate without it.
        let least = largest
            .get(MAX_CANDIDATES - 1)
            .map_or(Bytes::ZERO, Reading::size);
        for found in families {
            if found.family.size < least {
                continue;
            }
            let largest = self.add(at, &found.largest, scan);
            let youngest = self.add(at, &found.youngest, scan);
            let is_one = match (largest, youngest) {
                // A user's manager is the parent of every app; so children of one parent must live in one place, too.
                (Some(largest), Some(youngest)) => {
                    found.family.kin & families::BY_PARENT == 0 || largest == youngest
                }
                (largest, _) => largest.is_some(),
            };
            if is_one {
                let largest = scan.find(found.largest.identity());
                let ancestor = largest.and_then(|largest| self.ancestor(found, largest));
                scan.families.push(Family {
                    ancestor,
                    ..found.family
                });
            }
        }
        self.families.clone_from(&scan.families);
        for reading in largest {
            if scan.candidates.is_full() {
                break;
            }
            if scan.find(reading.entry.identity()).is_none() {
                scan.candidates.extend(self.candidate(at, reading));
            }
        }
        scan.candidates
            .sort_by_key(|candidate| std::cmp::Reverse(candidate.size()));
        self.handles.retain(|handle| handle.wanted);
    }

    /// Adds a member of a family to the candidates; returns its cgroup if it is one now.
    fn add(&mut self, at: Span, entry: &Entry, scan: &mut ProcessScan) -> Option<PathName> {
        if let Some(known) = scan.find(entry.identity()) {
            return Some(known.cgroup);
        }
        let reading = self.look_into(entry)?;
        let candidate = self.candidate(at, &reading)?;
        scan.candidates.try_push(candidate).ok()?;
        Some(candidate.cgroup)
    }

    /// Whether this is the guard itself. On a recorded machine none of the processes is.
    fn is_own(&self, pid: u32) -> bool {
        self.root == Path::new("/") && pid == std::process::id()
    }

    /// A process by what its `status` tells now; `None` if it is gone, or may not be signalled.
    fn look_into(&mut self, entry: &Entry) -> Option<Reading> {
        let identity = entry.identity();
        let is_refused = self.refused.iter().any(|(known, _)| *known == identity);
        // The guard itself is no candidate.
        if self.is_own(entry.pid) || is_refused {
            return None;
        }
        let mut entry = self.table.renew(&self.proc, entry)?;
        let status = table::status(&self.proc, entry.pid);
        if let Some(status) = &status {
            entry.told = Told::of(status);
            self.table.remember(entry.pid, entry.told);
        }
        let status = status.unwrap_or_default();
        Some(Reading {
            entry,
            anon: status
                .anon
                .unwrap_or(entry.resident.to_bytes(self.page_size)),
            user: status.user.unwrap_or(u32::MAX),
        })
    }

    /// One of the largest as a candidate; `None` if it is gone.
    fn candidate(&mut self, at: Span, reading: &Reading) -> Option<Candidate> {
        let page_size = self.page_size;
        let rivals = Arc::clone(&self.rivals);
        let has_swap = self.has_swap;
        let handle = self.handle(&reading.entry)?;
        let mut candidate = handle.candidate(reading, page_size);
        candidate.left_to_rival = is_left_to(&rivals, handle.home(), has_swap);
        if self.is_exempt_by_program(&candidate) {
            // A program of root's exempts no person's code.
            let identity = candidate.identity;
            let handle = self
                .handles
                .iter_mut()
                .find(|handle| handle.identity == identity)?;
            candidate.foreign_code = handle.runs_foreign_code(&self.root);
        }
        let beside = self.beside(at, &candidate, reading.entry.has_terminal);
        candidate.group = candidate.group.map(|group| Group {
            exempt: beside.exempt,
            programs: beside.programs,
            terminals: beside.terminals,
            ..group
        });
        Some(candidate)
    }

    /// Whether it is a person's process, and exempt by what it runs.
    fn is_exempt_by_program(&self, candidate: &Candidate) -> bool {
        if !is_a_persons(candidate.user) {
            return false;
        }
        let exemption = exemption(candidate, &self.rules);
        matches!(
            exemption,
            Some(Exemption::Program | Exemption::Unit | Exemption::Rule)
        )
    }

    /// The handle of a process, opened if there is none, or it has changed; `None` if it is gone.
    fn handle(&mut self, entry: &Entry) -> Option<&mut CandidateHandle> {
        let index = match self
            .handles
            .iter()
            .position(|handle| handle.identity == entry.identity())
        {
            Some(index) if self.handles[index].has_changed() => {
                self.handles[index] =
                    CandidateHandle::open(&self.root, &self.proc, entry, &self.rules)?;
                index
            }
            Some(index) => index,
            None => {
                let handle = CandidateHandle::open(&self.root, &self.proc, entry, &self.rules)?;
                self.handles.push(handle);
                self.handles.len() - 1
            }
        };
        let handle = &mut self.handles[index];
        handle.wanted = true;
        Some(handle)
    }
}

/// A process with what its `status` tells now.
#[derive(Debug, Clone, Copy)]
struct Reading {
    entry: Entry,
    anon: Bytes,
    user: u32,
}

impl Reading {
    /// Memory that its end frees, as [`Candidate::size`] has it.
    fn size(&self) -> Bytes {
        let told = &self.entry.told;
        self.anon + told.swapped.bytes() + told.tables.bytes() + self.entry.shared()
    }
}

#[cfg(test)]
mod tests;
