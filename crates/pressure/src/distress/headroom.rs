//! How much is left.

use crate::sample::{Sample, SwapKind};
use crate::sums::unreclaimable;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Rate, Span};

/// Compressed swap whose cost cannot be told is taken to save half.
const ZRAM_COST: Percent = Percent::new(50);
/// Refaults at which the whole of `cache-most` is in use: this share of memory, a second.
const BUSY_CACHE: Percent = Percent::new(4);

/// What is left, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// Room for memory that cannot be given back.
    #[serde(rename = "room")]
    pub headroom: Bytes,
    /// Of it, on swap.
    pub swap: Bytes,
    /// Of it, locked, and let go before anyone ends for it.
    #[serde(default)]
    pub lent: Bytes,
    /// Memory the kernel manages.
    pub managed: Bytes,
    /// File cache that is counted as in use.
    pub floor: Bytes,
    /// Memory of those who were signalled, on its way back.
    pub in_flight: Bytes,
    /// How fast memory that cannot be given back grows.
    pub growth: Rate,
    /// When room and what is in flight are used up, if it grows on.
    pub left: Option<Span>,
    /// Share of the last seconds in which all tasks stalled for memory.
    pub stalled: Option<Percent>,
}

impl Outlook {
    /// When room and what is in flight are used up.
    pub(crate) fn left_now(&self) -> Option<Span> {
        self.growth
            .time_for(self.expected_headroom())
            .map(Span::new)
    }

    /// Room, and what comes back.
    pub(crate) fn expected_headroom(&self) -> Bytes {
        self.headroom + self.in_flight
    }

    /// The same if what is lent were not to be had.
    pub(crate) fn without_lent(&self) -> Self {
        Self {
            lent: Bytes::ZERO,
            ..self.less(self.lent)
        }
    }

    /// The same if nothing could go to swap.
    pub(crate) fn without_swap(&self) -> Self {
        Self {
            swap: Bytes::ZERO,
            ..self.less(self.swap)
        }
    }

    fn less(&self, amount: Bytes) -> Self {
        let poorer = Self {
            headroom: self.headroom.less(amount),
            ..*self
        };
        Self {
            left: poorer.left_now(),
            ..poorer
        }
    }

    /// A share of memory, or what grows in half of `ahead` if that is more, up to `most`.
    pub(crate) fn bound(&self, ahead: Span, share: Percent, most: Percent) -> Bytes {
        share
            .of(self.managed)
            .max(self.growth.during(ahead.get() / 2))
            .min(most.of(self.managed))
    }

    /// Whether room is used up within `ahead`, and is below a share of memory, or below what grows within `ahead`.
    pub(crate) fn ends_within(&self, ahead: Span, share: Percent, most: Percent) -> bool {
        let bound = self.bound(ahead, share, most);
        self.left.is_some_and(|left| left <= ahead) && self.expected_headroom() <= bound
    }
}

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

/// Memory that only its owner can give back, wherever it is now: in RAM or on swap.
pub(crate) fn unreturnable(sample: &Sample) -> Option<Bytes> {
    let m = &sample.memory;
    let swapped = m
        .swap_total
        .unwrap_or_default()
        .less(m.swap_free.unwrap_or_default());
    // What is in the swap cache is in RAM and on swap, and counts once.
    Some(unreclaimable(sample)? + swapped.less(m.swap_cached.unwrap_or_default()))
}

/// File cache that is in use: the least, and more of it the more is read again.
pub(crate) fn floor(
    (least, most): (Percent, Percent),
    managed: Bytes,
    refaulted_per_second: u64,
) -> Bytes {
    let (least, most) = (least.of(managed), most.of(managed));
    let busy = BUSY_CACHE.of(managed).get().max(1);
    least
        + most
            .less(least)
            .scaled(refaulted_per_second.min(busy), busy)
}

/// Room for memory that cannot be given back; `None` if the sample does not say.
pub(crate) fn headroom(sample: &Sample, floor: Bytes, page_size: Bytes) -> Option<Bytes> {
    let m = &sample.memory;
    let min: Option<Pages> = sample.zones.iter().map(|zone| zone.amounts.min).sum();
    let free = sample
        .counters
        .nr_free_pages?
        .to_bytes(page_size)
        .less(min?.to_bytes(page_size));
    let unwritten = m.dirty.unwrap_or_default() + m.writeback.unwrap_or_default();
    let file = (m.active_file? + m.inactive_file? + sample.warm.lent())
        .less(unwritten)
        .less(floor);
    let slab = m.slab_reclaimable.unwrap_or_default().scaled(1, 2);
    Some(free + file + slab + swap_headroom(sample, page_size))
}

/// What swap can still take, less what it costs to keep it there.
pub(crate) fn swap_headroom(sample: &Sample, page_size: Bytes) -> Bytes {
    if sample.swaps.is_empty() {
        return sample.memory.swap_free.unwrap_or_default();
    }
    let zram = |kind: SwapKind| kind == SwapKind::Zram;
    let used: Bytes = sample
        .swaps
        .iter()
        .filter(|swap| zram(swap.kind))
        .filter_map(|swap| swap.amounts.used)
        .sum();
    let pool = sample
        .counters
        .nr_zspages
        .map(|pages| pages.to_bytes(page_size));
    // Below a few MiB the ratio is noise.
    let known = pool
        .filter(|_| used >= Bytes::mib(8))
        .and_then(|pool| pool.share_of(used));
    let cost = known.unwrap_or(ZRAM_COST).min(Percent::WHOLE);
    let headroom = |swap: &crate::sample::Swap| {
        let free = swap
            .amounts
            .size
            .unwrap_or_default()
            .less(swap.amounts.used.unwrap_or_default());
        if zram(swap.kind) {
            free.less(cost.of(free))
        } else {
            free
        }
    };
    sample.swaps.iter().map(headroom).sum()
}
