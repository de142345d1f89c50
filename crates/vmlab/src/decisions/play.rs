//! What the lab and its guest tell each other: a [`Play`] goes in, what was [`Seen`] comes back.
//!
//! A play is a situation made small: amounts are those of the virtual machine, in bytes, and times are milliseconds.

use serde::{Deserialize, Serialize};

/// All that the guest does in one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Play {
    /// The programs.
    pub cast: Vec<Role>,
    /// Cgroups with properties of their own.
    pub units: Vec<UnitProperties>,
    /// Swap areas.
    pub swap: Vec<SwapArea>,
    /// File cache that is read before the play begins.
    pub cache: FileCache,
    /// Mounts that programs write to.
    pub mounts: Vec<String>,
    /// Files that the guard is configured by, with their text.
    pub files: Vec<(String, String)>,
    /// Starts the guard; empty if there is none.
    pub start: String,
    /// The guard's service.
    pub service: Option<String>,
    /// The file that it logs to; the journal if there is none.
    pub log: Option<String>,
    /// The guard's own files, or directories of them, which are sent to the lab afterwards.
    pub keep: Vec<String>,
    /// For how long it goes on.
    pub lasts_ms: u64,
    /// It ends so long after the last signal, if every process that must be signalled was.
    pub quiet_ms: u64,
    /// Names of programs that must be signalled. With none the play goes on to its end.
    pub awaited: Vec<String>,
}

/// One process of the play.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Role {
    /// What it calls itself.
    pub name: String,
    /// What the text calls it, where its name does not tell it from others.
    pub called: Option<String>,
    /// The file that it runs.
    pub file: String,
    /// Whether that file is root's.
    pub roots: bool,
    /// The arguments, the first is what the command is called by.
    pub arguments: Vec<String>,
    /// Its cgroup.
    pub cgroup: String,
    /// Its user.
    pub user: u32,
    /// `oom_score_adj`.
    pub oom_score_adj: i16,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// Processes of one kin are in one process group.
    pub kin: u32,
    /// When it starts; `None` is before the play begins.
    pub starts_ms: Option<u64>,
    /// It is started again so long after its end.
    pub respawns_ms: Option<u64>,
    /// What it does.
    pub act: Act,
}

impl Role {
    /// All that it can be called by: its names, and each part of its cgroup's path.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![self.name.clone()];
        names.extend(self.called.clone());
        let parts = self.cgroup.split('/').filter(|part| !part.is_empty());
        names.extend(parts.map(str::to_owned));
        names
    }
}

/// What a program does with memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Act {
    /// Anonymous memory at its start.
    pub has: u64,
    /// What grows.
    pub memory: Memory,
    /// What it does, in order.
    pub phases: Vec<Phase>,
    /// Bytes that it touches a second.
    pub touches: u64,
    /// Of so many bytes, the same again and again; all that it has if `None`.
    pub uses: Option<u64>,
    /// Bytes of a file that it reads a second.
    pub streams: u64,
    /// Bytes that it writes to the disk a second.
    pub writes: u64,
    /// It starts copies of itself.
    pub forks: Option<Forks>,
    /// What it does at SIGTERM.
    pub on_term: OnTerm,
    /// Whether it maps a file of a user's as code.
    pub foreign_code: bool,
    /// Whether what it has at its start goes to swap at once.
    pub paged_out: bool,
    /// It notes when it holds so much.
    pub notes: Option<u64>,
    /// So many bytes of each page do not compress.
    pub noise: u32,
}

/// A kind of memory.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Anonymous memory.
    #[default]
    Anon,
    /// Shared memory without a name.
    Shared,
    /// A memfd that it writes to.
    Memfd,
    /// Files below this mount.
    Tmpfs(String),
    /// Page tables.
    PageTables,
    /// A file that it maps.
    File,
}

/// One thing that a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Grows by so many bytes a second, up to a size.
    Grow(u64, Option<u64>),
    /// Waits.
    Wait(u64),
    /// Frees all but so much.
    Shrink(u64),
    /// Exits.
    Exit,
    /// Begins anew.
    Repeat,
}

/// Copies of itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forks {
    /// How many a second.
    pub rate: f64,
    /// No more than so many at once.
    pub most: u32,
    /// Whether the copies start copies, too.
    pub all: bool,
}

/// What a program does at SIGTERM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnTerm {
    /// It exits after so many milliseconds.
    Exits(u64),
    /// It goes on.
    Ignores,
}

impl Default for OnTerm {
    fn default() -> Self {
        Self::Exits(0)
    }
}

/// Properties of a cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitProperties {
    /// Its path.
    pub path: String,
    /// `memory.max`.
    pub max: Option<u64>,
    /// `memory.oom.group`.
    pub oom_group: bool,
    /// The name of an extended attribute that it has, as `ManagedOOMPreference=` sets it.
    pub attribute: Option<String>,
    /// The user that it belongs to.
    pub owner: u32,
}

/// A swap area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapArea {
    /// `/dev/vdb`, `/dev/zram0`.
    pub device: String,
    /// Its size; a disk has its own.
    pub size: u64,
    /// So much of it is used before the play begins.
    pub used: u64,
}

/// File cache.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileCache {
    /// The device that is read.
    pub device: String,
    /// All of it.
    pub size: u64,
    /// Of it, in use.
    pub in_use: u64,
    /// Bytes of the part in use that are read a second.
    pub touches: u64,
}

/// What was seen in one run. Times are milliseconds since the play began.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Memory that was available when the play began.
    pub available: u64,
    /// For how long it went on.
    pub lasted_ms: u64,
    /// Signals to processes of the play, each signal to each process once.
    pub signals: Vec<SignalSeen>,
    /// Limits and freezes of its cgroups.
    pub limits: Vec<LimitSeen>,
    /// What the kernel reported as killed.
    pub kernel_kills: Vec<KernelKillSeen>,
    /// Processes that were there at the end.
    pub left: Vec<LeftSeen>,
    /// When a role held what it notes, by its place in the cast.
    pub reached: Vec<(usize, u64)>,
    /// Time in which all tasks waited for memory; `None` if the kernel does not tell.
    pub stalled_ms: Option<u64>,
    /// What the guard logged, or the kernel if there is none.
    pub log: Vec<(i64, String)>,
    /// What went wrong with the play itself.
    pub faults: Vec<String>,
}

/// A signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSeen {
    /// When.
    pub at: i64,
    /// 15 or 9.
    pub signal: u8,
    /// The name of the thread that sent it.
    pub by: String,
    /// The process, by its place in the cast.
    pub role: usize,
    /// Its number.
    pub pid: u32,
}

/// A limit that was set on a cgroup, or a freeze.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitSeen {
    /// When it was seen.
    pub at: i64,
    /// The cgroup.
    pub cgroup: String,
    /// Whether it was frozen, not limited.
    pub frozen: bool,
}

/// An OOM kill by the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelKillSeen {
    /// When.
    pub at: i64,
    /// What was killed: its place in the cast, if it is in there.
    pub role: Option<usize>,
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Whether it was for a limit of a cgroup.
    pub by_limit: bool,
}

/// A process at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftSeen {
    /// Its place in the cast.
    pub role: usize,
    /// How many there are, with copies of itself.
    pub count: u32,
}
