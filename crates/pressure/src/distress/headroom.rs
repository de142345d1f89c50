//! How much headroom a sample shows, and what it adds to the measurement of growth.

use super::severity::room;
use crate::config::Share;
use crate::sample::{Sample, Swap, SwapKind};
use crate::sums::{kernels_own, unreclaimable};
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
/// Most that `cache-least` means: more than the code and files of any desktop that are always in use.
const MOST_LEAST_CACHE: Bytes = Bytes::mib(2048);
/// Most that `cache-most` means: a larger cache that is in use shows by its refaults, which cost time.
pub(super) const MOST_CACHE: Bytes = Bytes::mib(16 * 1024);
/// With less than so many quarters of managed memory, `MemTotal` is of a container and not of the machine.
const LEAST_OF_ALL: u64 = 3;
/// Dirty pages that the disk writes within this time count as headroom: about the time in which memory
/// runs out between SIGTERM and SIGKILL.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

/// What one sample says about growth, pressure and refaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) at: Span,
    pub(crate) held: Bytes,
    pub(crate) full: Option<Micros>,
    pub(crate) refaults: Option<u64>,
    /// Part of `held` that the kernel may move, and so may place in areas for contiguous memory.
    #[serde(default)]
    pub(crate) movable: Bytes,
    /// Part of `held` in tmpfs and shared memory.
    #[serde(default)]
    pub(crate) shared: Bytes,
    /// Part of `held` that is the kernel's own: slab, stacks, per-CPU memory.
    #[serde(default)]
    pub(crate) kernel: Bytes,
    /// In the pools of huge pages.
    #[serde(default)]
    pub(crate) huge: Bytes,
    /// Written to disks since boot.
    #[serde(default)]
    pub(crate) written: Option<Bytes>,
    /// Read from disks since boot.
    #[serde(default)]
    pub(crate) read: Option<Bytes>,
    /// Scanned by reclaim of the whole machine since boot; reclaim of one cgroup is not in it.
    #[serde(default)]
    pub(crate) scanned: Option<u64>,
    /// In swap.
    #[serde(default)]
    pub(crate) swapped: Bytes,
    /// Headroom at that time.
    #[serde(default)]
    pub(crate) headroom: Option<Bytes>,
}

impl Point {
    pub(crate) fn of(sample: &Sample) -> Option<Self> {
        let counters = &sample.counters;
        let memory = &sample.memory;
        let shared = memory.shmem.unwrap_or_default();
        let swapped = in_swap(sample);
        Some(Self {
            at: sample.at,
            held: unreturnable(sample)?,
            full: sample.memory_pressure.full_total,
            refaults: counters
                .workingset_refault_file
                .or(counters.workingset_refault),
            movable: memory.anon.unwrap_or_default() + shared + only_in_swap(sample),
            shared,
            kernel: kernels_own(sample),
            huge: memory.hugetlb.unwrap_or_default(),
            written: counters.pgpgout.map(Bytes::kib),
            read: counters.pgpgin.map(Bytes::kib),
            scanned: scanned(sample),
            swapped,
            headroom: None,
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

fn scanned(sample: &Sample) -> Option<u64> {
    let counters = &sample.counters;
    let kswapd = counters.pgscan_kswapd?;
    Some(kswapd.saturating_add(counters.pgscan_direct?))
}

fn in_swap(sample: &Sample) -> Bytes {
    let swap_total = sample.memory.swap_total.unwrap_or_default();
    swap_total.less(sample.memory.swap_free.unwrap_or_default())
}

/// What is in swap and not in RAM as well: the swap cache is both, and counts once.
fn only_in_swap(sample: &Sample) -> Bytes {
    in_swap(sample).less(sample.memory.swap_cached.unwrap_or_default())
}

/// Memory that only its owner can free, in RAM or in swap. Pools of huge pages are a part of it: one that
/// grows takes from all others.
pub(crate) fn unreturnable(sample: &Sample) -> Option<Bytes> {
    let pools = sample.memory.hugetlb.unwrap_or_default();
    Some(unreclaimable(sample)? + pools + only_in_swap(sample))
}

/// Memory that the kernel manages, without the pools of huge pages: those serve no other request.
pub(crate) fn managed(sample: &Sample, page_size: Bytes) -> Option<Bytes> {
    let pools = sample.pools.iter().map(|pool| {
        let pages = pool.amounts.pages.unwrap_or(0);
        pool.size.scaled(pages, 1)
    });
    let all = sample.managed()?.to_bytes(page_size);
    Some(all.less(pools.sum()))
}

/// File cache that is in use: the least share of memory, and more of it the more refaults.
pub(crate) fn floor(
    (least, most): (Share, Share),
    managed: Bytes,
    refaulted_per_second: u64,
) -> Bytes {
    let least = room(least, MOST_LEAST_CACHE, managed);
    let most = room(most, MOST_CACHE, managed);
    let busy = BUSY_CACHE.of(managed).get().max(1);
    least
        + most
            .less(least)
            .scaled(refaulted_per_second.min(busy), busy)
}

/// What headroom depends on beside the sample itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) page_size: Bytes,
    /// File cache that is in use.
    pub(crate) floor: Bytes,
    /// How fast disks write.
    pub(crate) disk: Rate,
    /// Whether what grows may be placed in areas for contiguous memory (CMA).
    pub(crate) may_use_cma: bool,
}

/// Headroom for memory that cannot be reclaimed; `None` if the sample does not say.
pub(crate) fn headroom(sample: &Sample, terms: &Terms) -> Option<Bytes> {
    // As in the kernel's estimate of MemAvailable, not all reclaimable slab can be freed.
    let slab = sample.memory.slab_reclaimable.unwrap_or_default();
    let all = free(sample, terms)? + file(sample, terms)? + slab.scaled(1, 2) + returnable(sample);
    let in_ram = match a_part_of_it(sample, terms.page_size) {
        Some(available) => all.min(available),
        None => all,
    };
    Some(in_ram + swap_headroom(sample, terms.page_size))
}

/// `MemAvailable`, if `/proc/meminfo` tells of a part of the machine only, as lxcfs shows it in a
/// container. Zones and counters are the whole machine's then.
fn a_part_of_it(sample: &Sample, page_size: Bytes) -> Option<Bytes> {
    let managed = sample.managed()?.to_bytes(page_size);
    let total = sample.memory.total?;
    sample
        .memory
        .available
        .filter(|_| total < managed.scaled(LEAST_OF_ALL, 4))
}

/// Free memory above the min watermarks, as far as it may be used.
fn free(sample: &Sample, terms: &Terms) -> Option<Bytes> {
    let min: Option<Pages> = sample.zones.iter().map(|zone| zone.amounts.min).sum();
    let free = sample.counters.nr_free_pages?.to_bytes(terms.page_size);
    let cma = sample.counters.nr_free_cma.unwrap_or_default();
    let unusable = if terms.may_use_cma {
        Bytes::ZERO
    } else {
        cma.to_bytes(terms.page_size)
    };
    Some(free.less(unusable).less(min?.to_bytes(terms.page_size)))
}

/// File cache that is not in use and need not wait for a disk.
fn file(sample: &Sample, terms: &Terms) -> Option<Bytes> {
    let memory = &sample.memory;
    let dirty = memory.dirty.unwrap_or_default() + memory.writeback.unwrap_or_default();
    let unwritten = dirty.less(terms.disk.during(WRITTEN_WITHIN));
    let all = memory.active_file? + memory.inactive_file? + sample.warm.lent();
    Some(all.less(unwritten).less(terms.floor))
}

/// Memory that others give back when the kernel asks for it.
pub(crate) fn returnable(sample: &Sample) -> Bytes {
    let lenders = &sample.returnable;
    let arc = lenders.arc.unwrap_or_default();
    let arc = arc.less(lenders.arc_min.unwrap_or(arc));
    let balloon = if lenders.balloon_deflates == Some(1) {
        sample.memory.balloon.unwrap_or_default()
    } else {
        Bytes::ZERO
    };
    arc + balloon
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
