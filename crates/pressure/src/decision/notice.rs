//! What people should know.

use crate::distress::Considered;
use crate::knob::Knob;
use crate::scan::{Identity, Name};
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

/// What can happen to a machine while we watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The daemon started.
    Start,
    /// A pool of huge pages changed.
    Hugepages,
    /// Managed memory changed: hotplug, balloon, or lazily initialised memory.
    Hotplug,
    /// A swap area came or went.
    Swap,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Start, Self::Hugepages, Self::Hotplug, Self::Swap];
}

/// Something people should know.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "note")]
pub enum Notice {
    /// Something happened to the machine.
    Happened {
        /// What.
        event: Event,
        /// How much of it before.
        from: Bytes,
        /// And now.
        to: Bytes,
    },
    /// Someone else set a knob that we had set: it is theirs now.
    Foreign {
        /// Which.
        knob: Knob,
        /// What we had written.
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
    /// The kernel killed processes for want of memory.
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
        /// Room for what cannot be given back.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// How fast that grows.
        growth: Rate,
        /// When it is used up.
        left: Span,
    },
    /// Someone was looked at when someone had to go.
    Considered(Considered),
    /// What would have happened if nobody had been signalled: the kernel ends whom it finds worst, as far as we looked.
    Otherwise {
        /// What that one calls itself.
        name: Name,
        /// Which.
        #[serde(rename = "who")]
        identity: Identity,
        /// What its end gives back.
        size: Bytes,
        /// When room is used up.
        within: Option<Span>,
    },
    /// Who was signalled is gone.
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
    /// Memory runs out, and nobody who may be ended makes it.
    NoCulprit {
        /// How fast memory that cannot be given back grows.
        growth: Rate,
        /// Room that is left for it.
        #[serde(rename = "room")]
        headroom: Bytes,
    },
    /// Memory runs out, and ending someone is left to another guard.
    LeftToRival,
    /// Nothing is driven: the kill switch is on.
    Disabled,
    /// Nothing is driven: another program drives the same knobs.
    Rival,
    /// The gap stays below what is needed, for the reason of the step or the budget.
    ShortOfBudget {
        /// Needed.
        wanted: Bytes,
        /// Allowed.
        allowed: Bytes,
    },
}
