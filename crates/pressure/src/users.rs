//! What the guard and a user's own client say to each other: one JSON object a line.
//!
//! A user is told what concerns their own processes. Of all others a user is told only that memory
//! was short and how much was freed.

use crate::groups::Answer;
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// A message to a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "tell")]
pub enum Tell {
    /// Memory is about to run out.
    Warn {
        /// Headroom that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// Time until it is used up, at the present growth.
        left: Span,
    },
    /// The machine thrashes, or a tmpfs fills it.
    Short {
        /// What, as a sentence.
        why: String,
    },
    /// A unit of the user was throttled.
    #[serde(rename = "contained")]
    Throttled {
        /// Its name.
        unit: String,
        /// Its `memory.high`.
        #[serde(rename = "ceiling")]
        memory_high: Bytes,
    },
    /// A unit of the user was frozen, and the user is asked what to do with it.
    Ask {
        /// Number of the question, to be named in the answer.
        id: u64,
        /// Its name.
        unit: String,
        /// Memory that it has.
        used: Bytes,
        /// Time to answer; without an answer the unit is killed.
        wait: Span,
        /// Why.
        why: String,
    },
    /// The question of this number is settled.
    Settled {
        /// Number of the question.
        id: u64,
    },
    /// A process of the user was signalled.
    Ended {
        /// What it called itself.
        name: String,
        /// Its process ID.
        pid: u32,
        /// Its unit.
        unit: String,
        /// Name of the signal.
        signal: String,
        /// Memory that it held.
        size: Bytes,
        /// Why.
        why: String,
    },
    /// A process of another user was signalled.
    EndedElsewhere {
        /// Memory that it held.
        size: Bytes,
    },
}

/// A user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Number of the question.
    pub id: u64,
    /// What to do.
    pub answer: Answer,
}
