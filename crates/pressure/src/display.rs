//! Decisions as text: what the log and `why` print.

mod numbers;

pub use numbers::{Rates, Readings};

use crate::config::{Mode, Predictor};
use crate::decision::{Action, Arbitration, Notice, Phase, Reason, Step};
use crate::distress::{Considered, Extent, Verdict};
use crate::event::Event;
use crate::groups::Answer;
use crate::knob::KnobSet;
use crate::scan::UnitName;
use std::fmt::{Display, Formatter, Result};

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
                    Extent::Family => {
                        write!(
                            f,
                            "{signal} to every process like {name} ({})",
                            identity.pid
                        )?;
                    }
                    Extent::Ancestor => {
                        write!(
                            f,
                            "{signal} to every process like {name} ({}), and to what starts them",
                            identity.pid
                        )?;
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
            Self::Squeeze { unit, amount, .. } => {
                write!(f, "take {amount} that {unit} does not use: memory.reclaim")
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
                "a gap of {gap} was too small: {allocation} allocations entered direct reclaim, {compaction} \
                 direct compaction, kswapd fell back below low {hit_quickly} times"
            ),
            Self::Quiet { calm } => write!(f, "quiet for {calm}, so held memory goes back"),
            Self::Refaults { per_second, target } => {
                write!(
                    f,
                    "no stalls, but {per_second} refaults/s (accepted: {target})"
                )
            }
            Self::Thrash { per_second, target } => write!(
                f,
                "programs wait for {per_second} refaults/s (accepted: {target}), and the gap holds memory that they need"
            ),
            Self::ReadAgain {
                again,
                demand,
                burst,
            } => write!(
                f,
                "{again} of {demand} is for pages that had been evicted, and processes burst by no more than {burst}"
            ),
            Self::RunsOut { headroom } => write!(
                f,
                "only {headroom} of headroom left, and the gap holds a part of it"
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
                write!(f, "{count} negative dentries are cached, the cap is {cap}")
            }
            Self::ObjectCache {
                objects,
                per_second,
            } => {
                write!(
                    f,
                    "{objects} dentries and inodes are cached, {per_second:+} per second"
                )
            }
            Self::Balance { file, anon } => {
                write!(
                    f,
                    "{file} refaults/s of file pages and {anon} of anonymous pages"
                )
            }
            Self::ReadAhead { ahead, used } => {
                write!(
                    f,
                    "of {ahead} pages/s that are read ahead from swap, {used} are used"
                )
            }
            Self::Lags {
                stalled,
                per_second,
            } => {
                write!(
                    f,
                    "all tasks wait for memory {stalled} of the time, at {per_second} refaults/s"
                )
            }
            Self::Unused {
                used,
                taken,
                back,
                waited,
                budget,
            } => write!(
                f,
                "it has {used}: of {taken} taken lately {back} refaulted, and it waited {waited} of the time, of at most {budget}"
            ),
            Self::NearOom { headroom } => write!(
                f,
                "only {headroom} of headroom left: min_ttl_ms restored, so that the kernel does not OOM-kill"
            ),
            Self::Configured { on } => write!(f, "the configuration sets it on {on}"),
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
                    "it grows by {growth}, of {of} in all; headroom is {headroom}"
                )?;
                if let Some(left) = left {
                    write!(f, ", used up in {left}")?;
                }
                match stalled.filter(|stalled| stalled.get() >= 100) {
                    Some(stalled) => write!(f, "; all tasks stalled {stalled} of the last seconds"),
                    None => Ok(()),
                }
            }
            Self::Family {
                processes,
                growth,
                of,
                headroom,
                left,
            } => {
                write!(
                    f,
                    "it and {} like it grow by {growth} together, of {of} in all; headroom is {headroom}",
                    processes.saturating_sub(1)
                )?;
                match left {
                    Some(left) => write!(f, ", used up in {left}"),
                    None => Ok(()),
                }
            }
            Self::Again {
                processes,
                after,
                ancestor,
                growth,
                headroom,
            } => {
                write!(
                    f,
                    "{processes} like it were started again within {after} of the end of all of them, and grow by {growth} together"
                )?;
                if let Some(ancestor) = ancestor {
                    write!(
                        f,
                        "; {} ({}) starts them",
                        ancestor.name, ancestor.identity.pid
                    )?;
                }
                write!(f, "; headroom is {headroom}")
            }
            Self::Contributes {
                since,
                stalled,
                unit,
                holds,
            } => {
                write_stalled(f, *stalled, unit.as_ref())?;
                write!(
                    f,
                    ", for {since} now, and it contributes most: it holds {holds}"
                )
            }
            Self::SigtermIgnored { asked, headroom } => write!(
                f,
                "SIGTERM was sent {asked} ago and it still runs; headroom is {headroom}"
            ),
            Self::Hopeless { since, stalled } => {
                write!(
                    f,
                    "no headroom for {since}, all tasks stalled {stalled} of the time, and it holds the most memory"
                )
            }
            Self::Fills {
                growth,
                headroom,
                reserve,
                left,
            } => write!(
                f,
                "it grows by {growth} and fills memory in {left}; of {headroom} of headroom, {reserve} are reserved for all others"
            ),
            Self::AtLimit { since, headroom } => {
                write!(
                    f,
                    "throttled at memory.high for {since}, it still grows; headroom is {headroom}"
                )
            }
            Self::AskUser { growth, headroom } => {
                write!(
                    f,
                    "it grows by {growth}, and headroom is {headroom}: its user is asked what to do"
                )
            }
            Self::Answered {
                answer: Answer::Kill,
                after,
            } => write!(f, "its user answered after {after}: kill it"),
            Self::Answered {
                answer: Answer::Keep,
                after,
            } => {
                write!(f, "its user answered after {after}: keep it frozen")
            }
            Self::Answered {
                answer: Answer::GoOn,
                after,
            } => {
                write!(f, "its user answered after {after}: let it run")
            }
            Self::Unanswered { since, headroom } => {
                write!(
                    f,
                    "frozen for {since} without an answer, and headroom is only {headroom}"
                )
            }
            Self::StillShort { since, headroom } => {
                write!(
                    f,
                    "frozen for {since}, and memory still runs out: headroom is {headroom}"
                )
            }
            Self::Eased { headroom } => {
                write!(f, "headroom is {headroom}: no limit is needed")
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
            Self::SqueezeRests {
                unit,
                away,
                taken,
                back,
                waited,
                is_empty,
                rest,
            } => {
                if *is_empty {
                    write!(
                        f,
                        "nothing more is taken of {unit} for {rest}: nothing is left to take; {away} of it are not missed"
                    )
                } else {
                    write!(
                        f,
                        "nothing more is taken of {unit} for {rest}: of {taken} taken lately {back} refaulted, and it waited {waited} of the \
                         time; {away} of it are not missed"
                    )
                }
            }
            Self::Foreign { knob, ours, now } => {
                write!(
                    f,
                    "{} is {now}, Warmset had set {ours}: another program sets it, so Warmset leaves it alone",
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
            Self::OomKill { count } => write!(f, "processes OOM-killed by the kernel: {count}"),
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
                "headroom is {headroom}, and memory that cannot be reclaimed grows by {growth}: memory runs out in {left}"
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
                    "otherwise the kernel would OOM-kill {name} ({}), which holds {size}",
                    identity.pid
                )?;
                match within {
                    Some(within) => write!(f, ", when memory is used up in {within}"),
                    None => Ok(()),
                }
            }
            Self::Gone {
                name,
                identity,
                size,
                after,
            } => {
                write!(
                    f,
                    "{name} ({}) is gone {after} after the signal, which frees {size}",
                    identity.pid
                )
            }
            Self::NoCulprit { growth, headroom } => write!(
                f,
                "headroom is {headroom}, memory grows by {growth}, and no process that may be killed causes it: nothing is killed"
            ),
            Self::SharedFills {
                held,
                growth,
                mount,
                writer,
            } => {
                write!(
                    f,
                    "tmpfs and shared memory hold {held} and grow by {growth}; no kill frees the files of a tmpfs"
                )?;
                if let Some(mount) = mount {
                    write!(f, ": the fullest is {mount}")?;
                }
                match writer {
                    Some(writer) => write!(f, ", and {writer} writes to it"),
                    None => Ok(()),
                }
            }
            Self::KernelFills { held, growth } => write!(
                f,
                "the kernel's own memory (slab, stacks) is {held} and grows by {growth}: no kill frees it; slabtop(1) names what holds it"
            ),
            Self::Thrashing {
                since,
                stalled,
                unit,
                headroom,
                largest,
            } => {
                f.write_str("the machine thrashes: ")?;
                write_stalled(f, *stalled, unit.as_ref())?;
                write!(f, ", for {since} now, and headroom in RAM is {headroom}")?;
                match largest {
                    Some(name) => write!(f, "; {name} contributes most"),
                    None => Ok(()),
                }
            }
            Self::Proposed {
                rule,
                proposed,
                name,
                identity,
                verdict,
            } => {
                let rule = rule.name();
                let what = proposed.name();
                write!(f, "rule {rule} proposes {what} {name} ({}): ", identity.pid)?;
                match verdict {
                    Arbitration::Taken => f.write_str("accepted"),
                    Arbitration::After(first) => {
                        write!(f, "not now, rule {} comes first", first.name())
                    }
                    Arbitration::LeftToRival => f.write_str("left to the guard that kills there"),
                }
            }
            Self::LeftToRival => {
                f.write_str("memory runs out, and another guard runs: the kill is left to it")
            }
            Self::Disabled => f.write_str("the kill switch is on: nothing is held, nothing is set"),
            Self::Rival {
                knobs: KnobSet::ALL,
            } => f.write_str("another program may set any knob; Warmset leaves all knobs alone"),
            Self::Rival { knobs } => {
                write!(
                    f,
                    "another program sets {knobs}; Warmset {}",
                    knobs.left_alone()
                )
            }
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
        if let Some(growth) = self.growth {
            write!(f, ", grows by {growth}")?;
        }
        match self.verdict {
            Verdict::Chosen => f.write_str(": chosen"),
            Verdict::Behind => f.write_str(": not chosen"),
            Verdict::Exempt(exemption) => write!(f, ": exempt, {}", exemption.why()),
        }
    }
}

/// The tasks that stalled, and for which share of the last seconds.
fn write_stalled(
    f: &mut Formatter<'_>,
    stalled: units::Percent,
    unit: Option<&UnitName>,
) -> Result {
    match unit {
        Some(unit) => write!(
            f,
            "all tasks of {unit} stalled {stalled} of the last seconds"
        ),
        None => write!(f, "all tasks stalled {stalled} of the last seconds"),
    }
}

#[cfg(test)]
mod tests;
