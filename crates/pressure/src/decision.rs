//! What to do now, and why: data that the log, `why`, the metrics and the replay all read.

use crate::census::{Identity, Name, Signal, UnitName};
use crate::distress::{Considered, Extent, Outlook};
use crate::groups::Grip;
use crate::knob::Knob;
use crate::protect::{Act, Why};
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
    /// Who holds memory.
    Suspects,
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
    /// End a process, or every process of its unit.
    End {
        /// Which.
        who: Identity,
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
    Group(Grip),
}

/// Why a step is taken: the numbers that decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Reason {
    /// Demand in a window exceeds what the gap holds.
    Demand {
        /// The window.
        window: Span,
        /// Demand in such a window that is exceeded with probability one less the quantile.
        demand: Bytes,
        /// What kswapd frees meanwhile.
        reclaimed: Bytes,
        /// The gap now.
        gap: Bytes,
    },
    /// The kernel had to stall someone: the gap was too small.
    Stalls {
        /// Allocations that reclaimed for themselves since the last sample.
        allocation: u64,
        /// Allocations that compacted for themselves.
        compaction: u64,
        /// Times kswapd fell back below low at once.
        hit_quickly: u64,
        /// The gap now.
        gap: Bytes,
    },
    /// Quiet for long enough: memory is given back.
    Quiet {
        /// For how long.
        calm: Span,
    },
    /// Quiet, and refaults above target: the price of the gap is too high.
    Refaults {
        /// Pages read again per second.
        per_second: u64,
        /// What is accepted.
        target: u64,
    },
    /// Programs wait for their own pages to be read again: what is held free is a part of what they miss.
    Thrash {
        /// Such waits per second, the mean of some seconds.
        per_second: u64,
        /// What is accepted.
        target: u64,
    },
    /// A change made things worse: undone.
    Worse {
        /// Refaults and stalls per second before, as time lost.
        before: Span,
        /// And after.
        after: Span,
    },
    /// The watermarks were raised, so the boost is kept to its bytes of before.
    BoostKept {
        /// High watermark as found, all zones.
        high_found: Bytes,
        /// High watermark to come.
        high: Bytes,
    },
    /// The budget or another guard's threshold bounds what may be held.
    Budget {
        /// The gap wanted.
        wanted: Bytes,
        /// The gap allowed.
        allowed: Bytes,
    },
    /// The machine's size changed, so the same gap needs another factor.
    Resized {
        /// Managed memory now.
        managed: Bytes,
    },
    /// Huge pages are asked for faster than blocks are there.
    Blocks {
        /// Their order.
        order: u32,
        /// Requests that could be served.
        free: u64,
        /// Requests expected.
        needed: u64,
    },
    /// Requests for huge pages are served again.
    BlocksEnough {
        /// Their order.
        order: u32,
        /// Requests that could be served.
        free: u64,
    },
    /// A raised low watermark wakes kswapd only at the next slow allocation; this starts it now.
    Ahead {
        /// Free in the node.
        free: Bytes,
        /// Its low watermark to come.
        low: Bytes,
    },
    /// Names that do not exist fill the directory cache.
    NegativeDentries {
        /// How many.
        count: u64,
        /// How many are accepted.
        cap: u64,
    },
    /// The object cache grows or shrinks against the configured preference.
    ObjectCache {
        /// Directory entries and inodes.
        objects: u64,
        /// Change per second, negative when shrinking.
        per_second: i64,
    },
    /// The configuration asks for it, at start or after an event.
    Configured {
        /// After which.
        on: Event,
    },
    /// The founding design's rule for reclaim.
    ClassicReclaim {
        /// Pages per second lost, by least squares.
        falling: u64,
        /// Pages per second reclaimed.
        reclaimed: u64,
        /// Time until the high watermark is reached.
        exhausted_in: Span,
    },
    /// The founding design's rule for compaction.
    ClassicCompaction {
        /// The order that runs out.
        order: u32,
        /// When.
        exhausted_in: Span,
    },
    /// The founding design's rule for backing off: free memory rises.
    ClassicRising {
        /// Pages per second gained, by least squares.
        rising: u64,
    },
    /// It makes memory run out.
    Runaway {
        /// How fast it grows.
        growth: Rate,
        /// How fast all memory that cannot be given back grows.
        of: Rate,
        /// Room that is left for it.
        room: Bytes,
        /// When that is used up.
        left: Option<Span>,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Option<Percent>,
    },
    /// It was asked to end, did not, and there is no more time.
    Deaf {
        /// How long ago it was asked.
        asked: Span,
        /// Room that is left.
        room: Bytes,
    },
    /// There is no room at all, all tasks stall, nobody grows: the largest has to go.
    Hopeless {
        /// For how long.
        since: Span,
        /// Share of the last seconds in which all tasks stalled.
        stalled: Percent,
    },
    /// It is what makes memory run out, and has a unit of its own: it may have all but the reserve.
    Fills {
        /// How fast it grows.
        growth: Rate,
        /// Room that is left.
        room: Bytes,
        /// Of it, what everyone else is left with.
        reserve: Bytes,
        /// When room is used up, if it grows on.
        left: Span,
    },
    /// It has been held up at its ceiling, and there is no room to raise that.
    Pushes {
        /// For how long.
        since: Span,
        /// Room that is left.
        room: Bytes,
    },
    /// There is room again, or it takes no more: nobody is to be slowed down.
    Eased {
        /// Room that is left.
        room: Bytes,
    },
    /// Why something is held, or let go.
    Protect(Why),
    /// Someone said stop: the kill switch, a rival, or the end of the run.
    Stop,
}

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
        room: Bytes,
        /// How fast that grows.
        growth: Rate,
        /// When it is used up.
        left: Span,
    },
    /// Someone was looked at when someone had to go.
    Considered(Considered),
    /// Who was signalled is gone.
    Gone {
        /// What it called itself.
        name: Name,
        /// Which.
        who: Identity,
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
        room: Bytes,
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

impl Action {
    /// What it is done to, without the numbers, which change from tick to tick.
    pub fn target(&self) -> (Option<Knob>, Option<Identity>) {
        match self {
            Self::End { who, .. } => (None, Some(*who)),
            other => (other.knob(), None),
        }
    }

    /// The knob it writes, if it writes one.
    pub fn knob(&self) -> Option<Knob> {
        match self {
            Self::Set { knob, .. } | Self::PutBack { knob, .. } => Some(*knob),
            Self::Compact { .. } | Self::Reclaim { .. } | Self::End { .. } | Self::Protect(_) | Self::Group(_) => None,
        }
    }
}
