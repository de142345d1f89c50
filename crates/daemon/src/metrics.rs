//! The guard in numbers, as Prometheus reads them.
//!
//! One row of `SCALARS` is one metric without labels; those with labels are written by `labelled`. An unknown
//! value gives no line: absent is not zero. Names, units and labels do not change between versions.

use pressure::decision::Phase;
use pressure::knob::KNOBS;
use pressure::status::Status;
use std::fmt::Write;
use units::{Bytes, Micros, Pages};

/// What the reader expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenMetrics 1.0, as the socket answers.
    OpenMetrics,
    /// The older text format, as textfile collectors read it.
    Prometheus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
}

struct Scalar {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    value: fn(&Status) -> Option<f64>,
}

const fn gauge(name: &'static str, help: &'static str, value: fn(&Status) -> Option<f64>) -> Scalar {
    Scalar { name, kind: Kind::Gauge, help, value }
}

const fn counter(name: &'static str, help: &'static str, value: fn(&Status) -> Option<f64>) -> Scalar {
    Scalar { name, kind: Kind::Counter, help, value }
}

fn bytes(amount: Option<Bytes>) -> Option<f64> {
    amount.map(|amount| amount.get() as f64)
}

fn seconds(time: Option<Micros>) -> Option<f64> {
    time.map(|time| time.get() as f64 / 1e6)
}

#[allow(clippy::unnecessary_wraps, reason = "the table's values may be unknown")]
fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// Metrics without labels. To add one: a line here.
const SCALARS: &[Scalar] = &[
    counter("warmset_samples", "Samples taken", |s| count(s.tally.samples)),
    counter("warmset_pressure_wakeups", "Wake-ups by a pressure trigger", |s| count(s.tally.pressure_wakeups)),
    counter("warmset_writes", "Knobs set", |s| count(s.tally.writes)),
    counter("warmset_put_back", "Knobs put back", |s| count(s.tally.put_back)),
    counter("warmset_refused", "Writes that failed", |s| count(s.tally.refused)),
    counter("warmset_compactions", "Compactions of a node asked for", |s| count(s.tally.compactions)),
    counter("warmset_reclaims", "Proactive reclaims asked for", |s| count(s.tally.reclaims)),
    counter("warmset_allocation_stalls", "Allocations that reclaimed for themselves since start", |s| {
        count(s.tally.allocation_stalls)
    }),
    counter("warmset_compaction_stalls", "Allocations that compacted for themselves since start", |s| {
        count(s.tally.compaction_stalls)
    }),
    counter("warmset_refaults", "Pages read again after eviction since start", |s| count(s.tally.refaults)),
    counter("warmset_oom_kills", "Processes killed by the kernel since start", |s| count(s.tally.oom_kills)),
    counter("warmset_lost_samples", "Samples that the recording missed", |s| count(s.tally.lost_samples)),
    counter("warmset_withheld_byte_seconds", "Withheld memory, summed over time", |s| count(s.tally.gap_seconds)),
    counter("warmset_own_cpu_seconds", "Processor time of the daemon", |s| seconds(Some(s.tally.own_cpu))),
    gauge("warmset_own_resident_bytes", "Resident memory of the daemon", |s| bytes(Some(s.tally.own_memory))),
    gauge("warmset_demand_bytes_per_second", "Gross demand for memory at the last sample", |s| {
        s.decision.forecast.demand.map(|rate| rate.get() as f64)
    }),
    gauge("warmset_reclaim_bytes_per_second", "What kswapd frees while it runs", |s| {
        s.decision.forecast.reclaim.map(|rate| rate.get() as f64)
    }),
    gauge("warmset_gap_bytes", "Low less min watermark, all zones", |s| bytes(s.decision.forecast.gap)),
    gauge("warmset_gap_found_bytes", "The same as it was found", |s| bytes(s.decision.forecast.gap_found)),
    gauge("warmset_gap_needed_bytes", "What demand calls for, before the budget", |s| {
        bytes(s.decision.forecast.gap_needed)
    }),
    gauge("warmset_withheld_bytes", "How much lower MemAvailable is because of us", |s| {
        bytes(s.decision.forecast.withheld)
    }),
    gauge("warmset_exhaustion_seconds", "Expected time until unreclaimable memory fills memory and swap", |s| {
        s.decision.forecast.exhaustion.map(|exhaustion| exhaustion.expected.get().as_secs_f64())
    }),
    gauge("warmset_exhaustion_earliest_seconds", "Lower bound of that time", |s| {
        s.decision.forecast.exhaustion.map(|exhaustion| exhaustion.earliest.get().as_secs_f64())
    }),
    gauge("warmset_huge_blocks_free", "Requests for huge pages that could be served", |s| {
        s.decision.forecast.blocks.map(|blocks| blocks.free as f64)
    }),
    gauge("warmset_huge_blocks_needed", "Requests for huge pages expected", |s| {
        s.decision.forecast.blocks.map(|blocks| blocks.needed as f64)
    }),
    gauge("warmset_memory_total_bytes", "Memory of the machine", |s| bytes(s.sample.memory.total)),
    gauge("warmset_memory_available_bytes", "Memory that can be had without swapping", |s| {
        bytes(s.sample.memory.available)
    }),
    gauge("warmset_swap_total_bytes", "Swap", |s| bytes(s.sample.memory.swap_total)),
    gauge("warmset_swap_free_bytes", "Unused swap", |s| bytes(s.sample.memory.swap_free)),
    counter("warmset_memory_stalled_seconds", "Time in which some task stalled for memory, since boot", |s| {
        seconds(s.sample.memory_pressure.some_total)
    }),
    counter("warmset_memory_stalled_fully_seconds", "Time in which all tasks stalled for memory, since boot", |s| {
        seconds(s.sample.memory_pressure.full_total)
    }),
    gauge("warmset_troubles", "Files that cannot be read and knobs that refused", |s| count(s.troubles.len() as u64)),
    gauge("warmset_rivals", "Programs and settings found that do a part of the same work", |s| {
        count(s.rivals.len() as u64)
    }),
];

/// Writes all metrics of `status` to the end of `out`.
pub fn exposition(status: &Status, dialect: Dialect, out: &mut String) {
    let mut page = Page { out, dialect };
    for scalar in SCALARS {
        if let Some(value) = (scalar.value)(status) {
            page.family(scalar.name, scalar.kind, scalar.help);
            page.line(scalar.name, scalar.kind, &[], value);
        }
    }
    labelled(status, &mut page);
    if dialect == Dialect::OpenMetrics {
        page.out.push_str("# EOF\n");
    }
}

const BUILD: &str = "warmset_build";
const PHASE: &str = "warmset_phase";
const KNOB: &str = "warmset_knob";
const ZONE: &str = "warmset_zone_bytes";

fn labelled(status: &Status, page: &mut Page<'_>) {
    page.family(BUILD, Kind::Gauge, "Version of the daemon and release of the kernel; always 1");
    page.line(BUILD, Kind::Gauge, &[("version", &status.version), ("kernel", &status.facts.kernel)], 1.0);
    page.family(PHASE, Kind::Gauge, "1 for the state the guard is in");
    for phase in Phase::ALL {
        page.line(PHASE, Kind::Gauge, &[("phase", phase.name())], f64::from(u8::from(phase == status.decision.phase)));
    }
    page.family(KNOB, Kind::Gauge, "Knobs: now, as found, and as we set them");
    for spec in KNOBS {
        let knobs = &status.sample.knobs;
        for (state, values) in [("now", &knobs.now), ("found", &knobs.found), ("ours", &knobs.ours)] {
            if let Some(value) = values.of(spec.knob) {
                page.line(KNOB, Kind::Gauge, &[("knob", spec.name), ("state", state)], value as f64);
            }
        }
    }
    page.family(ZONE, Kind::Gauge, "Free memory and watermarks of a zone");
    for zone in &status.sample.zones {
        let node = zone.node.to_string();
        let a = &zone.amounts;
        for (mark, pages) in
            [("free", a.free), ("min", a.min), ("low", a.low), ("high", a.high), ("managed", a.managed)]
        {
            if let Some(value) = pages.map(|pages: Pages| pages.to_bytes(status.facts.page_size).get() as f64) {
                let labels = [("node", node.as_str()), ("zone", zone.kind.name()), ("mark", mark)];
                page.line(ZONE, Kind::Gauge, &labels, value);
            }
        }
    }
}

struct Page<'o> {
    out: &'o mut String,
    dialect: Dialect,
}

impl Page<'_> {
    /// The name of a counter's family ends in `_total` only in the older format.
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let (suffix, kind) = match (kind, self.dialect) {
            (Kind::Gauge, _) => ("", "gauge"),
            (Kind::Counter, Dialect::OpenMetrics) => ("", "counter"),
            (Kind::Counter, Dialect::Prometheus) => ("_total", "counter"),
        };
        let _ = write!(self.out, "# TYPE {name}{suffix} {kind}\n# HELP {name}{suffix} {help}\n");
    }

    fn line(&mut self, name: &str, kind: Kind, labels: &[(&str, &str)], value: f64) {
        self.out.push_str(name);
        if kind == Kind::Counter {
            self.out.push_str("_total");
        }
        for (index, (label, text)) in labels.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{open}{label}=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    other => self.out.push(other),
                }
            }
            self.out.push('"');
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.out, "{close} {value}");
    }
}
