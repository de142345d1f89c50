//! Watermarks as the kernel sets them from two knobs.
//!
//! Every zone has three marks on its free pages: below *low* kswapd is woken, above *high* it sleeps
//! again, below *min* allocations reclaim for themselves, that is, stall. The *gap* between min and
//! low is what a burst may take before that. One knob sets it, and the same gap lies again between
//! low and high.
//!
//! ```text
//! pages_min = min_free_kbytes · 1024 / page size                        [pages]
//! lowmem    = Σ managed over zones but HighMem and Movable              [pages]
//! share     = pages_min · managed / lowmem
//! min       = share;  of HighMem and Movable  clamp(managed / 1024, 32, 128)
//! gap       = max(share / 4, managed · factor / 10000)
//! low = min + gap;  high = low + gap
//! ```
//!
//! So a factor below `10000 · pages_min / (4 · lowmem)` does nothing: the dead zone.
//!
//! Cost: O(zones) for one factor, twelve times that for a search. Source: `__setup_per_zone_wmarks`,
//! `calculate_totalreserve_pages` and `si_mem_available` of Linux 6.12; 6.1 and 7.3 have the same
//! formula, but 6.1 counts Movable in `lowmem`. Limits: the temporary boost is left out, and so is
//! the lowmem reserve, which no factor changes.

use crate::knob::Knob;
use crate::sample::{Sample, Zone};
use units::{Bytes, Pages};

/// The least that the kernel accepts for `vm.watermark_scale_factor`.
pub const LEAST_FACTOR: u64 = 1;
/// The most that the kernel accepts for `vm.watermark_scale_factor`: 30 % of a zone.
pub const MOST_FACTOR: u64 = 3000;

/// The watermarks of one zone, boost left out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Below this, allocations reclaim for themselves.
    pub min: Pages,
    /// Below this, kswapd is woken.
    pub low: Pages,
    /// Above this, it sleeps again.
    pub high: Pages,
}

impl Marks {
    /// `low − min`.
    pub fn gap(self) -> Pages {
        self.low.less(self.min)
    }
}

/// What all zones of a machine share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// `vm.min_free_kbytes` in pages.
    pub pages_min: Pages,
    /// Managed pages over which it is shared out.
    pub lowmem: Pages,
}

impl Base {
    /// Of the machine in `sample`; `None` if the knob or a zone's size is unknown.
    pub fn of(sample: &Sample, page_size: Bytes) -> Option<Self> {
        let kilobytes = sample.knobs.now.of(Knob::MinFreeKbytes)?;
        // The kernel shifts, so it rounds down.
        let pages_min = Bytes::kib(kilobytes).get().checked_div(page_size.get())?;
        let low_zones = sample.zones.iter().filter(|zone| zone.kind.is_low_memory());
        let lowmem: Option<Pages> = low_zones.map(|zone| zone.amounts.managed).sum();
        let lowmem = lowmem.filter(|pages| *pages > Pages::ZERO)?;
        Some(Self {
            pages_min: Pages::new(pages_min),
            lowmem,
        })
    }

    /// The marks of `zone` under `factor`; `None` if its size is unknown.
    pub fn marks(self, zone: &Zone, factor: u64) -> Option<Marks> {
        let managed = zone.amounts.managed?;
        let share = self.pages_min.scaled(managed.get(), self.lowmem.get());
        let min = if zone.kind.is_low_memory() {
            share
        } else {
            Pages::new((managed.get() / 1024).clamp(32, 128))
        };
        let gap = Pages::new(share.get() / 4).max(managed.scaled(factor, 10_000));
        Some(Marks {
            min,
            low: min + gap,
            high: min + gap + gap,
        })
    }
}

/// The marks of all zones together under `factor`; `None` if a size or knob is unknown.
pub fn total(sample: &Sample, page_size: Bytes, factor: u64) -> Option<Marks> {
    let base = Base::of(sample, page_size)?;
    sample.zones.iter().try_fold(Marks::default(), |sum, zone| {
        let marks = base.marks(zone, factor)?;
        Some(Marks {
            min: sum.min + marks.min,
            low: sum.low + marks.low,
            high: sum.high + marks.high,
        })
    })
}

/// Σ over zones of `low − min` that `factor` would give; `None` if a size or knob is unknown.
pub fn gap(sample: &Sample, page_size: Bytes, factor: u64) -> Option<Bytes> {
    total(sample, page_size, factor).map(|marks| marks.gap().to_bytes(page_size))
}

/// Σ over zones of `low − min` as the kernel reports it; `None` if a zone does not say.
pub fn observed_gap(sample: &Sample, page_size: Bytes) -> Option<Bytes> {
    if sample.zones.is_empty() {
        return None;
    }
    let amounts = sample.zones.iter().map(|zone| &zone.amounts);
    let pages: Option<Pages> = amounts.map(|zone| Some(zone.low?.less(zone.min?))).sum();
    pages.map(|pages| pages.to_bytes(page_size))
}

/// The smallest factor with a gap of at least `wanted`; the largest if there is none.
///
/// This is `ceil(10000 · wanted / managed)` but for the dead zone, where it is 1: no factor gives
/// less than the kernel's floor, so take the maximum with the factor that was found.
pub fn factor_for(sample: &Sample, page_size: Bytes, wanted: Bytes) -> Option<u64> {
    let base = Base::of(sample, page_size)?;
    sample.managed()?;
    let wanted = wanted.to_pages(page_size);
    let factor = search(|factor| gap_pages(sample, base, factor) >= wanted);
    Some(factor.unwrap_or(MOST_FACTOR))
}

/// The smallest factor that has an effect; `None` if none has, or if a size or knob is unknown.
pub fn least_effective(sample: &Sample, page_size: Bytes) -> Option<u64> {
    let base = Base::of(sample, page_size)?;
    sample.managed()?;
    let floor = gap_pages(sample, base, 0);
    search(|factor| gap_pages(sample, base, factor) > floor)
}

/// By how much going from one factor to another lowers `MemAvailable`; zero if it rises.
///
/// ```text
/// MemAvailable = free − Σ min(high, managed) + cache − min(cache / 2, Σ low) + slab − min(slab / 2, Σ low)
/// ```
///
/// with `cache` the file pages and `slab` the reclaimable kernel memory. The kernel adds its lowmem
/// reserve to `high` before the cap, which no sample has: in a zone smaller than its reserve, such
/// as DMA, this counts a few pages too many. `None` if a size, knob or amount is unknown.
pub fn withheld(sample: &Sample, page_size: Bytes, from: u64, to: u64) -> Option<Bytes> {
    let before = reserved(sample, page_size, from)?;
    let after = reserved(sample, page_size, to)?;
    Some(after.less(before).to_bytes(page_size))
}

/// What the watermarks under `factor` take off `MemAvailable`.
fn reserved(sample: &Sample, page_size: Bytes, factor: u64) -> Option<Pages> {
    let base = Base::of(sample, page_size)?;
    let cache = sample.counters.nr_active_file? + sample.counters.nr_inactive_file?;
    // KReclaimable is this slab and what little else the kernel counts with it; older kernels lack it.
    let slab = sample
        .memory
        .kernel_reclaimable
        .or(sample.memory.slab_reclaimable)?
        .to_pages(page_size);
    let mut low = Pages::ZERO;
    let mut high = Pages::ZERO;
    for zone in &sample.zones {
        let marks = base.marks(zone, factor)?;
        low += marks.low;
        high += marks.high.min(zone.amounts.managed?);
    }
    let cache_kept = half(cache).min(low);
    let slab_kept = half(slab).min(low);
    Some(high + cache_kept + slab_kept)
}

fn half(pages: Pages) -> Pages {
    Pages::new(pages.get() / 2)
}

/// Σ over zones of `low − min` under `factor`. The callers have made sure that each zone has a size.
fn gap_pages(sample: &Sample, base: Base, factor: u64) -> Pages {
    sample
        .zones
        .iter()
        .filter_map(|zone| base.marks(zone, factor))
        .map(Marks::gap)
        .sum()
}

/// The smallest factor that is `enough`, which must hold from some factor on.
fn search(enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut low = LEAST_FACTOR;
    let mut high = MOST_FACTOR;
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests;
