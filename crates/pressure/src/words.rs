//! Decisions in plain words: what the log and `why` print.

use crate::config::{Mode, Predictor};
use crate::decision::{Action, Event, Notice, Phase, Reason, Step};
use crate::distress::{Considered, Extent, Verdict};
use crate::groups::Answer;
use std::fmt::{Display, Formatter, Result};
use units::{Rate, Span};

impl Display for Phase {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.pad(self.name())
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.pad(match self {
            Self::Start => "start",
            Self::Hugepages => "hugepages",
            Self::Hotplug => "hotplug",
            Self::Swap => "swap",
        })
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.pad(match self {
            Self::Observe => "observe",
            Self::Tune => "tune",
            Self::Guard => "guard",
            Self::Protect => "protect",
        })
    }
}

impl Display for Predictor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.pad(match self {
            Self::BaseStock => "base-stock",
            Self::Classic => "classic",
        })
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {}", self.action, self.why)
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Set { knob, from, to } => write!(f, "{} {from} → {to}", knob.spec().name),
            Self::PutBack { knob, from, to } => {
                write!(f, "{} {from} → {to} (put back)", knob.spec().name)
            }
            Self::Compact { node } => write!(f, "compact node {node}"),
            Self::Reclaim { node, amount } => write!(f, "reclaim {amount} from node {node}"),
            Self::Kill {
                identity,
                name,
                unit,
                signal,
                extent,
                size,
            } => {
                let signal = signal.name();
                match extent {
                    Extent::Process if unit.is_empty() => {
                        write!(f, "{signal} to {name} ({})", identity.pid)?;
                    }
                    Extent::Process => {
                        write!(f, "{signal} to {name} ({}) of {unit}", identity.pid)?;
                    }
                    Extent::Unit => write!(
                        f,
                        "{signal} to all of {unit}, with {name} ({})",
                        identity.pid
                    )?,
                }
                write!(f, ", which holds {size}")
            }
            Self::Protect(act) => act.fmt(f),
            Self::Group(cgroup_action) => cgroup_action.fmt(f),
            Self::Recall { unit, amount, .. } => {
                write!(f, "read back {amount} of {unit} from swap")
            }
        }
    }
}

impl Display for Reason {
    #[allow(
        clippy::too_many_lines,
        reason = "a table: one sentence for each reason"
    )]
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Demand {
                window,
                demand,
                reclaimed,
                gap,
            } => write!(
                f,
                "demand reaches {demand} within {window}, kswapd frees {reclaimed} of it meanwhile, the gap holds {gap}"
            ),
            Self::Stalls {
                allocation,
                compaction,
                hit_quickly,
                gap,
            } => write!(
                f,
                "a gap of {gap} was too little: {allocation} allocations reclaimed for themselves, {compaction} \
                 compacted, kswapd fell back {hit_quickly} times"
            ),
            Self::Quiet { calm } => write!(f, "quiet for {calm}, so held memory goes back"),
            Self::Refaults { per_second, target } => {
                write!(
                    f,
                    "no stalls, but {per_second} pages/s are read again (accepted: {target})"
                )
            }
            Self::Thrash { per_second, target } => write!(
                f,
                "programs wait {per_second} times/s for their own pages to be read again (accepted: {target}), which the \
                 gap takes a part of"
            ),
            Self::RunsOut { headroom } => write!(
                f,
                "memory runs out, {headroom} are left, which the gap takes a part of"
            ),
            Self::Worse { before, after } => {
                write!(
                    f,
                    "the last raise made it worse: {before} lost per second before, {after} after"
                )
            }
            Self::BoostKept { high_found, high } => {
                write!(
                    f,
                    "the high watermark goes from {high_found} to {high}; the boost keeps its bytes"
                )
            }
            Self::Budget { wanted, allowed } => write!(f, "{wanted} wanted, {allowed} allowed"),
            Self::Resized { managed } => write!(f, "the machine now has {managed}"),
            Self::Blocks {
                order,
                free,
                needed,
            } => {
                write!(
                    f,
                    "{needed} requests of order {order} expected, {free} could be served"
                )
            }
            Self::BlocksEnough { order, free } => {
                write!(f, "{free} requests of order {order} could be served again")
            }
            Self::Ahead { free, low } => {
                write!(
                    f,
                    "free {free} is below the new low watermark {low}, and kswapd would wake only later"
                )
            }
            Self::NegativeDentries { count, cap } => {
                write!(f, "{count} names that do not exist are cached, cap {cap}")
            }
            Self::ObjectCache {
                objects,
                per_second,
            } => {
                write!(
                    f,
                    "{objects} names and inodes are cached, {per_second:+} a second"
                )
            }
            Self::Balance { file, anon } => {
                write!(
                    f,
                    "{file} pages of files and {anon} of programs' own memory are read again per second"
                )
            }
            Self::ReadAhead { ahead, used } => {
                write!(
                    f,
                    "of {ahead} pages per second that are read from swap ahead of their use {used} are used"
                )
            }
            Self::Lags {
                stalled,
                per_second,
            } => {
                write!(
                    f,
                    "all tasks wait {stalled} of the time for memory, and {per_second} pages are read again per second"
                )
            }
            Self::Verge { headroom } => write!(
                f,
                "memory runs out, {headroom} are left: the kernel is not to choose who ends"
            ),
            Self::Configured { on } => write!(f, "the configuration asks for it on {on}"),
            Self::ClassicReclaim {
                falling,
                reclaimed,
                exhausted_in,
            } => write!(
                f,
                "free pages fall by {falling}/s while {reclaimed}/s are reclaimed: at the high watermark in {exhausted_in}"
            ),
            Self::ClassicCompaction {
                order,
                exhausted_in,
            } => {
                write!(f, "blocks of order {order} run out in {exhausted_in}")
            }
            Self::ClassicRising { rising } => write!(f, "free pages rise by {rising}/s"),
            Self::Runaway {
                growth,
                of,
                headroom,
                left,
                stalled,
            } => {
                write!(
                    f,
                    "it grows by {growth}, of {of} in all; room for {headroom} more"
                )?;
                left.map_or(Ok(()), |left: Span| write!(f, ", used up in {left}"))?;
                match stalled.filter(|stalled| stalled.get() >= 100) {
                    Some(stalled) => write!(f, "; all tasks stalled {stalled} of the last seconds"),
                    None => Ok(()),
                }
            }
            Self::Deaf { asked, headroom } => write!(
                f,
                "asked to end {asked} ago, it did not; room for {headroom} more"
            ),
            Self::Hopeless { since, stalled } => {
                write!(
                    f,
                    "no room at all for {since}, all tasks stalled {stalled} of the time, and it holds the most"
                )
            }
            Self::Fills {
                growth,
                headroom,
                reserve,
                left,
            } => write!(
                f,
                "it grows by {growth} and fills memory in {left}; of room for {headroom}, {reserve} are kept for all others"
            ),
            Self::Pushes { since, headroom } => {
                write!(
                    f,
                    "held up at its ceiling for {since}, it still wants more, and there is room for {headroom}"
                )
            }
            Self::Ask { growth, headroom } => {
                write!(
                    f,
                    "it grows by {growth}, and there is room for {headroom} more: its user is asked what becomes of it"
                )
            }
            Self::Answered {
                answer: Answer::End,
                after,
            } => write!(f, "its user said after {after}: end it"),
            Self::Answered {
                answer: Answer::Keep,
                after,
            } => {
                write!(f, "its user said after {after}: it shall wait")
            }
            Self::Answered {
                answer: Answer::GoOn,
                after,
            } => {
                write!(f, "its user said after {after}: it shall go on")
            }
            Self::Unanswered { since, headroom } => {
                write!(
                    f,
                    "stopped for {since}, nobody has answered, and there is room for {headroom} only"
                )
            }
            Self::StillShort { since, headroom } => {
                write!(
                    f,
                    "stopped for {since}, memory runs out all the same: room for {headroom}"
                )
            }
            Self::Eased { headroom } => {
                write!(f, "room for {headroom}: nobody is to be slowed down")
            }
            Self::Protect(why) => why.fmt(f),
            Self::Stop => f.write_str("nothing is to be held now"),
        }
    }
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Happened {
                event: Event::Hugepages,
                from,
                to,
            } => write!(f, "huge page pools: {from} → {to}"),
            Self::Happened {
                event: Event::Hotplug,
                from,
                to,
            } => write!(f, "managed memory: {from} → {to}"),
            Self::Happened {
                event: Event::Swap,
                from,
                to,
            } => write!(f, "swap: {from} → {to}"),
            Self::Happened {
                event: Event::Start,
                ..
            } => f.write_str("started"),
            Self::Foreign { knob, ours, now } => {
                write!(
                    f,
                    "{} is {now}, we had set {ours}: someone else drives it, we let go",
                    knob.spec().name
                )
            }
            Self::Stalled {
                allocation,
                compaction,
            } => {
                write!(
                    f,
                    "allocations stalled: {allocation} in reclaim, {compaction} in compaction"
                )
            }
            Self::OomKill { count } => write!(
                f,
                "processes killed by the kernel for want of memory: {count}"
            ),
            Self::Leak {
                growth,
                grown,
                over,
            } => {
                write!(
                    f,
                    "memory that nothing accounts for grows by {growth}: {grown} in {over}; possibly a leak in the kernel or a driver"
                )
            }
            Self::RegimeChange { from, to } => {
                write!(
                    f,
                    "demand changed from {from} to {to}: its history counts less now"
                )
            }
            Self::Exhaustion { expected } => {
                write!(f, "memory that cannot be reclaimed runs out in {expected}")
            }
            Self::Distress {
                headroom,
                growth,
                left,
            } => write!(
                f,
                "room for {headroom} that cannot be given back, and it grows by {growth}: memory runs out in {left}"
            ),
            Self::Considered(considered) => considered.fmt(f),
            Self::Otherwise {
                name,
                identity,
                size,
                within,
            } => {
                write!(
                    f,
                    "otherwise: the kernel ends {name} ({}), {size}",
                    identity.pid
                )?;
                within
                    .iter()
                    .try_for_each(|within| write!(f, ", when memory is used up in {within}"))
            }
            Self::Gone {
                name,
                identity,
                size,
                after,
            } => {
                write!(
                    f,
                    "{name} ({}) is gone after {after}, and {size} with it",
                    identity.pid
                )
            }
            Self::NoCulprit { growth, headroom } => write!(
                f,
                "room for {headroom} more, growing by {growth}, and nobody who may be ended makes it: nothing is ended"
            ),
            Self::LeftToRival => {
                f.write_str("memory runs out; another guard runs, and whom to end is left to it")
            }
            Self::Disabled => f.write_str("the kill switch is on: nothing is held, nothing is set"),
            Self::Rival => f.write_str(
                "another program drives the same knobs: nothing is held, nothing is set",
            ),
            Self::ShortOfBudget { wanted, allowed } => {
                write!(
                    f,
                    "demand calls for a gap of {wanted}; the budget allows {allowed}"
                )
            }
        }
    }
}

impl Display for Considered {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ({}): {}", self.name, self.identity.pid, self.size)?;
        self.growth
            .map_or(Ok(()), |growth: Rate| write!(f, ", grows by {growth}"))?;
        match self.verdict {
            Verdict::Chosen => f.write_str(": chosen"),
            Verdict::Behind => f.write_str(": behind"),
            Verdict::Exempt(exemption) => write!(f, ": spared, {}", exemption.why()),
        }
    }
}

#[cfg(test)]
mod tests;
