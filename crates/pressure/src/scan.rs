//! The process scan: the processes that hold the most memory, and those that were signalled before.
//!
//! The scan is read only while a decision asks for candidates, that is while memory is short. So a
//! calm sample has none. The name that a process gives itself is only shown. A decision goes by what
//! the process cannot choose: its unit, its owner, and the file it runs if root owns that file.

use arrayvec::{ArrayString, ArrayVec};
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// Processes in one scan, at most: the largest, and those that were in the scan before. More make
/// each scan slower; fewer may miss a process that began to grow lately.
pub const MAX_CANDIDATES: usize = 12;
/// Signalled processes remembered, at most. One kill at a time is under way, so few are recent.
pub const MAX_VICTIMS: usize = 4;

/// What a process is called.
pub type Name = ArrayString<32>;
/// What a unit is called; longer names are cut.
pub type UnitName = ArrayString<64>;

/// The largest processes, and what became of those that were signalled.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessScan {
    /// When the processes were read; zero if they were not.
    pub at: Span,
    /// The largest processes, largest first.
    #[serde(rename = "suspects")]
    pub candidates: ArrayVec<Candidate, MAX_CANDIDATES>,
    /// Processes that were signalled lately.
    pub victims: ArrayVec<Victim, MAX_VICTIMS>,
}

impl ProcessScan {
    /// Whether it names no process.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.victims.is_empty()
    }

    /// Forgets all; keeps the storage.
    pub fn clear(&mut self) {
        self.at = Span::default();
        self.candidates.clear();
        self.victims.clear();
    }

    /// The candidate of this identity.
    pub fn find(&self, identity: Identity) -> Option<&Candidate> {
        self.candidates
            .iter()
            .find(|candidate| candidate.identity == identity)
    }
}

/// A process, told apart from a later one with the same process ID by its start time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its process ID.
    pub pid: u32,
    /// When it started, in clock ticks since boot: `starttime` of `/proc/PID/stat`.
    pub start: u64,
}

/// One process that holds memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Which.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// Time since it started.
    pub age: Span,
    /// What it calls itself (`comm`), control characters replaced. Only shown.
    pub name: Name,
    /// Base name of the file it runs, if root owns that file, no one else may write to it, and the file
    /// at its path is the one that runs.
    pub program: Option<Name>,
    /// Innermost unit or cgroup that it runs in.
    pub unit: UnitName,
    /// Kind of that unit.
    pub place: Place,
    /// Its user.
    pub user: u32,
    /// Anonymous memory in RAM, which its end frees at once.
    pub resident: Bytes,
    /// All its memory in RAM, files included; `None` in older recordings.
    #[serde(default)]
    pub mapped: Option<Bytes>,
    /// Its memory in swap.
    pub swapped: Bytes,
    /// How readily the kernel would kill it, −1000 (never) to 1000.
    pub oom_score_adj: i16,
    /// What `ManagedOOMPreference=` of its unit asks for.
    pub mark: Mark,
    /// Memory of its whole unit.
    pub group: Option<Group>,
    /// Whether it can still be killed.
    pub life: Life,
}

impl Candidate {
    /// Memory that its end frees.
    pub fn size(&self) -> Bytes {
        self.resident + self.swapped
    }
}

/// The kind of unit that a process runs in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Unknown: no systemd, or no cgroups.
    #[default]
    Unknown,
    /// A service of the system.
    Service,
    /// A login session's scope, which may hold everything the user runs.
    Session,
    /// The part of a user's manager that holds the desktop itself (`session.slice`), or the manager.
    Desktop,
    /// A service or scope of its own below a user's manager.
    App,
    /// A container or a virtual machine.
    Container,
}

impl Place {
    /// Whether the unit is one application or service, so that it may be killed whole.
    pub const fn is_of_its_own(self) -> bool {
        matches!(self, Self::Service | Self::App | Self::Container)
    }
}

/// What `ManagedOOMPreference=` asks for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Nothing.
    #[default]
    None,
    /// To be chosen late, says root.
    Avoid,
    /// Not to be chosen, says root.
    Omit,
    /// To be chosen late or not at all, says the unit's own user: counts among that user's units only.
    Own,
}

/// Memory and limits of a whole unit.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The inode of its directory.
    pub id: u64,
    /// All of its memory: `memory.current`; zero if unknown.
    #[serde(default)]
    pub used: Bytes,
    /// Anonymous memory.
    pub anon: Bytes,
    /// Memory in swap.
    pub swapped: Bytes,
    /// Number of its processes.
    pub processes: u32,
    /// Its `memory.high`; `None` without a limit.
    pub high: Option<Bytes>,
    /// How many of its processes are exempt, candidates included.
    #[serde(default)]
    #[serde(rename = "spared")]
    pub exempt: u32,
    /// Whether its processes must be killed one by one: there is no `cgroup.kill`, or it is not
    /// writable.
    #[serde(default)]
    pub one_by_one: bool,
}

/// What a process can still do.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// Runs or sleeps.
    #[default]
    Alive,
    /// In a sleep that no signal ends.
    Stuck,
    /// Stopped, or frozen.
    Stopped,
    /// A zombie, or on its way out.
    Dying,
}

/// A process that was signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Victim {
    /// Which.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// What it called itself.
    pub name: Name,
    /// Memory that its end is expected to free.
    pub size: Bytes,
    /// The last signal.
    pub signal: Signal,
    /// When that was sent.
    pub at: Span,
    /// When it was seen to be gone.
    pub gone: Option<Span>,
}

/// A signal that makes a process end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// SIGTERM: it may save its work.
    Term,
    /// SIGKILL.
    Kill,
}

impl Signal {
    /// Its name as `signal(7)` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Term => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}
