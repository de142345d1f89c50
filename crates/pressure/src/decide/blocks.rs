//! Free blocks ahead of requests for huge pages, by a gentle ladder.
//!
//! Rungs: (1) let the kernel's background compaction work harder (`vm.compaction_proactiveness`);
//! (2) when that has stood at its limit and blocks are still short, compact one node, at most once per
//! interval, in a worker. The third, the kernel's direct compaction, is what both are to spare.
//!
//! - Law: need `= Q₀.₉₅(requests per horizon)`, doubled while requests fail; supply `= Σ_{k≥o} n_k·2^(k−o)`.
//! - Source: `mm/compaction.c`, `extfrag_for_order`, `proactive_compact_node`.
//! - Limit: without free memory there is nothing to compact, so nothing is asked for.

use super::Draft;
use crate::decision::{Action, BlockForecast, Reason};
use crate::knob::Knob;
use crate::sample::Zone;
use std::time::Duration;
use units::Percent;

const KNOB: Knob = Knob::CompactionProactiveness;
/// Share of horizons whose requests are to be served without compaction.
const SHARE: f64 = 0.95;
/// One rung of proactiveness: the kernel's default.
const STEP: u64 = 20;
/// Quiet before the knob is put back.
const QUIET: Duration = Duration::from_secs(60);

impl Draft<'_> {
    /// Forecasts blocks and takes one rung if they are short.
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
        let asked = self.history.requests.quantile(SHARE).unwrap_or(0);
        let failing =
            self.history.latest.huge_failures > 0 || self.history.latest.compaction_stalls > 0;
        let needed = if failing {
            asked
                .max(self.history.latest.huge_requests)
                .saturating_mul(2)
        } else {
            asked
        };
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
            self.climb(order, free, needed);
        } else if self.sample.knobs.ours.of(KNOB).is_some()
            && self.unfragmented_for() >= QUIET
            && free >= 2 * needed
        {
            self.release(KNOB, Reason::BlocksEnough { order, free });
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
        let sum = |pages: fn(&Zone, u32) -> u64| {
            self.sample
                .zones
                .iter()
                .map(|zone| pages(zone, order))
                .sum::<u64>()
        };
        Percent::ratio(
            sum(|zone, order| zone.blocks.fragmented(order).get()),
            sum(|zone, _| zone.blocks.total().get()),
        )
    }

    fn climb(&mut self, order: u32, free: u64, needed: u64) {
        let why = Reason::Blocks {
            order,
            free,
            needed,
        };
        let most = u64::from(self.config.compaction.max_proactiveness.get());
        if let Some(now) = self.drivable(KNOB) {
            if now < most {
                // Each write starts a run on every node, so a rung is given time to work.
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

    /// The node with most free memory in small blocks, if a quarter of what is missing could be made of it:
    /// for less, a compaction of the whole node costs more than it gives.
    fn most_fragmented_node(&self, order: u32, missing: u64) -> Option<u32> {
        let fragmented = |node: u32| -> u64 {
            let zones = self.sample.zones.iter().filter(|zone| zone.node == node);
            zones.map(|zone| zone.blocks.fragmented(order).get()).sum()
        };
        let able = self
            .sample
            .nodes
            .iter()
            .filter(|node| node.amounts.can_compact == Some(1))
            .map(|node| node.id);
        able.max_by_key(|node| fragmented(*node))
            .filter(|node| fragmented(*node) >= missing / 4)
    }
}
