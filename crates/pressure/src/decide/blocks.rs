//! Free blocks ahead of requests for them, in two steps: of the huge page, and of each order that tasks have waited for.
//!
//! (1) Let the kernel's background compaction work harder (`vm.compaction_proactiveness`). (2) When that
//! is at its limit and blocks are still short, compact one node in a worker, at most once per interval.
//! Both are to avoid the kernel's direct compaction. Either makes blocks of all orders, so the order that is
//! short of most memory decides.
//!
//! - Law: need `= Q₀.₉₅(requests per horizon)`, doubled while requests fail; supply `= Σ_{k≥o} n_k·2^(k−o)`.
//! - Source: `mm/compaction.c`, `extfrag_for_order`, `proactive_compact_node`.
//! - Limit: without free memory in smaller blocks there is nothing to compact, so nothing is done.

use super::draft::Draft;
use crate::decision::{Action, BlockForecast, Reason};
use crate::knob::Knob;
use crate::orders::{AskedOrder, suitable};
use std::time::Duration;
use units::{Pages, Percent};

const KNOB: Knob = Knob::CompactionProactiveness;
/// Share of horizons in which all requests are to be served without compaction. More compacts for rare
/// peaks; less leaves them to direct compaction.
const SHARE: f64 = 0.95;
/// One step of proactiveness: the kernel's default.
const STEP: u64 = 20;
/// Free memory in smaller blocks must be able to make up for this part of what is missing: for less, compaction costs more than
/// it gives.
const WORTH: u64 = 4;
/// Time without a failed request before the knob is put back.
const QUIET: Duration = Duration::from_secs(60);

impl Draft<'_> {
    /// Forecasts blocks and takes one step if they are short.
    pub(super) fn blocks(&mut self) {
        self.forecast_blocks();
        if !self.config.compaction.enabled {
            return;
        }
        let Some(scarcest) = self.scarcest_blocks() else {
            return;
        };
        if scarcest.needed > scarcest.free {
            self.add_blocks(scarcest);
        } else if self.sample.knobs.ours.of(KNOB).is_some()
            && self.unfragmented_for() >= QUIET
            && scarcest.free >= 2 * scarcest.needed
        {
            let BlockForecast { order, free, .. } = scarcest;
            self.release(KNOB, Reason::BlocksEnough { order, free });
        }
    }

    fn forecast_blocks(&mut self) {
        if let Some(order) = self.history.pmd_order {
            self.forecast.blocks = self.block_forecast(order, self.huge_pages_needed());
        }
        for asked in self.history.asked_orders.iter() {
            if let Some(forecast) = self.block_forecast(asked.order, blocks_needed(asked)) {
                self.forecast.orders.push(forecast);
            }
        }
    }

    fn block_forecast(&self, order: u32, needed: u64) -> Option<BlockForecast> {
        Some(BlockForecast {
            order,
            free: suitable(self.sample, order)?,
            needed,
            fragmentation: self.fragmentation(order),
        })
    }

    /// What is short of most memory, or has the least beyond its need.
    fn scarcest_blocks(&self) -> Option<BlockForecast> {
        let all = self.forecast.all_blocks();
        all.max_by_key(|blocks| {
            let missing = i128::from(blocks.needed) - i128::from(blocks.free);
            missing << blocks.order
        })
        .copied()
    }

    /// Requests for huge pages expected within the horizon, doubled while requests fail.
    fn huge_pages_needed(&self) -> u64 {
        let latest = &self.history.latest;
        let requests = self.history.huge_pages.counts.quantile(SHARE).unwrap_or(0);
        if latest.huge_failures > 0 || latest.compaction_stalls > 0 {
            requests.max(latest.huge_requests).saturating_mul(2)
        } else {
            requests
        }
    }

    /// Time since a request for a block failed.
    fn unfragmented_for(&self) -> Duration {
        let last = self
            .history
            .last_fragmented
            .map_or(Duration::ZERO, units::Span::get);
        self.sample.at.get().saturating_sub(last)
    }

    /// Share of free memory in blocks too small for `order`, all zones together.
    fn fragmentation(&self, order: u32) -> Option<Percent> {
        let zones = self.sample.zones.iter();
        let total: Pages = zones.map(|zone| zone.blocks.total()).sum();
        Percent::ratio(self.pages_below(order).get(), total.get())
    }

    /// Free memory in blocks too small for `order`, all zones together.
    fn pages_below(&self, order: u32) -> Pages {
        let zones = self.sample.zones.iter();
        zones.map(|zone| zone.blocks.fragmented(order)).sum()
    }

    fn add_blocks(&mut self, scarcest: BlockForecast) {
        let BlockForecast {
            order,
            free,
            needed,
            ..
        } = scarcest;
        let why = Reason::Blocks {
            order,
            free,
            needed,
        };
        let missing = (needed - free) << order;
        if self.pages_below(order).get() < missing / WORTH {
            return;
        }
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
        if let Some(node) = self.most_fragmented_node(order, missing) {
            self.step(Action::Compact { node }, why);
        }
    }

    /// The node with most free memory in small blocks, if that could make up for a part of what is missing.
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
            .filter(|node| fragmented(*node) >= missing / WORTH)
    }
}

/// Blocks of an order expected to be taken within the horizon, doubled while tasks wait for one.
fn blocks_needed(asked: &AskedOrder) -> u64 {
    let taken = asked.taken.counts.quantile(SHARE).unwrap_or(0);
    if asked.stalls > 0 {
        taken.max(asked.stalls).saturating_mul(2)
    } else {
        taken
    }
}
