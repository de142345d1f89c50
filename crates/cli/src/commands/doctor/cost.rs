//! What memory pressure has cost since boot, from one sample.

use crate::ui::text::{Page, counted, or_unknown};
use pressure::rates::{allocation_stalls, refaults};
use pressure::sample::{Facts, Sample};
use serde::Serialize;
use units::{Bytes, Micros, Pages, Percent, Span};

/// Counted since boot; `None` is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cost {
    /// Time since boot.
    uptime: Span,
    /// Time in which at least one task waited for memory.
    some_stalled: Option<Micros>,
    /// Time in which all tasks waited for memory.
    all_stalled: Option<Micros>,
    /// Allocations that reclaimed for themselves.
    allocation_stalls: Option<u64>,
    /// Allocations that compacted for themselves.
    compaction_stalls: Option<u64>,
    /// Number of refaulted pages.
    refaults: Option<u64>,
    refaulted: Option<Bytes>,
    swapped_in: Option<Bytes>,
    swapped_out: Option<Bytes>,
    oom_kills: Option<u64>,
}

impl Cost {
    pub(super) fn of(sample: &Sample, facts: &Facts) -> Self {
        let counters = &sample.counters;
        let bytes = |pages: u64| Pages::new(pages).to_bytes(facts.page_size);
        Self {
            uptime: sample.at,
            some_stalled: sample.memory_pressure.some_total,
            all_stalled: sample.memory_pressure.full_total,
            allocation_stalls: allocation_stalls(counters),
            compaction_stalls: counters.compact_stall,
            refaults: refaults(counters),
            refaulted: refaults(counters).map(bytes),
            swapped_in: counters.pswpin.map(bytes),
            swapped_out: counters.pswpout.map(bytes),
            oom_kills: counters.oom_kill,
        }
    }

    pub(super) fn show(&self, page: &mut Page) {
        page.heading(&format!(
            "What memory pressure has cost since boot, {} ago",
            self.uptime
        ));
        let some = self.time(self.some_stalled);
        let all = self.time(self.all_stalled);
        page.entry("waited", format!("some task {some}; all tasks {all}"));
        let reclaimed = number(self.allocation_stalls, "allocation", "allocations");
        let compacted = or_unknown(self.compaction_stalls);
        page.entry(
            "stalled",
            format!("{reclaimed} reclaimed for themselves, {compacted} compacted"),
        );
        let pages = number(self.refaults, "page", "pages");
        let bytes = or_unknown(self.refaulted);
        page.entry("refaults", format!("{pages} refaulted, {bytes} in all"));
        let swapped_in = or_unknown(self.swapped_in);
        let swapped_out = or_unknown(self.swapped_out);
        page.entry("swap", format!("{swapped_in} in, {swapped_out} out"));
        let killed = number(self.oom_kills, "process", "processes");
        page.entry(
            "killed",
            format!("{killed} by the kernel, because memory ran out"),
        );
    }

    /// `36.3 s (0.5 % of the time)`.
    fn time(&self, spent: Option<Micros>) -> String {
        match spent {
            Some(spent) => format!("{spent}{}", self.share(spent)),
            None => "unknown".to_owned(),
        }
    }

    /// ` (0.5 % of the time)`.
    fn share(&self, spent: Micros) -> String {
        let micros = u64::try_from(self.uptime.get().as_micros()).unwrap_or(u64::MAX);
        Percent::ratio(spent.get(), micros)
            .map(|share| format!(" ({share} of the time)"))
            .unwrap_or_default()
    }
}

/// `2 pages`, or `unknown pages`.
fn number(count: Option<u64>, one: &str, many: &str) -> String {
    match count {
        Some(count) => counted(count, one, many),
        None => format!("unknown {many}"),
    }
}
