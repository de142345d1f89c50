//! What the guard and a person's own program say to each other: one JSON object a line.
//!
//! A user hears what concerns their own processes, and of all others that memory was short and how much came back.

use crate::groups::Answer;
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// What a person is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "tell")]
pub enum Tell {
    /// Memory is about to run out.
    Warn {
        /// Room that is left.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// When it is used up, if things go on.
        left: Span,
    },
    /// A unit of theirs was slowed down.
    #[serde(rename = "contained")]
    Throttled {
        /// Its name.
        unit: String,
        /// What it may have.
        #[serde(rename = "ceiling")]
        memory_high: Bytes,
    },
    /// A unit of theirs was stopped; what is to become of it?
    Ask {
        /// To be named in the answer.
        id: u64,
        /// Its name.
        unit: String,
        /// What it has.
        used: Bytes,
        /// Time to answer; then it ends.
        wait: Span,
        /// Why.
        why: String,
    },
    /// The question of this number is settled.
    Settled {
        /// Which.
        id: u64,
    },
    /// A process of theirs was signalled.
    Ended {
        /// What it called itself.
        name: String,
        /// Its number.
        pid: u32,
        /// Its unit.
        unit: String,
        /// By which signal.
        signal: String,
        /// What it held.
        size: Bytes,
        /// Why.
        why: String,
    },
    /// A process of someone else was signalled.
    EndedElsewhere {
        /// What it held.
        size: Bytes,
    },
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// To which question.
    pub id: u64,
    /// What.
    pub answer: Answer,
}
