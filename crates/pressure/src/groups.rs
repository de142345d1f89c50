//! Control groups whose limits we set: *wards*, whose memory is to stay, and the *contained*, who may not take more.
//!
//! A group is told apart from a later one of the same name by the inode of its folder. Names are for people.

use crate::scan::UnitName;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};
use units::{Bytes, Span};

/// Wards at once, at most.
pub const MAX_PROTECTED: usize = 8;
/// Contained at once, at most.
pub const MAX_THROTTLED: usize = 4;
/// Stopped at once, or asked about a moment ago, at most.
pub const MAX_FROZEN: usize = 4;
/// Users who can answer, at most.
pub const MAX_USERS: usize = 4;

/// All groups that we look after.
///
/// Takes no memory while there are none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Groups {
    /// Whose memory is to stay, at most [`MAX_PROTECTED`].
    #[serde(rename = "wards")]
    pub protected: Vec<Protected>,
    /// Who may not take more, at most [`MAX_THROTTLED`].
    #[serde(rename = "contained")]
    pub throttled: Vec<Throttled>,
    /// Who was stopped until a person says what becomes of it, at most [`MAX_FROZEN`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "stopped")]
    pub frozen: Vec<Frozen>,
    /// Users who can be asked just now, at most [`MAX_USERS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "people")]
    pub users: Vec<u32>,
}

impl Groups {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.protected.is_empty()
            && self.throttled.is_empty()
            && self.frozen.is_empty()
            && self.users.is_empty()
    }

    /// Copies `source`; keeps the storage.
    pub fn copy(&mut self, source: &Self) {
        self.protected.clone_from(&source.protected);
        self.throttled.clone_from(&source.throttled);
        self.frozen.clone_from(&source.frozen);
        self.users.clone_from(&source.users);
    }
}

/// A unit whose memory is to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// The inode of its folder.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// When it was read; some seconds apart.
    pub at: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Of it, used more than once or lately: `active_anon` and `active_file`.
    pub warm: Bytes,
    /// Its memory that was read again after eviction, since it was made.
    pub refaulted: Bytes,
    /// Its `memory.min` now.
    pub floor: Bytes,
    /// What that was when we came.
    pub found: Bytes,
    /// What we last wrote; `None` where we wrote nothing, put it back, or someone else has set it since.
    pub ours: Option<Bytes>,
    /// What it has in swap; `None` where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "away")]
    pub swapped: Option<Bytes>,
    /// What that was when it was last brought back; `None` if nothing was, or more has left since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "away_before")]
    pub swapped_before: Option<Bytes>,
}

/// A unit that may not take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// The inode of its folder.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// Since when.
    pub since: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Its `memory.high`, by us.
    #[serde(rename = "ceiling")]
    pub memory_high: Bytes,
    /// Room that this was to leave to everyone else.
    pub reserve: Bytes,
    /// How often it was held up at that: `high` of `memory.events`, since it was made.
    pub pushes: u64,
}

/// A unit that a person was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frozen {
    /// The inode of its folder.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// Whose it is, and who can answer.
    pub user: u32,
    /// Since when it is stopped.
    pub since: Span,
    /// Room that there was then.
    #[serde(rename = "room")]
    pub headroom: Bytes,
    /// When it was let go on, if it was; it is remembered for a while, so that nobody is asked the same again at once.
    pub thawed: Option<Span>,
    /// What was answered.
    pub answer: Option<Answer>,
}

impl Frozen {
    /// Whether it stands still now.
    pub const fn is_frozen(&self) -> bool {
        self.thawed.is_none()
    }
}

/// What a person says about a unit that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is to end.
    End,
    /// It stays stopped until there is room.
    Keep,
    /// It goes on; the ladder goes on with it.
    GoOn,
}

impl Answer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::End, Self::Keep, Self::GoOn];

    /// Its name on the socket and in the words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Keep => "keep",
            Self::GoOn => "go-on",
        }
    }

    /// The answer of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.name() == name)
    }
}

/// What is done to the limits of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "grip")]
pub enum CgroupAction {
    /// Reclaim leaves it so much: `memory.min`, with its ancestors.
    Keep {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// What it is now.
        from: Bytes,
        /// What it shall be.
        to: Bytes,
    },
    /// `memory.min` as it was found.
    Leave {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
    /// It is slowed down where it takes more than this: `memory.high`.
    #[serde(rename = "contain")]
    Throttle {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// What it has now.
        used: Bytes,
        /// What it may have.
        #[serde(rename = "ceiling")]
        memory_high: Bytes,
        /// Room that this leaves to everyone else.
        reserve: Bytes,
    },
    /// All in it stand still until a person has answered, or this time is over: `cgroup.freeze`.
    Freeze {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// Whose it is, and who is asked.
        user: u32,
        /// What it has now.
        used: Bytes,
        /// Room that there is.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Time to answer.
        wait: Span,
    },
    /// They go on: `cgroup.freeze` as it was found.
    Thaw {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
    /// `memory.high` as it was found.
    Free {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
}

impl CgroupAction {
    /// The group that it is done to, and its name.
    const fn group(&self) -> (u64, &UnitName) {
        match self {
            Self::Keep { id, unit, .. }
            | Self::Leave { id, unit }
            | Self::Throttle { id, unit, .. }
            | Self::Freeze { id, unit, .. }
            | Self::Thaw { id, unit }
            | Self::Free { id, unit } => (*id, unit),
        }
    }

    /// The group that it is done to.
    pub const fn id(&self) -> u64 {
        self.group().0
    }

    /// The group's name.
    pub const fn unit(&self) -> &UnitName {
        self.group().1
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
                    "contain {unit}, which has {used}: memory.high {memory_high}"
                )
            }
            Self::Freeze {
                unit, used, wait, ..
            } => {
                write!(
                    f,
                    "stop {unit}, which has {used}, and ask: cgroup.freeze, for {wait}"
                )
            }
            Self::Thaw { unit, .. } => write!(f, "cgroup.freeze of {unit} as it was found"),
            Self::Free { unit, .. } => write!(f, "memory.high of {unit} as it was found"),
        }
    }
}
