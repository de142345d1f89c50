//! What users and administrators should know.

use crate::distress::Considered;
use crate::event::Event;
use crate::knob::{Knob, KnobSet};
use crate::scan::{Identity, Name};
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// Something that users and administrators should know.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "note")]
pub enum Notice {
    /// Something happened to the machine.
    Happened {
        /// What.
        event: Event,
        /// Amount before.
        from: Bytes,
        /// Amount now.
        to: Bytes,
    },
    /// Another program changed a knob that the guard had set: the guard leaves it alone from now on.
    Foreign {
        /// Which.
        knob: Knob,
        /// What the guard had written.
        ours: u64,
        /// What it is.
        now: u64,
    },
    /// Allocations stalled since the last sample.
    Stalled {
        /// In direct reclaim.
        allocation: u64,
        /// In direct compaction.
        compaction: u64,
    },
    /// The kernel OOM-killed processes.
    OomKill {
        /// How many.
        count: u64,
    },
    /// Memory that nothing accounts for keeps growing.
    Leak {
        /// How fast.
        growth: Rate,
        /// How much since the alarm's history began.
        grown: Bytes,
        /// Over which time.
        over: Span,
    },
    /// Demand changed its character; its history is forgotten.
    RegimeChange {
        /// Before.
        from: Rate,
        /// Now.
        to: Rate,
    },
    /// Memory runs out soon.
    Exhaustion {
        /// Expected time.
        expected: Span,
    },
    /// Memory runs out within seconds.
    Distress {
        /// Headroom for memory that cannot be reclaimed.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// How fast such memory grows.
        growth: Rate,
        /// Time until headroom is used up.
        left: Span,
    },
    /// A candidate that was considered for a kill, and the verdict on it.
    Considered(Considered),
    /// What the kernel would have done otherwise: among the candidates, the process that it would
    /// OOM-kill.
    Otherwise {
        /// What that process calls itself.
        name: Name,
        /// Which.
        #[serde(rename = "who")]
        identity: Identity,
        /// Memory that its end frees.
        size: Bytes,
        /// Time until headroom is used up.
        within: Option<Span>,
    },
    /// A process that was signalled is gone.
    Gone {
        /// What it called itself.
        name: Name,
        /// Which.
        #[serde(rename = "who")]
        identity: Identity,
        /// What it held.
        size: Bytes,
        /// How long that took.
        after: Span,
    },
    /// Memory runs out, and no process that may be killed causes it.
    NoCulprit {
        /// How fast memory that cannot be reclaimed grows.
        growth: Rate,
        /// Headroom that is left for it.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Memory runs out, and the kill is left to another guard.
    LeftToRival,
    /// Nothing is driven: the kill switch is on.
    Disabled,
    /// Another program drives these knobs: they are left alone.
    Rival {
        /// Which; all, in older recordings.
        #[serde(default = "all")]
        knobs: KnobSet,
    },
    /// The gap stays below what is needed, because the budget is smaller.
    ShortOfBudget {
        /// Needed.
        wanted: Bytes,
        /// Allowed.
        allowed: Bytes,
    },
}

/// What an older recording says without naming knobs: nothing was driven.
fn all() -> KnobSet {
    KnobSet::ALL
}
