//! What users and administrators should know.

use crate::distress::Considered;
use crate::event::Event;
use crate::knob::{Knob, KnobSet};
use crate::scan::{Identity, Name, PathName, UnitName};
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent, Rate, Span};

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
    /// A unit is squeezed no more for a while: what it has, it uses. What was taken lately is over some
    /// seconds.
    SqueezeRests {
        /// Which.
        unit: UnitName,
        /// Taken of it in all and not read again.
        away: Bytes,
        /// Taken lately.
        taken: Bytes,
        /// Read again meanwhile.
        back: Bytes,
        /// Share of that time in which all of its tasks waited.
        waited: Percent,
        /// Nothing was left to take.
        is_empty: bool,
        /// For how long.
        rest: Span,
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
    /// tmpfs or shared memory that no process owns fills memory.
    SharedFills {
        /// All tmpfs and shared memory.
        held: Bytes,
        /// How fast it grows.
        growth: Rate,
        /// The fullest tmpfs mount, if known.
        mount: Option<PathName>,
        /// What the process that writes to it calls itself, if known.
        writer: Option<Name>,
    },
    /// Memory of the kernel fills memory: no process holds it.
    KernelFills {
        /// Slab, stacks and per-CPU memory that reclaim cannot free.
        held: Bytes,
        /// How fast it grows.
        growth: Rate,
    },
    /// All tasks stall for memory, or all of a protected unit, whether or not a process grows.
    Thrashing {
        /// For how long.
        since: Span,
        /// Share of the last seconds in which they stalled.
        stalled: Percent,
        /// The protected unit; `None` for the whole machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<UnitName>,
        /// Headroom that is left in RAM.
        #[serde(rename = "room")]
        headroom: Bytes,
        /// What the largest contributor calls itself, if there is one.
        largest: Option<Name>,
    },
    /// A rule of the guard proposed something, and what became of that.
    Proposed {
        /// The rule.
        rule: Rule,
        /// What it proposed.
        proposed: Proposed,
        /// For which process: what it calls itself.
        name: Name,
        /// Which.
        #[serde(rename = "who")]
        identity: Identity,
        /// What became of it.
        verdict: Arbitration,
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

/// A rule of the guard, in the order in which the arbiter prefers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Tells that memory runs out.
    Warns,
    /// Names tmpfs and shared memory that fill memory.
    NamesShared,
    /// Names memory of the kernel that fills memory.
    NamesKernel,
    /// Tells that the machine thrashes.
    SaysThrash,
    /// Tells that no process that may be killed makes memory run out.
    SaysNobody,
    /// Undoes and raises limits.
    Eases,
    /// Thaws frozen units.
    Thaws,
    /// Does with a frozen unit what its user answered.
    Answers,
    /// Waits for a process that was signalled.
    Waits,
    /// A unit that has been at its limit for too long.
    AtLimit,
    /// Throttles what fills memory.
    Throttles,
    /// What makes memory run out within seconds.
    Runaway,
    /// The largest contributor to a machine that thrashes.
    Thrash,
    /// No headroom and no time, for long.
    Hopeless,
    /// Many grow, and none stands out.
    LastResort,
}

impl Rule {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warns => "warns",
            Self::NamesShared => "names-shared",
            Self::NamesKernel => "names-kernel",
            Self::SaysThrash => "says-thrash",
            Self::SaysNobody => "says-nobody",
            Self::Eases => "eases",
            Self::Thaws => "thaws",
            Self::Answers => "answers",
            Self::Waits => "waits",
            Self::AtLimit => "at-limit",
            Self::Throttles => "throttles",
            Self::Runaway => "runaway",
            Self::Thrash => "thrash",
            Self::Hopeless => "hopeless",
            Self::LastResort => "last-resort",
        }
    }
}

/// What a rule proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proposed {
    /// To throttle its unit.
    Throttle,
    /// To freeze its unit and ask its user.
    Ask,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

impl Proposed {
    /// As text that follows "proposes ".
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throttle => "to throttle the unit of",
            Self::Ask => "to freeze and ask the user of",
            Self::Term => "SIGTERM to",
            Self::Kill => "SIGKILL to",
        }
    }
}

/// What the arbiter made of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// It is carried out.
    Taken,
    /// The proposal of this rule comes first.
    After(Rule),
    /// Another guard kills there.
    LeftToRival,
}

/// What an older recording says without naming knobs: nothing was driven.
fn all() -> KnobSet {
    KnobSet::ALL
}
