//! How much headroom a sample shows, and what it adds to the measurement of growth.

use crate::config::Share;
use crate::sample::{Sample, Swap, SwapKind};
use crate::sums::unreclaimable;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Rate, Span};

/// What a byte in zram costs in memory while the pool's own ratio is unknown. A smaller share counts
/// on compression that may not come; a larger one kills while zram could still take pages.
const ZRAM_COST: Percent = Percent::new(50);
/// Below this much in zram its compression ratio is noise.
const LEAST_FOR_RATIO: Bytes = Bytes::mib(8);
/// Refaults at which all of `cache-most` counts as in use: this share of memory per second. Larger
/// counts more of the cache as headroom and kills later; smaller kills while cache could still go.
const BUSY_CACHE: Percent = Percent::new(4);

/// What one sample says about growth, pressure and refaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) at: Span,
    pub(crate) held: Bytes,
    pub(crate) full: Option<Micros>,
    pub(crate) refaults: Option<u64>,
}

impl Point {
    pub(crate) fn of(sample: &Sample) -> Option<Self> {
        let counters = &sample.counters;
        Some(Self {
            at: sample.at,
            held: unreturnable(sample)?,
            full: sample.memory_pressure.full_total,
            refaults: counters
                .workingset_refault_file
                .or(counters.workingset_refault),
        })
    }

    /// Time since `older`.
    pub(crate) fn after(&self, older: &Self) -> Duration {
        self.at.get().saturating_sub(older.at.get())
    }

    /// Growth from `older` to here; zero if it fell.
    pub(crate) fn grown_since(&self, older: &Self) -> Option<Rate> {
        Rate::over(self.held.less(older.held), self.after(older))
    }
}

/// Memory that only its owner can free, in RAM or in swap.
pub(crate) fn unreturnable(sample: &Sample) -> Option<Bytes> {
    let memory = &sample.memory;
    let swap_total = memory.swap_total.unwrap_or_default();
    let swapped = swap_total.less(memory.swap_free.unwrap_or_default());
    // The swap cache is both in RAM and in swap, and counts once.
    let only_in_swap = swapped.less(memory.swap_cached.unwrap_or_default());
    Some(unreclaimable(sample)? + only_in_swap)
}

/// File cache that is in use: the least share of memory, and more of it the more refaults.
pub(crate) fn floor(
    (least, most): (Share, Share),
    managed: Bytes,
    refaulted_per_second: u64,
) -> Bytes {
    let least = least.of(managed);
    let most = most.of(managed);
    let busy = BUSY_CACHE.of(managed).get().max(1);
    least
        + most
            .less(least)
            .scaled(refaulted_per_second.min(busy), busy)
}

/// Headroom for memory that cannot be reclaimed; `None` if the sample does not say.
pub(crate) fn headroom(sample: &Sample, floor: Bytes, page_size: Bytes) -> Option<Bytes> {
    let memory = &sample.memory;
    let min: Option<Pages> = sample.zones.iter().map(|zone| zone.amounts.min).sum();
    let free = sample
        .counters
        .nr_free_pages?
        .to_bytes(page_size)
        .less(min?.to_bytes(page_size));
    let unwritten = memory.dirty.unwrap_or_default() + memory.writeback.unwrap_or_default();
    let file = (memory.active_file? + memory.inactive_file? + sample.warm.lent())
        .less(unwritten)
        .less(floor);
    // As in the kernel's estimate of MemAvailable, not all reclaimable slab can be freed.
    let slab = memory.slab_reclaimable.unwrap_or_default().scaled(1, 2);
    Some(free + file + slab + swap_headroom(sample, page_size))
}

/// Free swap, less the memory that it costs to fill it.
pub(crate) fn swap_headroom(sample: &Sample, page_size: Bytes) -> Bytes {
    if sample.swaps.is_empty() {
        return sample.memory.swap_free.unwrap_or_default();
    }
    let cost = zram_cost(sample, page_size);
    sample
        .swaps
        .iter()
        .map(|swap| headroom_of_swap(swap, cost))
        .sum()
}

/// Memory that a byte in zram costs, by the pool's present ratio.
fn zram_cost(sample: &Sample, page_size: Bytes) -> Percent {
    let used: Bytes = sample
        .swaps
        .iter()
        .filter(|swap| swap.kind == SwapKind::Zram)
        .filter_map(|swap| swap.amounts.used)
        .sum();
    let pool = sample
        .counters
        .nr_zspages
        .map(|pages| pages.to_bytes(page_size));
    let known = pool
        .filter(|_| used >= LEAST_FOR_RATIO)
        .and_then(|pool| pool.share_of(used));
    known.unwrap_or(ZRAM_COST).min(Percent::WHOLE)
}

fn headroom_of_swap(swap: &Swap, zram_cost: Percent) -> Bytes {
    let size = swap.amounts.size.unwrap_or_default();
    let free = size.less(swap.amounts.used.unwrap_or_default());
    if swap.kind == SwapKind::Zram {
        free.less(zram_cost.of(free))
    } else {
        free
    }
}
