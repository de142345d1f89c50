//! Free blocks ahead of requests for huge pages, in two steps.
//!
//! (1) Let the kernel's background compaction work harder (`vm.compaction_proactiveness`). (2) When that
//! is at its limit and blocks are still short, compact one node in a worker, at most once per interval.
//! Both are to avoid the kernel's direct compaction.
//!
//! - Law: need `= Q₀.₉₅(requests per horizon)`, doubled while requests fail; supply `= Σ_{k≥o} n_k·2^(k−o)`.
//! - Source: `mm/compaction.c`, `extfrag_for_order`, `proactive_compact_node`.
//! - Limit: without free memory there is nothing to compact, so nothing is done.

use super::draft::Draft;
use crate::decision::{Action, BlockForecast, Reason};
use crate::knob::Knob;
use std::time::Duration;
use units::{Pages, Percent};

const KNOB: Knob = Knob::CompactionProactiveness;
/// Share of horizons in which all requests are to be served without compaction. More compacts for rare
/// peaks; less leaves them to direct compaction.
const SHARE: f64 = 0.95;
/// One step of proactiveness: the kernel's default.
const STEP: u64 = 20;
/// Time without a failed request before the knob is put back.
const QUIET: Duration = Duration::from_secs(60);

impl Draft<'_> {
    /// Forecasts blocks and takes one step if they are short.
    pub(super) fn blocks(&mut self) {
        let Some(order) = self.history.pmd_order else {
            return;
        };
        let free: Option<u64> = self
            .sample
            .zones
            .iter()
            .map(|zone| zone.blocks.suitable(order))
            .sum();
        let Some(free) = free else { return };
        let needed = self.blocks_needed();
        let fragmentation = self.fragmentation(order);
        self.forecast.blocks = Some(BlockForecast {
            order,
            free,
            needed,
            fragmentation,
        });
        if !self.config.compaction.enabled {
            return;
        }
        if needed > free {
            self.add_blocks(order, free, needed);
        } else if self.sample.knobs.ours.of(KNOB).is_some()
            && self.unfragmented_for() >= QUIET
            && free >= 2 * needed
        {
            self.release(KNOB, Reason::BlocksEnough { order, free });
        }
    }

    /// Requests expected within the horizon, doubled while requests fail.
    fn blocks_needed(&self) -> u64 {
        let latest = &self.history.latest;
        let requests = self.history.requests.quantile(SHARE).unwrap_or(0);
        if latest.huge_failures > 0 || latest.compaction_stalls > 0 {
            requests.max(latest.huge_requests).saturating_mul(2)
        } else {
            requests
        }
    }

    /// Time since a request for a huge page failed.
    fn unfragmented_for(&self) -> Duration {
        let last = self
            .history
            .last_fragmented
            .map_or(Duration::ZERO, units::Span::get);
        self.sample.at.get().saturating_sub(last)
    }

    /// Share of free memory in blocks too small for `order`, all zones together.
    fn fragmentation(&self, order: u32) -> Option<Percent> {
        let zones = || self.sample.zones.iter();
        let fragmented: Pages = zones().map(|zone| zone.blocks.fragmented(order)).sum();
        let total: Pages = zones().map(|zone| zone.blocks.total()).sum();
        Percent::ratio(fragmented.get(), total.get())
    }

    fn add_blocks(&mut self, order: u32, free: u64, needed: u64) {
        let why = Reason::Blocks {
            order,
            free,
            needed,
        };
        let most = u64::from(self.config.compaction.max_proactiveness.get());
        if let Some(now) = self.drivable(KNOB) {
            if now < most {
                // Each write starts a run on every node, so a step is given time to work.
                if self
                    .history
                    .enters_slot(self.config.compaction.horizon.get())
                {
                    self.drive(KNOB, (now + STEP).min(most), why);
                }
                return;
            }
        }
        if !self
            .history
            .enters_slot(self.config.compaction.node_interval.get())
        {
            return;
        }
        let missing = (needed - free) << order;
        if let Some(node) = self.most_fragmented_node(order, missing) {
            self.step(Action::Compact { node }, why);
        }
    }

    /// The node with most free memory in small blocks, if that could make up for a quarter of what is
    /// missing: for less, compacting the whole node costs more than it gives.
    fn most_fragmented_node(&self, order: u32, missing: u64) -> Option<u32> {
        let fragmented = |node: u32| -> u64 {
            let zones = self.sample.zones.iter().filter(|zone| zone.node == node);
            zones.map(|zone| zone.blocks.fragmented(order).get()).sum()
        };
        let nodes = self
            .sample
            .nodes
            .iter()
            .filter(|node| node.amounts.can_compact == Some(1))
            .map(|node| node.id);
        nodes
            .max_by_key(|node| fragmented(*node))
            .filter(|node| fragmented(*node) >= missing / 4)
    }
}
