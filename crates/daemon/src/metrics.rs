//! The metrics that the daemon exports: a row in a table for each, read from one [`Status`].
//!
//! To add a metric, add a row. The full name gets the prefix, the unit and the suffix of its kind from there. An unknown
//! value gives no line, never a zero. Labels come from small sets: the machine's nodes, zones, orders and knobs, and our
//! phases and reasons. So a machine has a few hundred lines at most.

mod text;

pub use text::Dialect;

use pressure::config::{Mode, Predictor};
use pressure::decision::{BlockForecast, Phase, Reason};
use pressure::distress::Outlook;
use pressure::knob::KNOBS;
use pressure::sample::{Pressure, Wall, ZoneAmounts};
use pressure::status::Status;
use text::{Head, Kind, Label, Number, Points};
use units::Pages;

/// Every family, in the order in which it is exported.
const TABLES: [&[Family]; 4] = [GUARD, ACTIONS, MACHINE, FORECAST];

/// Appends all metrics of `status` to `out`. Cost: some 10 µs and 100 bytes a line.
pub fn exposition(status: &Status, dialect: Dialect, out: &mut String) {
    for family in TABLES.into_iter().flatten() {
        let mut points = Points::new(family.head, dialect, out);
        match family.read {
            Read::One(value) => points.put(value(status)),
            Read::Many(put) => put(status, &mut points),
        }
    }
    if dialect == Dialect::OpenMetrics {
        out.push_str("# EOF\n");
    }
}

/// A metric with all its labels.
struct Family {
    head: Head,
    read: Read,
}

/// How the values of a family are read.
#[derive(Clone, Copy)]
enum Read {
    /// One value without labels; `None` if it is unknown.
    One(fn(&Status) -> Option<Number>),
    /// A value for each set of labels.
    Many(fn(&Status, &mut Points<'_>)),
}

type Name = &'static str;
type Unit = &'static str;
type Help = &'static str;

const fn gauge(name: Name, unit: Unit, help: Help, read: fn(&Status) -> Option<Number>) -> Family {
    family(name, Kind::Gauge, unit, help, Read::One(read))
}

const fn gauges(name: Name, unit: Unit, help: Help, read: fn(&Status, &mut Points<'_>)) -> Family {
    family(name, Kind::Gauge, unit, help, Read::Many(read))
}

const fn counter(
    name: Name,
    unit: Unit,
    help: Help,
    read: fn(&Status) -> Option<Number>,
) -> Family {
    family(name, Kind::Counter, unit, help, Read::One(read))
}

const fn counters(
    name: Name,
    unit: Unit,
    help: Help,
    read: fn(&Status, &mut Points<'_>),
) -> Family {
    family(name, Kind::Counter, unit, help, Read::Many(read))
}

const fn states(name: Name, help: Help, read: fn(&Status, &mut Points<'_>)) -> Family {
    family(name, Kind::States, "", help, Read::Many(read))
}

const fn info(name: Name, help: Help, read: fn(&Status, &mut Points<'_>)) -> Family {
    family(name, Kind::Info, "", help, Read::Many(read))
}

const fn family(name: Name, kind: Kind, unit: Unit, help: Help, read: Read) -> Family {
    Family {
        head: Head {
            name,
            kind,
            unit,
            help,
        },
        read,
    }
}

/// A value that may be unknown.
fn known<T: Into<Number>>(value: Option<T>) -> Option<Number> {
    value.map(Into::into)
}

/// The guard itself.
const GUARD: &[Family] = &[
    info("build", "The running daemon.", |status, points| {
        points.put_at(&[("version", &status.version)], Number::Whole(1));
    }),
    info("machine", "What it runs on.", |status, points| {
        points.put_at(&[("kernel", &status.facts.kernel)], Number::Whole(1));
    }),
    gauge(
        "start_time",
        "seconds",
        "When the daemon started, since 1970.",
        |status| Some(seconds_since_1970(status.started)),
    ),
    gauge(
        "sample_timestamp",
        "seconds",
        "When the last sample was taken, since 1970.",
        sample_time,
    ),
    states("mode", "What the daemon may do.", |status, points| {
        points.states(&["observe", "tune", "guard", "protect"], mode(status.mode));
    }),
    states("predictor", "How the gap is found.", |status, points| {
        points.states(&["base-stock", "classic"], predictor(status.predictor));
    }),
    gauge(
        "only_observes",
        "",
        "1 if something forbids the writes the mode allows.",
        |status| Some(Number::from(status.only_observes.is_some())),
    ),
    states("phase", "What the guard is doing.", |status, points| {
        points.states(&Phase::ALL.map(Phase::name), status.decision.phase.name());
    }),
    counter("samples", "", "Samples taken.", |status| {
        Some(Number::from(status.tally.samples))
    }),
    counter(
        "lost_samples",
        "",
        "Samples missing from the recording.",
        |status| Some(Number::from(status.tally.lost_samples)),
    ),
    counter(
        "pressure_wakeups",
        "",
        "Wake-ups by a pressure trigger.",
        |status| Some(Number::from(status.tally.pressure_wakeups)),
    ),
    gauge(
        "patience",
        "seconds",
        "Time until the next sample, unless pressure wakes the guard first.",
        |status| Some(Number::from(status.decision.patience)),
    ),
    counter("own_cpu", "seconds", "CPU time of the daemon.", |status| {
        Some(Number::from(status.tally.own_cpu))
    }),
    gauge(
        "own_resident",
        "bytes",
        "Resident memory of the daemon.",
        |status| Some(Number::from(status.tally.own_memory)),
    ),
    gauge(
        "troubles",
        "",
        "Files that cannot be read and knobs that refused.",
        |status| Some(Number::from(status.warnings.len())),
    ),
    gauge(
        "rivals",
        "",
        "Programs found that do a part of the same work.",
        |status| Some(Number::from(status.rivals.len())),
    ),
    gauges(
        "armed",
        "",
        "1 if a means was tried at the start and has its effect, 0 if it has not.",
        |status, points| {
            for means in &status.means {
                let armed = Number::from(means.is_armed);
                points.put_at(&[("means", &means.name)], armed);
            }
        },
    ),
];

/// What the guard does.
const ACTIONS: &[Family] = &[
    counter("writes", "", "Knobs set.", |status| {
        Some(Number::from(status.tally.writes))
    }),
    counter("put_back", "", "Knobs put back.", |status| {
        Some(Number::from(status.tally.put_back))
    }),
    counter("writes_refused", "", "Writes that failed.", |status| {
        Some(Number::from(status.tally.refused))
    }),
    counter("compactions", "", "Nodes compacted.", |status| {
        Some(Number::from(status.tally.compactions))
    }),
    counter("reclaims", "", "Proactive reclaims started.", |status| {
        Some(Number::from(status.tally.reclaims))
    }),
    counter(
        "asked_to_end",
        "",
        "Processes that the guard sent SIGTERM.",
        |status| Some(Number::from(status.tally.asked)),
    ),
    counter(
        "kills",
        "",
        "Processes that the guard killed (SIGKILL).",
        |status| Some(Number::from(status.tally.killed)),
    ),
    counter(
        "signals_missed",
        "",
        "Signals that could not be sent.",
        |status| Some(Number::from(status.tally.missed)),
    ),
    gauge(
        "signalled",
        "",
        "Processes that were signalled and have not ended yet.",
        |status| Some(Number::from(signalled(status))),
    ),
    gauge(
        "in_flight",
        "bytes",
        "Memory of signalled processes that is not free yet.",
        |status| known(outlook(status).map(|outlook| outlook.in_flight)),
    ),
    counter(
        "protections",
        "",
        "Files locked in memory or released, and watches of the page cache started or ended.",
        |status| Some(Number::from(status.tally.protections)),
    ),
    gauge(
        "protected",
        "bytes",
        "Memory of files that the guard holds locked.",
        |status| known(status.sample.warm.sums.held),
    ),
    gauge(
        "protection_watching",
        "",
        "1 while the guard watches what enters and leaves the page cache.",
        |status| known(status.sample.warm.sums.watching),
    ),
    gauge(
        "protected_files",
        "",
        "Files that the guard holds locked, in part or whole.",
        protected_files,
    ),
    counter(
        "page_cache_events",
        "",
        "Pages seen to enter or leave the page cache, since the watcher started.",
        |status| known(status.sample.warm.sums.events),
    ),
    counter(
        "page_cache_events_lost",
        "",
        "Pages that the watcher missed.",
        |status| known(status.sample.warm.sums.lost),
    ),
    counter(
        "limits_set",
        "",
        "Limits of cgroups set or put back.",
        |status| Some(Number::from(status.tally.cgroup_actions)),
    ),
    gauge(
        "kept_for_units",
        "bytes",
        "Memory that reclaim leaves to units (memory.min), set by the guard.",
        |status| Some(Number::from(status.sample.groups.kept())),
    ),
    gauge(
        "squeezed",
        "bytes",
        "Memory taken of squeezed units and not read again since.",
        |status| known(status.decision.forecast.squeezed),
    ),
    counter(
        "squeezed",
        "byte_seconds",
        "Memory taken of squeezed units and not read again, summed over time.",
        |status| Some(Number::from(status.tally.squeezed_seconds)),
    ),
    gauge(
        "contained_units",
        "",
        "Units that the guard throttles (memory.high).",
        |status| Some(Number::from(status.sample.groups.throttled.len())),
    ),
    gauge(
        "stopped_units",
        "",
        "Units that the guard has frozen until a user answers.",
        |status| Some(Number::from(frozen_units(status))),
    ),
    gauges(
        "recent_steps",
        "",
        "Steps in the decisions that the daemon remembers, by reason.",
        recent_steps,
    ),
    gauges(
        "knob",
        "",
        "A knob as the kernel says it is (now), as it was found, and as the guard last set it (ours).",
        knobs,
    ),
];

/// What the guard samples.
const MACHINE: &[Family] = &[
    counter(
        "allocation_stalls",
        "",
        "Allocations that reclaimed for themselves, since the daemon started.",
        |status| Some(Number::from(status.tally.allocation_stalls)),
    ),
    counter(
        "compaction_stalls",
        "",
        "Allocations that compacted for themselves, since the daemon started.",
        |status| Some(Number::from(status.tally.compaction_stalls)),
    ),
    counter(
        "stalled",
        "seconds",
        "Time in which some task stalled for memory, since the daemon started.",
        |status| Some(Number::from(status.tally.stalled)),
    ),
    counter(
        "refaults",
        "",
        "Pages refaulted, since the daemon started.",
        |status| Some(Number::from(status.tally.refaults)),
    ),
    counter(
        "oom_kills",
        "",
        "Processes that the kernel's OOM killer killed, since the daemon started.",
        |status| Some(Number::from(status.tally.oom_kills)),
    ),
    counters(
        "pressure_stall",
        "seconds",
        "Time in which some or all tasks stalled, since boot.",
        pressure_totals,
    ),
    counters(
        "reclaimed",
        "bytes",
        "Memory that reclaim took, since boot.",
        reclaimed,
    ),
    counters(
        "pages_refaulted",
        "",
        "Pages refaulted, since boot.",
        refaulted,
    ),
    gauge("memory_size", "bytes", "Usable memory.", |status| {
        known(status.sample.memory.total)
    }),
    gauge(
        "memory_free",
        "bytes",
        "Memory on the free lists.",
        |status| known(status.sample.memory.free),
    ),
    gauge(
        "memory_available",
        "bytes",
        "Memory available without swapping, by the kernel's estimate.",
        |status| known(status.sample.memory.available),
    ),
    gauge("swap_size", "bytes", "Size of all swap areas.", |status| {
        known(status.sample.memory.swap_total)
    }),
    gauge("swap_free", "bytes", "Unused swap.", |status| {
        known(status.sample.memory.swap_free)
    }),
    gauges(
        "zone_managed",
        "bytes",
        "Memory the page allocator manages.",
        |status, points| zones(status, points, |zone| zone.managed),
    ),
    gauges(
        "zone_free",
        "bytes",
        "Memory on the free lists of a zone.",
        |status, points| zones(status, points, |zone| zone.free),
    ),
    gauges(
        "zone_watermark_min",
        "bytes",
        "Below this, allocations reclaim for themselves.",
        |status, points| zones(status, points, |zone| zone.min),
    ),
    gauges(
        "zone_watermark_low",
        "bytes",
        "Below this, kswapd is woken.",
        |status, points| zones(status, points, |zone| zone.low),
    ),
    gauges(
        "zone_watermark_high",
        "bytes",
        "Above this, kswapd sleeps again.",
        |status, points| zones(status, points, |zone| zone.high),
    ),
    gauges(
        "zone_free_blocks",
        "",
        "Free blocks of 2^order pages.",
        free_blocks,
    ),
];

/// What the guard expects.
const FORECAST: &[Family] = &[
    gauge(
        "demand",
        "bytes_per_second",
        "Memory taken, whether or not reclaim made up for it.",
        |status| known(status.decision.forecast.demand),
    ),
    gauge(
        "peak_demand",
        "bytes_per_second",
        "Highest demand seen.",
        |status| Some(Number::from(status.tally.peak_demand)),
    ),
    gauge(
        "reclaim",
        "bytes_per_second",
        "What kswapd frees while it runs.",
        |status| known(status.decision.forecast.reclaim),
    ),
    gauge(
        "demand_quantile",
        "ratio",
        "Share of demand that the gap is sized for.",
        |status| known(status.decision.forecast.quantile),
    ),
    gauge(
        "gap",
        "bytes",
        "Low less min watermark, all zones.",
        |status| known(status.decision.forecast.gap),
    ),
    gauge(
        "gap_needed",
        "bytes",
        "The gap that demand calls for.",
        |status| known(status.decision.forecast.gap_needed),
    ),
    gauge(
        "gap_found",
        "bytes",
        "The gap when the daemon started.",
        |status| known(status.decision.forecast.gap_found),
    ),
    gauge(
        "withheld",
        "bytes",
        "By how much MemAvailable is lower because of the guard.",
        |status| known(status.decision.forecast.withheld),
    ),
    counter(
        "withheld",
        "byte_seconds",
        "Withheld memory, summed over time.",
        |status| Some(Number::from(status.tally.gap_seconds)),
    ),
    gauge(
        "until_min",
        "seconds",
        "When free memory reaches the min watermark, if it falls.",
        |status| known(status.decision.forecast.until_min),
    ),
    gauge(
        "room",
        "bytes",
        "Headroom for memory that cannot be reclaimed: free memory, cache above what is in use, swap.",
        |status| known(outlook(status).map(|outlook| outlook.headroom)),
    ),
    gauge(
        "cache_floor",
        "bytes",
        "File cache counted as in use, and so not as headroom.",
        |status| known(outlook(status).map(|outlook| outlook.floor)),
    ),
    gauge(
        "all_stalled",
        "ratio",
        "Share of the last seconds in which all tasks stalled for memory.",
        |status| known(outlook(status).and_then(|outlook| outlook.stalled)),
    ),
    gauge(
        "growth",
        "bytes_per_second",
        "How fast memory that cannot be reclaimed grows.",
        |status| known(outlook(status).map(|outlook| outlook.growth)),
    ),
    gauge(
        "room_left",
        "seconds",
        "When headroom is used up, at the growth of now.",
        |status| known(outlook(status).and_then(|outlook| outlook.left)),
    ),
    gauges(
        "exhaustion",
        "seconds",
        "When memory that cannot be reclaimed has taken all, if it grows.",
        exhaustion,
    ),
    gauges(
        "blocks_free",
        "",
        "Requests of an order that the free lists could serve: a huge page's, and those that tasks have waited for.",
        |status, points| by_order(status, points, |blocks| Some(blocks.free.into())),
    ),
    gauges(
        "blocks_needed",
        "",
        "Requests of that order expected within the horizon.",
        |status, points| by_order(status, points, |blocks| Some(blocks.needed.into())),
    ),
    gauges(
        "fragmentation",
        "ratio",
        "Share of free memory in blocks too small for that order.",
        |status, points| by_order(status, points, |blocks| known(blocks.fragmentation)),
    ),
];

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::Tune => "tune",
        Mode::Guard => "guard",
        Mode::Protect => "protect",
    }
}

fn predictor(predictor: Predictor) -> &'static str {
    match predictor {
        Predictor::BaseStock => "base-stock",
        Predictor::Classic => "classic",
    }
}

fn seconds_since_1970(Wall(milliseconds): Wall) -> Number {
    Number::Fraction(milliseconds as f64 / 1000.0)
}

/// `None` before the first sample.
fn sample_time(status: &Status) -> Option<Number> {
    let wall = status.sample.wall;
    if wall == Wall(0) {
        return None;
    }
    Some(seconds_since_1970(wall))
}

fn signalled(status: &Status) -> usize {
    let victims = status.sample.scan.victims.iter();
    victims.filter(|victim| victim.gone.is_none()).count()
}

fn frozen_units(status: &Status) -> usize {
    let frozen = status.sample.groups.frozen.iter();
    frozen.filter(|unit| unit.is_frozen()).count()
}

fn outlook(status: &Status) -> Option<&Outlook> {
    status.decision.forecast.outlook.as_ref()
}

fn by_order(status: &Status, points: &mut Points<'_>, value: fn(&BlockForecast) -> Option<Number>) {
    for blocks in status.decision.forecast.all_blocks() {
        points.put_at(&[("order", &blocks.order)], value(blocks));
    }
}

fn reclaimed(status: &Status, points: &mut Points<'_>) {
    let counters = &status.sample.counters;
    let takers = [
        ("kswapd", counters.pgsteal_kswapd),
        ("direct", counters.pgsteal_direct),
        ("khugepaged", counters.pgsteal_khugepaged),
        ("proactive", counters.pgsteal_proactive),
    ];
    for (by, pages) in takers {
        let page_size = status.facts.page_size;
        let bytes = pages.map(|pages| Pages::new(pages).to_bytes(page_size));
        points.put_at(&[("by", &by)], known(bytes));
    }
}

fn refaulted(status: &Status, points: &mut Points<'_>) {
    let counters = &status.sample.counters;
    points.put_at(
        &[("kind", &"anon")],
        known(counters.workingset_refault_anon),
    );
    points.put_at(
        &[("kind", &"file")],
        known(counters.workingset_refault_file),
    );
}

/// `None` as long as nothing is known to be held.
fn protected_files(status: &Status) -> Option<Number> {
    let warm = &status.sample.warm;
    warm.sums.held?;
    Some(Number::from(
        warm.files.iter().filter(|file| file.is_held()).count(),
    ))
}

fn knobs(status: &Status, points: &mut Points<'_>) {
    let states = &status.sample.knobs;
    for spec in KNOBS {
        for (value, values) in [
            ("now", &states.now),
            ("found", &states.found),
            ("ours", &states.ours),
        ] {
            let labels: [Label<'_>; 2] = [("knob", &spec.name), ("value", &value)];
            points.put_at(&labels, known(values.of(spec.knob)));
        }
    }
}

fn pressure_totals(status: &Status, points: &mut Points<'_>) {
    let sample = &status.sample;
    let resources: [(&str, &Pressure); 3] = [
        ("memory", &sample.memory_pressure),
        ("io", &sample.io_pressure),
        ("cpu", &sample.cpu_pressure),
    ];
    for (resource, pressure) in resources {
        for (share, total) in [("some", pressure.some_total), ("full", pressure.full_total)] {
            let labels: [Label<'_>; 2] = [("resource", &resource), ("share", &share)];
            points.put_at(&labels, known(total));
        }
    }
}

fn zones(status: &Status, points: &mut Points<'_>, amount: fn(&ZoneAmounts) -> Option<Pages>) {
    for zone in &status.sample.zones {
        let pages = amount(&zone.amounts);
        let bytes = pages.map(|pages| pages.to_bytes(status.facts.page_size));
        let kind = zone.kind.name();
        let labels: [Label<'_>; 2] = [("node", &zone.node), ("zone", &kind)];
        points.put_at(&labels, known(bytes));
    }
}

fn free_blocks(status: &Status, points: &mut Points<'_>) {
    for zone in &status.sample.zones {
        let kind = zone.kind.name();
        let orders = usize::from(zone.blocks.orders);
        for (order, count) in zone.blocks.counts.iter().take(orders).enumerate() {
            let labels: [Label<'_>; 3] = [("node", &zone.node), ("zone", &kind), ("order", &order)];
            points.put_at(&labels, Number::from(*count));
        }
    }
}

fn exhaustion(status: &Status, points: &mut Points<'_>) {
    let Some(exhaustion) = status.decision.forecast.exhaustion else {
        return;
    };
    points.put_at(
        &[("estimate", &"earliest")],
        Number::from(exhaustion.earliest),
    );
    points.put_at(
        &[("estimate", &"expected")],
        Number::from(exhaustion.expected),
    );
    points.put_at(&[("estimate", &"latest")], known(exhaustion.latest));
}

fn recent_steps(status: &Status, points: &mut Points<'_>) {
    for name in REASON_KINDS {
        let steps = status.past.iter().flat_map(|past| &past.steps);
        let count = steps.filter(|step| kind(&step.why) == *name).count();
        if count > 0 {
            points.put_at(&[("reason", name)], Number::from(count));
        }
    }
}

macro_rules! kinds {
    ($($variant:ident $name:literal;)*) => {
        /// The kinds of reasons, by their names in a recording.
        const REASON_KINDS: &[&str] = &[$($name),*];

        fn kind(reason: &Reason) -> &'static str {
            match reason {
                $(Reason::$variant { .. } => $name,)*
            }
        }
    };
}

kinds! {
    Demand "demand";
    Stalls "stalls";
    Quiet "quiet";
    Refaults "refaults";
    Thrash "thrash";
    ReadAgain "read-again";
    RunsOut "runs-out";
    Worse "worse";
    BoostKept "boost-kept";
    Budget "budget";
    Resized "resized";
    Blocks "blocks";
    BlocksEnough "blocks-enough";
    Ahead "ahead";
    NegativeDentries "negative-dentries";
    ObjectCache "object-cache";
    Configured "configured";
    Balance "balance";
    ReadAhead "read-ahead";
    Unused "unused";
    Lags "lags";
    NearOom "verge";
    ClassicReclaim "classic-reclaim";
    ClassicCompaction "classic-compaction";
    ClassicRising "classic-rising";
    Runaway "runaway";
    Family "family";
    Again "again";
    Contributes "contributes";
    SigtermIgnored "deaf";
    Hopeless "hopeless";
    Fills "fills";
    AtLimit "pushes";
    Eased "eased";
    AskUser "ask";
    Answered "answered";
    Unanswered "unanswered";
    StillShort "still-short";
    Protect "protect";
    Stop "stop";
}

#[cfg(test)]
mod tests;
