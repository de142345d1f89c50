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
/// A path: of a file that runs, a cgroup, or a mount. Of a longer one, the end.
pub type PathName = ArrayString<96>;

/// Families in one scan, at most: those that hold the most memory.
pub const MAX_FAMILIES: usize = 4;
/// tmpfs mounts in one scan, at most: the fullest.
pub const MAX_MOUNTS: usize = 4;

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
    /// Families of many alike processes that hold the most memory together.
    #[serde(skip_serializing_if = "ArrayVec::is_empty")]
    pub families: ArrayVec<Family, MAX_FAMILIES>,
    /// The fullest tmpfs mounts.
    #[serde(skip_serializing_if = "ArrayVec::is_empty")]
    pub mounts: ArrayVec<Mount, MAX_MOUNTS>,
    /// Number of processes; `None` in older recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
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
        self.families.clear();
        self.mounts.clear();
        self.processes = None;
    }

    /// When a signalled process was last seen to be gone; `None` if none was lately.
    pub fn last_end(&self) -> Option<Span> {
        self.victims.iter().filter_map(|victim| victim.gone).max()
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

/// The name of the program that a wrapper of NixOS runs: `.NAME-wrapped`, `.NAME-wrapped_`, and wrappers of those.
/// Such a file is made beside the wrapper, which has its name.
pub fn unwrapped(name: &[u8]) -> &[u8] {
    let mut name = name;
    while let Some(inner) = wrapped(name) {
        name = inner;
    }
    name
}

/// NAME of `.NAME-wrapped`.
fn wrapped(name: &[u8]) -> Option<&[u8]> {
    let mut inner = name.strip_prefix(b".")?;
    while let Some(shorter) = inner.strip_suffix(b"_") {
        inner = shorter;
    }
    inner.strip_suffix(b"-wrapped")
}

/// One process that holds memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Shared memory that it maps or holds open without a name: memfd, System V, shared anonymous
    /// mappings, tmpfs files that are mapped (`RssShmem`, or the blocks of an open memfd).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: Bytes,
    /// Named files on a tmpfs that it has open for writing. Its end does not free them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written: Bytes,
    /// Its page tables (`VmPTE`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tables: Bytes,
    /// Its pages of the huge page pools (`HugetlbPages`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hugetlb: Bytes,
    /// The family that it belongs to, as [`Family::kin`]; zero if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kin: u32,
    /// The file that it runs, whoever owns that; empty if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exe: PathName,
    /// Base name of the script that its interpreter runs, if root owns both and no one else may
    /// write to them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub script: Option<Name>,
    /// The path of its cgroup; empty if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cgroup: PathName,
    /// One bit for each `command:` rule of `guard.spare`, `guard.avoid` and `guard.prefer`, in this
    /// order: whether it matches. The command line itself may hold secrets and is not kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commands: u64,
    /// Whether it runs code of a file that is not root's, such as a library in `LD_PRELOAD`. Then
    /// what the program is says nothing about its memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign_code: bool,
    /// Whether another guard kills in its cgroup, as systemd-oomd does where it monitors.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_to_rival: bool,
}

impl Candidate {
    /// Memory that its end frees, shared memory included.
    pub fn size(&self) -> Bytes {
        self.resident + self.swapped + self.shared + self.tables
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(bytes: &Bytes) -> bool {
    *bytes == Bytes::ZERO
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Many alike processes: the same name below one ancestor, as a parallel build or a pool of workers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Family {
    /// What they have in common: their process group, or the parent of workers with a group each.
    pub kin: u32,
    /// What they call themselves.
    pub name: Name,
    /// How many they are.
    pub processes: u32,
    /// Memory of all of them, in RAM and in swap; shared memory once.
    pub size: Bytes,
    /// What starts them; `None` if that is one of them, unknown, or may not be ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ancestor: Option<Ancestor>,
}

/// The nearest process above all of a family: a build tool, a script, a supervisor of workers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Which.
    #[serde(rename = "who")]
    pub identity: Identity,
    /// What it calls itself.
    pub name: Name,
}

/// A tmpfs mount.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mount {
    /// Where it is mounted.
    pub path: PathName,
    /// Memory of its files.
    pub used: Bytes,
    /// The process that writes to it, as far as one was found.
    pub writer: Option<Identity>,
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
    /// Whether the kernel kills it whole, as `OOMPolicy=kill` asks for (`memory.oom.group`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_group: Option<bool>,
    /// How many programs run in it; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<u32>,
    /// How many of its processes have a terminal.
    #[serde(default, skip_serializing_if = "is_default")]
    pub terminals: u32,
    /// Shared memory and tmpfs files that are charged to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shmem: Bytes,
}

impl Group {
    /// Its memory in RAM that reclaim cannot free without swapping.
    pub fn unreclaimable(&self) -> Bytes {
        self.anon + self.shmem
    }

    /// The same, with what is in swap.
    pub fn held(&self) -> Bytes {
        self.unreclaimable() + self.swapped
    }
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
    /// The family that went with it, as [`Family::kin`]; zero if none did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kin: u32,
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
