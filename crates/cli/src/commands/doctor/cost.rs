//! What memory pressure has cost since boot: all of it from one sample.

use crate::ui::text::{Page, counted};
use pressure::rates::{allocation_stalls, refaults};
use pressure::sample::{Facts, Sample};
use serde::Serialize;
use units::{Bytes, Micros, Pages, Percent, Span};

/// Since boot; `None` is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cost {
    /// Time since boot.
    uptime: Span,
    /// Time in which some task waited for memory.
    some_stalled: Option<Micros>,
    /// Time in which all of them did.
    all_stalled: Option<Micros>,
    /// Allocations that reclaimed for themselves.
    allocation_stalls: Option<u64>,
    /// Allocations that compacted for themselves.
    compaction_stalls: Option<u64>,
    /// Pages read again after eviction.
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
        let time = |spent: Option<Micros>| match spent {
            None => "unknown".to_owned(),
            Some(spent) => format!("{spent}{}", self.share(spent)),
        };
        let number = |count: Option<u64>, one: &str, many: &str| {
            count.map_or_else(
                || format!("unknown {many}"),
                |count| counted(count, one, many),
            )
        };
        let bytes = |bytes: Option<Bytes>| {
            bytes.map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string())
        };
        page.entry(
            "waited",
            format!(
                "some task {}; all tasks {}",
                time(self.some_stalled),
                time(self.all_stalled)
            ),
        );
        let reclaimed = number(self.allocation_stalls, "allocation", "allocations");
        let compacted = self
            .compaction_stalls
            .map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        page.entry(
            "stalled",
            format!("{reclaimed} reclaimed for themselves, {compacted} compacted"),
        );
        let pages = number(self.refaults, "page", "pages");
        page.entry(
            "refaults",
            format!(
                "{pages} read again after eviction, {} in all",
                bytes(self.refaulted)
            ),
        );
        page.entry(
            "swap",
            format!(
                "{} in, {} out",
                bytes(self.swapped_in),
                bytes(self.swapped_out)
            ),
        );
        page.entry(
            "killed",
            format!(
                "{} for want of memory",
                number(self.oom_kills, "process", "processes")
            ),
        );
    }

    /// ` (0.5 % of the time)`.
    fn share(&self, spent: Micros) -> String {
        let micros = u64::try_from(self.uptime.get().as_micros()).unwrap_or(u64::MAX);
        Percent::ratio(spent.get(), micros)
            .map(|share| format!(" ({share} of the time)"))
            .unwrap_or_default()
    }
}
