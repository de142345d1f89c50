//! Control groups whose limits we set: *wards*, whose memory is to stay, and the *contained*, who may not take more.
//!
//! A group is told apart from a later one of the same name by the inode of its folder. Names are for people.

use crate::census::UnitName;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result};
use units::{Bytes, Span};

/// Wards at once, at most.
pub const MAX_WARDS: usize = 8;
/// Contained at once, at most.
pub const MAX_CONTAINED: usize = 4;
/// Stopped at once, or asked about a moment ago, at most.
pub const MAX_STOPPED: usize = 4;
/// Users who can answer, at most.
pub const MAX_PEOPLE: usize = 4;

/// All groups that we look after.
///
/// Takes no memory while there are none.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Groups {
    /// Whose memory is to stay, at most [`MAX_WARDS`].
    pub wards: Vec<Ward>,
    /// Who may not take more, at most [`MAX_CONTAINED`].
    pub contained: Vec<Contained>,
    /// Who was stopped until a person says what becomes of it, at most [`MAX_STOPPED`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<Stopped>,
    /// Users who can be asked just now, at most [`MAX_PEOPLE`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<u32>,
}

impl Groups {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.wards.is_empty()
            && self.contained.is_empty()
            && self.stopped.is_empty()
            && self.people.is_empty()
    }

    /// Copies `source`; keeps the storage.
    pub fn copy(&mut self, source: &Self) {
        self.wards.clone_from(&source.wards);
        self.contained.clone_from(&source.contained);
        self.stopped.clone_from(&source.stopped);
        self.people.clone_from(&source.people);
    }
}

/// A unit whose memory is to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ward {
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
    pub away: Option<Bytes>,
    /// What that was when it was last brought back; `None` if nothing was, or more has left since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_before: Option<Bytes>,
}

/// A unit that may not take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contained {
    /// The inode of its folder.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// Since when.
    pub since: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Its `memory.high`, by us.
    pub ceiling: Bytes,
    /// Room that this was to leave to everyone else.
    pub reserve: Bytes,
    /// How often it was held up at that: `high` of `memory.events`, since it was made.
    pub pushes: u64,
}

/// A unit that a person was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The inode of its folder.
    pub id: u64,
    /// Its name.
    pub unit: UnitName,
    /// Whose it is, and who can answer.
    pub user: u32,
    /// Since when it is stopped.
    pub since: Span,
    /// Room that there was then.
    pub room: Bytes,
    /// When it was let go on, if it was; it is remembered for a while, so that nobody is asked the same again at once.
    pub thawed: Option<Span>,
    /// What was answered.
    pub answer: Option<Answer>,
}

impl Stopped {
    /// Whether it stands still now.
    pub const fn is_still(&self) -> bool {
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
pub enum Grip {
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
    Contain {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// What it has now.
        used: Bytes,
        /// What it may have.
        ceiling: Bytes,
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
        room: Bytes,
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

impl Grip {
    /// The group that it is done to, and its name.
    const fn group(&self) -> (u64, &UnitName) {
        match self {
            Self::Keep { id, unit, .. }
            | Self::Leave { id, unit }
            | Self::Contain { id, unit, .. }
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

impl Display for Grip {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Keep { unit, from, to, .. } => write!(f, "memory.min of {unit} {from} → {to}"),
            Self::Leave { unit, .. } => write!(f, "memory.min of {unit} as it was found"),
            Self::Contain {
                unit,
                used,
                ceiling,
                ..
            } => {
                write!(f, "contain {unit}, which has {used}: memory.high {ceiling}")
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
