//! Cgroups that the guard looks after: *protected* ones keep their memory, *throttled* ones may not take
//! more, *frozen* ones wait for their user's answer, *squeezed* ones lose what they do not use.
//!
//! A cgroup is told apart from a later one of the same name by the inode of its directory. Names are
//! only shown.

use crate::scan::UnitName;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};
use units::{Bytes, Micros, Span};

/// Protected cgroups at once, at most. Each is read every few seconds and costs a few file reads.
pub const MAX_PROTECTED: usize = 8;
/// Throttled cgroups at once, at most. One is the rule: more runaways than this are killed instead.
pub const MAX_THROTTLED: usize = 4;
/// Frozen cgroups at once, at most, with those thawed a moment ago: a user cannot answer for more.
pub const MAX_FROZEN: usize = 4;
/// Squeezed cgroups at once, at most. Each is read every few seconds, as a protected one is.
pub const MAX_SQUEEZED: usize = 8;
/// Users with a client that can answer, at most. Units of further users are killed without asking.
pub const MAX_USERS: usize = 4;

/// All cgroups that the guard looks after, and the users that can be asked.
///
/// Takes no memory while there are none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Groups {
    /// Cgroups that keep their memory, at most [`MAX_PROTECTED`].
    #[serde(rename = "wards")]
    pub protected: Vec<Protected>,
    /// Cgroups that may not take more, at most [`MAX_THROTTLED`].
    #[serde(rename = "contained")]
    pub throttled: Vec<Throttled>,
    /// Cgroups that are or were frozen until their user answers, at most [`MAX_FROZEN`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "stopped")]
    pub frozen: Vec<Frozen>,
    /// Users that can be asked just now, at most [`MAX_USERS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "people")]
    pub users: Vec<u32>,
    /// Cgroups that lose what they do not use, at most [`MAX_SQUEEZED`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub squeezed: Vec<Squeezed>,
}

impl Groups {
    /// Whether all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.protected.is_empty()
            && self.throttled.is_empty()
            && self.frozen.is_empty()
            && self.users.is_empty()
            && self.squeezed.is_empty()
    }

    /// What reclaim leaves to protected cgroups because of the guard.
    pub fn kept(&self) -> Bytes {
        self.protected.iter().filter_map(|cgroup| cgroup.ours).sum()
    }

    /// Copies `source`; keeps the storage.
    pub fn copy(&mut self, source: &Self) {
        self.protected.clone_from(&source.protected);
        self.throttled.clone_from(&source.throttled);
        self.frozen.clone_from(&source.frozen);
        self.users.clone_from(&source.users);
        self.squeezed.clone_from(&source.squeezed);
    }
}

/// A unit that keeps its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// The inode of its directory.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// When it was read. Readings are some seconds apart.
    pub at: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Part of `used` that is in use: `active_anon` and `active_file`.
    pub warm: Bytes,
    /// Its memory that refaulted since the cgroup was made.
    pub refaulted: Bytes,
    /// Its `memory.min` now.
    pub floor: Bytes,
    /// Its `memory.min` before the guard wrote to it.
    pub found: Bytes,
    /// What the guard last wrote. `None` if it wrote nothing, put the old value back, or another program
    /// has set it since.
    pub ours: Option<Bytes>,
    /// How long it has waited. `None` while nothing that was evicted is read again, or where the kernel
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Its memory in swap; `None` where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "away")]
    pub swapped: Option<Bytes>,
    /// What `swapped` was when a piece was last read back; `None` if none was, or more was swapped out
    /// since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "away_before")]
    pub swapped_before: Option<Bytes>,
}

/// How long all tasks of a unit have waited, since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// For memory: `full` of `memory.pressure`.
    pub memory: Micros,
    /// For disks: `full` of `io.pressure`.
    pub disks: Micros,
    /// How often it, or a cgroup below it, met a limit of its own: `high` and `max` of `memory.events`.
    pub limited: u64,
}

/// A unit that may not take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The inode of its directory.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// When the limit was set.
    pub since: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// The `memory.high` that the guard set.
    #[serde(rename = "ceiling")]
    pub memory_high: Bytes,
    /// Headroom that this limit was to leave to all others.
    pub reserve: Bytes,
    /// How often it was throttled at that limit: `high` of `memory.events`, since the cgroup was made.
    pub pushes: u64,
}

/// A unit that its user was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The inode of its directory.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// The user that owns it and can answer.
    pub user: u32,
    /// When it was frozen.
    pub since: Span,
    /// Headroom at that time.
    #[serde(rename = "room")]
    pub headroom: Bytes,
    /// When it was thawed, if it was. It is remembered for a while, so that the user is not asked the
    /// same again at once.
    pub thawed: Option<Span>,
    /// The answer, if one came.
    pub answer: Option<Answer>,
}

/// A unit that loses what it does not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squeezed {
    /// The inode of its directory.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// When it was read. Readings are some seconds apart.
    pub at: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Its memory that refaulted since the cgroup was made.
    pub refaulted: Bytes,
    /// How long all of its tasks have waited for memory, since it was made: `full` of `memory.pressure`.
    pub waited: Micros,
    /// What the guard asked for, since it began: `memory.reclaim`.
    pub asked: Bytes,
    /// What it got for that.
    pub taken: Bytes,
}

impl Throttled {
    /// To put its limit back as it was found.
    pub const fn free(&self) -> CgroupAction {
        CgroupAction::Free {
            id: self.id,
            unit: self.unit,
        }
    }
}

impl Frozen {
    /// To thaw it.
    pub const fn thaw(&self) -> CgroupAction {
        CgroupAction::Thaw {
            id: self.id,
            unit: self.unit,
        }
    }

    /// Whether it is frozen now.
    pub const fn is_frozen(&self) -> bool {
        self.thawed.is_none()
    }
}

/// A user's answer about a frozen unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Kill it.
    #[serde(rename = "end")]
    Kill,
    /// Keep it frozen until there is headroom.
    Keep,
    /// Thaw it. Later decisions treat it as any other.
    GoOn,
}

impl Answer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kill, Self::Keep, Self::GoOn];

    /// Its name on the socket and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "end",
            Self::Keep => "keep",
            Self::GoOn => "go-on",
        }
    }

    /// The answer of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.name() == name)
    }
}

/// What is done to the limits of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "grip")]
pub enum CgroupAction {
    /// Protect so much of it from reclaim: `memory.min`, with that of its ancestors.
    Keep {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// Its `memory.min` now.
        from: Bytes,
        /// Its new `memory.min`.
        to: Bytes,
    },
    /// Put `memory.min` back as it was found.
    Leave {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
    /// Throttle it above this limit: `memory.high`.
    #[serde(rename = "contain")]
    Throttle {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// Its memory now.
        used: Bytes,
        /// Its new `memory.high`.
        #[serde(rename = "ceiling")]
        memory_high: Bytes,
        /// Headroom that this leaves to all others.
        reserve: Bytes,
    },
    /// Freeze all its processes until its user has answered or the time is over: `cgroup.freeze`.
    Freeze {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// The user that owns it and is asked.
        user: u32,
        /// Its memory now.
        used: Bytes,
        /// Headroom now.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Time to answer.
        wait: Span,
    },
    /// Put `cgroup.freeze` back as it was found.
    Thaw {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
    /// Put `memory.high` back as it was found.
    Free {
        /// Its inode.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
}

impl CgroupAction {
    /// Inode and name of the cgroup.
    const fn target(&self) -> (u64, &UnitName) {
        match self {
            Self::Keep { id, unit, .. }
            | Self::Leave { id, unit }
            | Self::Throttle { id, unit, .. }
            | Self::Freeze { id, unit, .. }
            | Self::Thaw { id, unit }
            | Self::Free { id, unit } => (*id, unit),
        }
    }

    /// Inode of the cgroup.
    pub const fn id(&self) -> u64 {
        self.target().0
    }

    /// Name of the cgroup.
    pub const fn unit(&self) -> &UnitName {
        self.target().1
    }
}

impl Display for CgroupAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Keep { unit, from, to, .. } => write!(f, "memory.min of {unit} {from} → {to}"),
            Self::Leave { unit, .. } => write!(f, "memory.min of {unit} as it was found"),
            Self::Throttle {
                unit,
                used,
                memory_high,
                ..
            } => {
                write!(
                    f,
                    "throttle {unit}, which has {used}: memory.high {memory_high}"
                )
            }
            Self::Freeze {
                unit, used, wait, ..
            } => {
                write!(
                    f,
                    "freeze {unit}, which has {used}, and ask its user for up to {wait}: cgroup.freeze"
                )
            }
            Self::Thaw { unit, .. } => write!(f, "cgroup.freeze of {unit} as it was found"),
            Self::Free { unit, .. } => write!(f, "memory.high of {unit} as it was found"),
        }
    }
}
