//! What to do now, and why: data that the log, `why`, the metrics and the replay all read.

mod notice;
mod reason;

pub use notice::{Event, Notice};
pub use reason::Reason;

use crate::distress::{Extent, Outlook};
use crate::groups::CgroupAction;
use crate::knob::Knob;
use crate::protect::Act;
use crate::scan::{Identity, Name, Signal, UnitName};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Steps in one decision, at most; further ones wait for the next tick.
pub const MAX_STEPS: usize = 12;
/// Notices in one decision, at most.
pub const MAX_NOTICES: usize = 12;

/// The outcome of one tick. Plain data: no allocation, comparable, recorded as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What state the guard is in.
    pub phase: Phase,
    /// What it expects.
    pub forecast: Forecast,
    /// What to write, in this order.
    pub steps: ArrayVec<Step, MAX_STEPS>,
    /// What people should be told.
    pub notices: ArrayVec<Notice, MAX_NOTICES>,
    /// Look again after this long, unless pressure wakes us first.
    pub patience: Span,
    /// What else to look at next time.
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
    /// Who holds memory. Recordings of local replacement have `runners` here, which asked for more.
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
    /// Someone else drives: nothing is held, nothing is written.
    Yielding,
    /// A change made things worse and was undone; waiting before the next.
    Backed,
    /// Memory is about to run out for good.
    Distress,
}

impl Phase {
    /// As people and metrics read it.
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
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Gross demand since the last sample: pages taken, whether or not reclaim made up for them.
    pub demand: Option<Rate>,
    /// What kswapd frees per second while it runs.
    pub reclaim: Option<Rate>,
    /// Share of demand that the gap is sized for (the critical ratio).
    pub quantile: Option<Percent>,
    /// Σ over zones of low − min watermark, boost left out.
    pub gap: Option<Bytes>,
    /// What that gap was when we came.
    pub gap_found: Option<Bytes>,
    /// The gap that the demand calls for, before budget and bounds.
    pub gap_needed: Option<Bytes>,
    /// By how much MemAvailable is lower because of us.
    pub withheld: Option<Bytes>,
    /// When memory that reclaim cannot free runs out, if it grows.
    pub exhaustion: Option<Exhaustion>,
    /// When free memory reaches the min watermark at the present net rate, if it falls.
    pub until_min: Option<Span>,
    /// Free blocks for huge pages against the need for them.
    pub blocks: Option<BlockForecast>,
    /// Room for memory that cannot be given back, and for how long it lasts.
    #[serde(default)]
    pub outlook: Option<Outlook>,
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

/// Free blocks of the order of a huge page, against what is asked for.
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
        /// How.
        signal: Signal,
        /// How much of its unit.
        extent: Extent,
        /// What that gives back.
        size: Bytes,
    },
    /// Have something held in memory, or let go.
    Protect(Act),
    /// Set a limit of a control group, or put it back.
    Group(CgroupAction),
    /// Read back what a ward has in swap, in the worker.
    Recall {
        /// Which.
        id: u64,
        /// Its name.
        unit: UnitName,
        /// So much of it.
        amount: Bytes,
    },
}
impl Action {
    /// What it is done to, without the numbers, which change from tick to tick.
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
            | Self::Recall { .. } => None,
        }
    }
}
