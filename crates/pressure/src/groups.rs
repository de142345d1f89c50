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
}

impl Groups {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.wards.is_empty() && self.contained.is_empty()
    }

    /// Copies `source`; keeps the storage.
    pub fn copy(&mut self, source: &Self) {
        self.wards.clone_from(&source.wards);
        self.contained.clone_from(&source.contained);
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
    /// `memory.high` as it was found.
    Free {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
    },
}

impl Grip {
    /// The group that it is done to.
    pub const fn id(&self) -> u64 {
        match self {
            Self::Keep { id, .. } | Self::Leave { id, .. } | Self::Contain { id, .. } | Self::Free { id, .. } => *id,
        }
    }
}

impl Display for Grip {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Keep { unit, from, to, .. } => write!(f, "memory.min of {unit} {from} → {to}"),
            Self::Leave { unit, .. } => write!(f, "memory.min of {unit} as it was found"),
            Self::Contain { unit, used, ceiling, .. } => {
                write!(f, "contain {unit}, which has {used}: memory.high {ceiling}")
            }
            Self::Free { unit, .. } => write!(f, "memory.high of {unit} as it was found"),
        }
    }
}
