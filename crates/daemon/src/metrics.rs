//! What the daemon exports: one row of `FAMILIES` for each metric, from one [`Status`].
//!
//! To add a metric: a row. Its name gets the prefix, the unit and the suffix of its kind by itself.
//! An unknown value gives no line, never a zero. Labels are the machine's own small sets (node,
//! zone, order, knob) or ours (phase, reason), so a machine has a few hundred lines at most.

mod text;

pub use text::Dialect;

use pressure::config::{Mode, Predictor};
use pressure::decision::{Phase, Reason};
use pressure::knob::KNOBS;
use pressure::sample::{Pressure, Wall, Zone, ZoneAmounts};
use pressure::status::Status;
use text::{Head, Kind, Number, Points};
use units::{Bytes, Pages};

/// Appends all metrics of `status` to `out`. Cost: some 10 µs and 100 bytes a line.
pub fn exposition(status: &Status, dialect: Dialect, out: &mut String) {
    for (head, read) in FAMILIES {
        read(status, &mut Points::new(*head, dialect, out));
    }
    if dialect == Dialect::OpenMetrics {
        out.push_str("# EOF\n");
    }
}

type Family = (Head, fn(&Status, &mut Points<'_>));

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Head {
    Head {
        name,
        kind: Kind::Gauge,
        unit,
        help,
    }
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Head {
    Head {
        name,
        kind: Kind::Counter,
        unit,
        help,
    }
}

const fn states(name: &'static str, help: &'static str) -> Head {
    Head {
        name,
        kind: Kind::States,
        unit: "",
        help,
    }
}

const fn info(name: &'static str, help: &'static str) -> Head {
    Head {
        name,
        kind: Kind::Info,
        unit: "",
        help,
    }
}

fn known<T: Into<Number>>(value: Option<T>) -> Option<Number> {
    value.map(Into::into)
}

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    // The guard.
    (info("build", "The running daemon."), |s, p| p.put_at(&[("version", &s.version)], Number::Whole(1))),
    (info("machine", "What it runs on."), |s, p| p.put_at(&[("kernel", &s.facts.kernel)], Number::Whole(1))),
    (gauge("start_time", "seconds", "When the daemon started, since 1970."), |s, p| p.put(Number::Fraction(s.started.0 as f64 / 1000.0))),
    (gauge("sample_timestamp", "seconds", "When the last sample was taken, since 1970."), |s, p| p.put(taken(s))),
    (states("mode", "What the daemon may do."), |s, p| p.states(&["observe", "tune", "guard", "protect"], mode(s.mode))),
    (states("predictor", "How the gap is found."), |s, p| p.states(&["base-stock", "classic"], predictor(s.predictor))),
    (gauge("only_observes", "", "1 if something forbids the writes the mode allows."), |s, p| p.put(Number::from(s.only_observes.is_some()))),
    (states("phase", "What the guard is doing."), |s, p| p.states(&Phase::ALL.map(Phase::name), s.decision.phase.name())),
    (counter("samples", "", "Samples taken."), |s, p| p.put(Number::from(s.tally.samples))),
    (counter("lost_samples", "", "Samples missing from the recording."), |s, p| p.put(Number::from(s.tally.lost_samples))),
    (counter("pressure_wakeups", "", "Wake-ups by a pressure trigger."), |s, p| p.put(Number::from(s.tally.pressure_wakeups))),
    (gauge("patience", "seconds", "Time until the next sample, unless pressure wakes the guard first."), |s, p| p.put(Number::from(s.decision.patience))),
    (counter("own_cpu", "seconds", "Processor time of the daemon."), |s, p| p.put(Number::from(s.tally.own_cpu))),
    (gauge("own_resident", "bytes", "Resident memory of the daemon."), |s, p| p.put(Number::from(s.tally.own_memory))),
    (gauge("troubles", "", "Files that cannot be read and knobs that refused."), |s, p| p.put(Number::from(s.warnings.len()))),
    (gauge("rivals", "", "Programs found that do a part of the same work."), |s, p| p.put(Number::from(s.rivals.len()))),
    // What it does.
    (counter("writes", "", "Knobs set."), |s, p| p.put(Number::from(s.tally.writes))),
    (counter("put_back", "", "Knobs put back."), |s, p| p.put(Number::from(s.tally.put_back))),
    (counter("writes_refused", "", "Writes that failed."), |s, p| p.put(Number::from(s.tally.refused))),
    (counter("compactions", "", "Nodes compacted."), |s, p| p.put(Number::from(s.tally.compactions))),
    (counter("reclaims", "", "Proactive reclaims started."), |s, p| p.put(Number::from(s.tally.reclaims))),
    (counter("asked_to_end", "", "Processes that the guard asked to end (SIGTERM)."), |s, p| p.put(Number::from(s.tally.asked))),
    (counter("kills", "", "Processes that the guard killed (SIGKILL)."), |s, p| p.put(Number::from(s.tally.killed))),
    (counter("signals_missed", "", "Signals that could not be sent."), |s, p| p.put(Number::from(s.tally.missed))),
    (gauge("signalled", "", "Processes that were signalled and are not gone yet."), |s, p| p.put(Number::from(s.sample.scan.victims.iter().filter(|victim| victim.gone.is_none()).count()))),
    (gauge("in_flight", "bytes", "Memory of signalled processes, on its way back."), |s, p| p.put(known(s.decision.forecast.outlook.map(|outlook| outlook.in_flight)))),
    (counter("protections", "", "Files held in memory or let go, and watches of the page cache begun or ended."), |s, p| p.put(Number::from(s.tally.protections))),
    (gauge("protected", "bytes", "Memory of files that the guard holds locked."), |s, p| p.put(known(s.sample.warm.sums.held))),
    (gauge("protection_watching", "", "1 while the kernel tells what enters and leaves its page cache."), |s, p| p.put(known(s.sample.warm.sums.watching))),
    (gauge("protected_files", "", "Files that the guard holds locked, in part or whole."), protected_files),
    (counter("page_cache_events", "", "Pages heard of that entered or left the page cache, since the watcher started."), |s, p| p.put(known(s.sample.warm.sums.events))),
    (counter("page_cache_events_lost", "", "Such events that the watcher came too late for."), |s, p| p.put(known(s.sample.warm.sums.lost))),
    (counter("limits_set", "", "Limits of control groups set or put back."), |s, p| p.put(Number::from(s.tally.cgroup_actions))),
    (gauge("kept_for_units", "bytes", "Memory that reclaim leaves to units (memory.min), by the guard."), kept_for_units),
    (gauge("contained_units", "", "Units that may not take more (memory.high), by the guard."), |s, p| p.put(Number::from(s.sample.groups.throttled.len()))),
    (gauge("stopped_units", "", "Units that stand still until a person has answered, by the guard."), |s, p| p.put(Number::from(s.sample.groups.frozen.iter().filter(|one| one.is_frozen()).count()))),
    (gauge("recent_steps", "", "Steps in the decisions that the daemon remembers, by reason."), recent_steps),
    (gauge("knob", "", "A knob as the kernel says it is (now), as it was found, and as the guard last set it (ours)."), knobs),
    // What it sees.
    (counter("allocation_stalls", "", "Allocations that reclaimed for themselves, since the daemon started."), |s, p| p.put(Number::from(s.tally.allocation_stalls))),
    (counter("compaction_stalls", "", "Allocations that compacted for themselves, since the daemon started."), |s, p| p.put(Number::from(s.tally.compaction_stalls))),
    (counter("stalled", "seconds", "Time in which some task stalled for memory, since the daemon started."), |s, p| p.put(Number::from(s.tally.stalled))),
    (counter("refaults", "", "Pages read again after eviction, since the daemon started."), |s, p| p.put(Number::from(s.tally.refaults))),
    (counter("oom_kills", "", "Processes the kernel killed for want of memory, since the daemon started."), |s, p| p.put(Number::from(s.tally.oom_kills))),
    (counter("pressure_stall", "seconds", "Time in which some or all tasks stalled, since boot."), pressure_totals),
    (counter("reclaimed", "bytes", "Memory that reclaim took, since boot."), reclaimed),
    (counter("pages_refaulted", "", "Pages read again after eviction, since boot."), refaulted),
    (gauge("memory_size", "bytes", "Usable memory."), |s, p| p.put(known(s.sample.memory.total))),
    (gauge("memory_free", "bytes", "Memory on the free lists."), |s, p| p.put(known(s.sample.memory.free))),
    (gauge("memory_available", "bytes", "What can be had without swapping, by the kernel's estimate."), |s, p| p.put(known(s.sample.memory.available))),
    (gauge("swap_size", "bytes", "Size of all swap areas."), |s, p| p.put(known(s.sample.memory.swap_total))),
    (gauge("swap_free", "bytes", "Unused swap."), |s, p| p.put(known(s.sample.memory.swap_free))),
    (gauge("zone_managed", "bytes", "Memory the page allocator manages."), |s, p| zones(s, p, |z| z.managed)),
    (gauge("zone_free", "bytes", "Memory on the free lists of a zone."), |s, p| zones(s, p, |z| z.free)),
    (gauge("zone_watermark_min", "bytes", "Below this, allocations reclaim for themselves."), |s, p| zones(s, p, |z| z.min)),
    (gauge("zone_watermark_low", "bytes", "Below this, kswapd is woken."), |s, p| zones(s, p, |z| z.low)),
    (gauge("zone_watermark_high", "bytes", "Above this, kswapd sleeps again."), |s, p| zones(s, p, |z| z.high)),
    (gauge("zone_free_blocks", "", "Free blocks of 2^order pages."), free_blocks),
    // What it expects.
    (gauge("demand", "bytes_per_second", "Pages taken, whether or not reclaim made up for them."), |s, p| p.put(known(s.decision.forecast.demand))),
    (gauge("peak_demand", "bytes_per_second", "Highest demand seen."), |s, p| p.put(Number::from(s.tally.peak_demand))),
    (gauge("reclaim", "bytes_per_second", "What kswapd frees while it runs."), |s, p| p.put(known(s.decision.forecast.reclaim))),
    (gauge("demand_quantile", "ratio", "Share of demand that the gap is sized for."), |s, p| p.put(known(s.decision.forecast.quantile))),
    (gauge("gap", "bytes", "Low less min watermark, all zones."), |s, p| p.put(known(s.decision.forecast.gap))),
    (gauge("gap_needed", "bytes", "The gap that demand calls for."), |s, p| p.put(known(s.decision.forecast.gap_needed))),
    (gauge("gap_found", "bytes", "The gap when the daemon started."), |s, p| p.put(known(s.decision.forecast.gap_found))),
    (gauge("withheld", "bytes", "By how much MemAvailable is lower because of the guard."), |s, p| p.put(known(s.decision.forecast.withheld))),
    (counter("withheld", "byte_seconds", "Withheld memory, summed over time."), |s, p| p.put(Number::from(s.tally.gap_seconds))),
    (gauge("until_min", "seconds", "When free memory reaches the min watermark, if it falls."), |s, p| p.put(known(s.decision.forecast.until_min))),
    (gauge("room", "bytes", "Room for memory that cannot be given back: free, cache above what is in use, swap."), |s, p| p.put(known(s.decision.forecast.outlook.map(|outlook| outlook.headroom)))),
    (gauge("cache_floor", "bytes", "File cache counted as in use, and so not as room."), |s, p| p.put(known(s.decision.forecast.outlook.map(|outlook| outlook.floor)))),
    (gauge("all_stalled", "ratio", "Share of the last seconds in which all tasks stalled for memory."), |s, p| p.put(known(s.decision.forecast.outlook.and_then(|outlook| outlook.stalled)))),
    (gauge("growth", "bytes_per_second", "How fast memory that cannot be given back grows."), |s, p| p.put(known(s.decision.forecast.outlook.map(|outlook| outlook.growth)))),
    (gauge("room_left", "seconds", "When room is used up, if it goes on so."), |s, p| p.put(known(s.decision.forecast.outlook.and_then(|outlook| outlook.left)))),
    (gauge("exhaustion", "seconds", "When memory that reclaim cannot free runs out, if it grows."), exhaustion),
    (gauge("blocks_free", "", "Requests of a huge page's order that the free lists could serve."), |s, p| p.put(known(s.decision.forecast.blocks.map(|blocks| blocks.free)))),
    (gauge("blocks_needed", "", "Requests of a huge page's order expected within the horizon."), |s, p| p.put(known(s.decision.forecast.blocks.map(|blocks| blocks.needed)))),
    (gauge("fragmentation", "ratio", "Share of free memory in blocks too small for a huge page."), |s, p| p.put(known(s.decision.forecast.blocks.and_then(|blocks| blocks.fragmentation)))),
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

/// Before the first sample there is no time of it.
fn taken(status: &Status) -> Option<Number> {
    let Wall(millis) = status.sample.wall;
    (millis != 0).then(|| Number::Fraction(millis as f64 / 1000.0))
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
        let bytes = pages.map(|pages| Pages::new(pages).to_bytes(status.facts.page_size));
        points.put_at(&[("by", &by)], known(bytes));
    }
}

fn refaulted(status: &Status, points: &mut Points<'_>) {
    let counters = &status.sample.counters;
    for (kind, pages) in [
        ("anon", counters.workingset_refault_anon),
        ("file", counters.workingset_refault_file),
    ] {
        points.put_at(&[("kind", &kind)], known(pages));
    }
}

fn protected_files(status: &Status, points: &mut Points<'_>) {
    let warm = &status.sample.warm;
    points.put(
        warm.sums
            .held
            .map(|_| Number::from(warm.files.iter().filter(|file| file.is_held()).count())),
    );
}

fn kept_for_units(status: &Status, points: &mut Points<'_>) {
    let kept: Bytes = status
        .sample
        .groups
        .protected
        .iter()
        .filter_map(|cgroup| cgroup.ours)
        .sum();
    points.put(Number::from(kept));
}

fn knobs(status: &Status, points: &mut Points<'_>) {
    let states = &status.sample.knobs;
    for spec in KNOBS {
        for (value, values) in [
            ("now", &states.now),
            ("found", &states.found),
            ("ours", &states.ours),
        ] {
            points.put_at(
                &[("knob", &spec.name), ("value", &value)],
                known(values.of(spec.knob)),
            );
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
            points.put_at(&[("resource", &resource), ("share", &share)], known(total));
        }
    }
}

fn zones(status: &Status, points: &mut Points<'_>, amount: fn(&ZoneAmounts) -> Option<Pages>) {
    for zone in &status.sample.zones {
        let bytes: Option<Bytes> =
            amount(&zone.amounts).map(|pages| pages.to_bytes(status.facts.page_size));
        points.put_at(
            &[("node", &zone.node), ("zone", &zone.kind.name())],
            known(bytes),
        );
    }
}

fn free_blocks(status: &Status, points: &mut Points<'_>) {
    for Zone {
        node, kind, blocks, ..
    } in &status.sample.zones
    {
        let orders = blocks.counts.iter().take(blocks.orders.into()).enumerate();
        for (order, count) in orders {
            let labels: [text::Label<'_>; 3] =
                [("node", node), ("zone", &kind.name()), ("order", &order)];
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
    let reasons = || {
        status
            .past
            .iter()
            .flat_map(|past| &past.steps)
            .map(|step| kind(&step.why))
    };
    for kind in KINDS {
        let count = reasons().filter(|reason| reason == kind).count();
        points.put_at(
            &[("reason", kind)],
            (count > 0).then(|| Number::from(count)),
        );
    }
}

macro_rules! kinds {
    ($($variant:ident $name:literal;)*) => {
        /// The kinds of reasons, as they are recorded.
        const KINDS: &[&str] = &[$($name),*];

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
    Lags "lags";
    NearOom "verge";
    ClassicReclaim "classic-reclaim";
    ClassicCompaction "classic-compaction";
    ClassicRising "classic-rising";
    Runaway "runaway";
    SigtermIgnored "deaf";
    Hopeless "hopeless";
    Fills "fills";
    AtLimit "pushes";
    Eased "eased";
    AskUser "ask";
    Answered "answered";
    Unanswered "unanswered";
    StillShort "still-short";
    Watermark "watermark";
    Protect "protect";
    Stop "stop";
}

#[cfg(test)]
mod tests;
