//! Who holds memory: the processes that a decision may name, as read, and who was signalled before.
//!
//! Read only while memory is short ([`crate::decision::Attention::Candidates`]), so a calm sample has none. What a
//! process is called by itself (`name`) is for people; what decides is what it cannot choose: its unit, the file it
//! runs if that is root's, its owner.

use arrayvec::{ArrayString, ArrayVec};
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// Processes in one census, at most: the largest, and those that were in the one before.
pub const MAX_CANDIDATES: usize = 12;
/// Signalled processes remembered, at most.
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
    /// Who was signalled lately.
    pub victims: ArrayVec<Victim, MAX_VICTIMS>,
}

impl ProcessScan {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty() && self.victims.is_empty()
    }

    /// Forgets all; keeps the storage.
    pub fn clear(&mut self) {
        self.at = Span::default();
        self.candidates.clear();
        self.victims.clear();
    }

    /// The suspect of this identity.
    pub fn find(&self, identity: Identity) -> Option<&Candidate> {
        self.candidates
            .iter()
            .find(|candidate| candidate.identity == identity)
    }
}

/// A process, told apart from a later one with the same number by its start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot, as `/proc/PID/stat` has it.
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
    /// What it calls itself (`comm`), control characters replaced. Decides nothing.
    pub name: Name,
    /// Base name of the file it runs, if that file is root's, closed to others, and the one that we see at its path.
    pub program: Option<Name>,
    /// Innermost unit or control group it lives in.
    pub unit: UnitName,
    /// What kind of place that is.
    pub place: Place,
    /// Its user.
    pub user: u32,
    /// Anonymous memory in RAM: what its end gives back at once.
    pub resident: Bytes,
    /// All its memory in RAM, files included; `None` in recordings of old.
    #[serde(default)]
    pub mapped: Option<Bytes>,
    /// Of its memory, on swap.
    pub swapped: Bytes,
    /// How readily the kernel would kill it, −1000 (never) to 1000.
    pub oom_score_adj: i16,
    /// What its unit's attributes ask for.
    pub mark: Mark,
    /// Memory of its whole unit, where the unit is one of its own.
    pub group: Option<Group>,
    /// Whether it can still be killed.
    pub life: Life,
}

impl Candidate {
    /// What its end gives back.
    pub fn size(&self) -> Bytes {
        self.resident + self.swapped
    }
}

/// Where a process lives.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// Cannot be told: no systemd, or no control groups.
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
    /// Whether the unit holds one thing and nothing else, so that it may be ended whole.
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

/// Memory of a whole unit.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The inode of its folder.
    pub id: u64,
    /// All of its memory: `memory.current`; zero if unknown.
    #[serde(default)]
    pub used: Bytes,
    /// Anonymous memory.
    pub anon: Bytes,
    /// On swap.
    pub swapped: Bytes,
    /// Its processes.
    pub processes: u32,
    /// Its `memory.high`; `None` without a limit.
    pub high: Option<Bytes>,
    /// How many of those in it may not be ended, the suspects among them included.
    #[serde(default)]
    #[serde(rename = "spared")]
    pub exempt: u32,
    /// It cannot be ended whole: there is no `cgroup.kill`, or we may not write to it.
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
    /// What its end is to give back.
    pub size: Bytes,
    /// The last signal.
    pub signal: Signal,
    /// When that was sent.
    pub at: Span,
    /// When it was seen to be gone.
    pub gone: Option<Span>,
}

/// How to end a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// SIGTERM: it may save its work.
    Term,
    /// SIGKILL.
    Kill,
}

impl Signal {
    /// As people and programs know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Term => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}
