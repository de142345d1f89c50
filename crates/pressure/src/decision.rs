//! What to do now, and why: plain data that the log, `why`, the metrics and the replay all read.

mod notice;
mod reason;

pub use notice::{Arbitration, Notice, Proposed, Rule};
pub use reason::Reason;

use crate::distress::{Extent, Outlook};
use crate::groups::CgroupAction;
use crate::knob::Knob;
use crate::orders::MOST_ORDERS;
use crate::protect::Act;
use crate::scan::{Identity, Name, Signal, UnitName};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Steps in one decision, at most. Further ones wait for the next tick, where their condition still
/// holds. A larger array makes each recorded decision larger; a smaller one delays steps.
pub const MAX_STEPS: usize = 12;
/// Notices in one decision, at most. Further ones are lost, so a smaller number hides news when much
/// happens at once.
pub const MAX_NOTICES: usize = 16;

/// The outcome of one tick. Plain data: no allocation, comparable, recorded as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What state the guard is in.
    pub phase: Phase,
    /// What it expects.
    pub forecast: Forecast,
    /// What to write, in this order.
    pub steps: ArrayVec<Step, MAX_STEPS>,
    /// What users and administrators should be told.
    pub notices: ArrayVec<Notice, MAX_NOTICES>,
    /// Take the next sample after this long, unless pressure wakes the daemon first.
    pub patience: Span,
    /// What else the next sample has to hold.
    #[serde(default)]
    pub attention: Attention,
}

/// What the next sample has to hold beyond what every sample holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Nothing.
    #[default]
    Rest,
    /// The processes that hold the most memory.
    ///
    /// Recordings of local replacement have `runners` here, which asked for more.
    #[serde(rename = "suspects", alias = "runners")]
    Candidates,
}

impl Decision {
    /// How long to wait before the next sample.
    pub fn patience(&self) -> Duration {
        self.patience.get()
    }
}

/// What state the guard is in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Too few samples to say anything.
    #[default]
    Learning,
    /// Nothing to do, nothing held.
    Calm,
    /// Demand is there and the gap is enough for it.
    Watching,
    /// More memory is held free than the kernel would.
    Guarding,
    /// Giving held memory back.
    Easing,
    /// Another program or the kill switch is in charge: nothing is held, nothing is written.
    Yielding,
    /// A change made things worse and was undone; waiting before the next.
    Backed,
    /// Memory is about to run out for good.
    Distress,
}

impl Phase {
    /// Its name in messages and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Learning => "learning",
            Self::Calm => "calm",
            Self::Watching => "watching",
            Self::Guarding => "guarding",
            Self::Easing => "easing",
            Self::Yielding => "yielding",
            Self::Backed => "backed-off",
            Self::Distress => "distress",
        }
    }

    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Learning,
        Self::Calm,
        Self::Watching,
        Self::Guarding,
        Self::Easing,
        Self::Yielding,
        Self::Backed,
        Self::Distress,
    ];
}

/// What is expected; every part may be unknown.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Gross demand since the last sample: pages taken, whether or not reclaim made up for them.
    pub demand: Option<Rate>,
    /// What kswapd frees per second while it runs.
    pub reclaim: Option<Rate>,
    /// Share of demand that the gap is sized for (the critical ratio).
    pub quantile: Option<Percent>,
    /// Σ over zones of low − min watermark, boost left out.
    pub gap: Option<Bytes>,
    /// What that gap was before the guard wrote to the knobs.
    pub gap_found: Option<Bytes>,
    /// The gap that the demand calls for, before budget and bounds.
    pub gap_needed: Option<Bytes>,
    /// By how much MemAvailable is lower because of the knobs that the guard set.
    pub withheld: Option<Bytes>,
    /// When memory that reclaim cannot free runs out, if it grows.
    pub exhaustion: Option<Exhaustion>,
    /// When free memory reaches the min watermark at the present net rate, if it falls.
    pub until_min: Option<Span>,
    /// Free blocks for huge pages against the need for them.
    pub blocks: Option<BlockForecast>,
    /// The same of other orders that tasks have waited for.
    #[serde(default, skip_serializing_if = "ArrayVec::is_empty")]
    pub orders: ArrayVec<BlockForecast, MOST_ORDERS>,
    /// Headroom for memory that cannot be reclaimed, and for how long it lasts.
    #[serde(default)]
    pub outlook: Option<Outlook>,
    /// Memory taken of squeezed units and not read again since; `None` if no unit is squeezed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squeezed: Option<Bytes>,
}

impl Forecast {
    /// Blocks of every order that is asked for, huge pages first.
    pub fn all_blocks(&self) -> impl Iterator<Item = &BlockForecast> {
        self.blocks.iter().chain(&self.orders)
    }
}

/// When memory runs out, if the slow part keeps growing as it does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Exhaustion {
    /// Growth of memory that reclaim cannot free: the middle estimate.
    pub growth: Rate,
    /// With the fastest growth the interval allows.
    pub earliest: Span,
    /// With the middle estimate.
    pub expected: Span,
    /// With the slowest growth the interval allows; `None` if that includes no growth.
    pub latest: Option<Span>,
}

/// Free blocks of an order, against what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockForecast {
    /// The order.
    pub order: u32,
    /// Requests that the free lists could serve.
    pub free: u64,
    /// Requests expected within the horizon.
    pub needed: u64,
    /// Share of free memory in blocks too small for the order (the kernel's `extfrag` score).
    pub fragmentation: Option<Percent>,
}

/// One write, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// Why.
    pub why: Reason,
}

/// What can be done to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Action {
    /// Set a knob, entered in the undo log first.
    Set {
        /// Which.
        knob: Knob,
        /// What it was in the sample.
        from: u64,
        /// What it shall be.
        to: u64,
    },
    /// Set a knob back to what was found, and forget it.
    PutBack {
        /// Which.
        knob: Knob,
        /// What it was in the sample.
        from: u64,
        /// What was found.
        to: u64,
    },
    /// Compact one node, in the worker.
    Compact {
        /// Its number.
        node: u32,
    },
    /// Reclaim from one node, in the worker.
    Reclaim {
        /// Its number.
        node: u32,
        /// How much to ask for.
        amount: Bytes,
    },
    /// Kill a process, or every process of its unit.
    #[serde(rename = "end")]
    Kill {
        /// Which.
        #[serde(rename = "who")]
        identity: Identity,
        /// What it calls itself.
        name: Name,
        /// The unit it lives in.
        unit: UnitName,
        /// Which signal is sent.
        signal: Signal,
        /// Whether its whole unit is killed.
        extent: Extent,
        /// Memory that this frees.
        size: Bytes,
    },
    /// Have something held in memory, or released.
    Protect(Act),
    /// Set a limit of a control group, or put it back.
    Group(CgroupAction),
    /// Read back what a protected cgroup has in swap, in the worker.
    Recall {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// So much of it.
        amount: Bytes,
    },
    /// Take unused memory of a cgroup, in the worker.
    Squeeze {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// How much to ask for.
        amount: Bytes,
    },
}

impl Action {
    /// The knob or process that it acts on. The numbers of an action change from tick to tick; this
    /// stays, so that repeated actions can be told apart from new ones.
    pub fn target(&self) -> (Option<Knob>, Option<Identity>) {
        match self {
            Self::Kill { identity, .. } => (None, Some(*identity)),
            other => (other.knob(), None),
        }
    }

    /// The knob it writes, if it writes one.
    pub fn knob(&self) -> Option<Knob> {
        match self {
            Self::Set { knob, .. } | Self::PutBack { knob, .. } => Some(*knob),
            Self::Compact { .. }
            | Self::Reclaim { .. }
            | Self::Kill { .. }
            | Self::Protect(_)
            | Self::Group(_)
            | Self::Recall { .. }
            | Self::Squeeze { .. } => None,
        }
    }
}
