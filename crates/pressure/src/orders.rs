//! Blocks per horizon: of the huge page, and of every order that tasks have waited for.
//!
//! No kernel counts requests by order, and to count them all would slow each allocation down. So an order counts as asked
//! for from the first direct compaction for it on. What leaves the free lists is its demand: requests of the order, and
//! smaller ones that split its blocks.
//!
//! - Law: taken `= Σ max(0, S(t−1) − S(t)) + stalls` over a horizon, with `S = Σ_{k≥o} n_k·2^(k−o)` over all zones.
//! - Source: `__alloc_pages_direct_compact` (mm/page_alloc.c) begins a stall; `/proc/buddyinfo` has `n_k`.
//! - Limit: blocks that come back between two samples hide as many that were taken.

use crate::sample::{MAX_ORDERS, Sample};
use crate::sketch::{Sketch, faded};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::Span;

/// Orders followed at once: those below a huge page of x86-64. More are left to their own.
pub(crate) const MOST_ORDERS: usize = 8;
/// An order that nobody has waited for in this time is no longer followed. A shorter time forgets a load that comes
/// every half hour.
const FOLLOWED: Duration = Duration::from_secs(3600);

/// Counts over one horizon after the other; those above zero are remembered, fading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PerHorizon {
    /// Remembered counts.
    #[serde(rename = "requests")]
    pub(crate) counts: Sketch,
    /// Since when the present horizon counts, and what it has.
    #[serde(rename = "request_window")]
    window: (Span, u64),
}

/// How requests are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// Over this time each.
    pub(crate) horizon: Duration,
    /// What was counted fades.
    pub(crate) half_life: Duration,
}

/// An order that tasks have waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedOrder {
    pub(crate) order: u32,
    /// When somebody last waited for a block of it.
    stalled_at: Span,
    /// Tasks that began to wait for it since the sample before.
    pub(crate) stalls: u64,
    pub(crate) taken: PerHorizon,
}

/// What is remembered of orders other than the huge page's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct AskedOrders(ArrayVec<AskedOrder, MOST_ORDERS>);

impl PerHorizon {
    /// Takes in what came `elapsed` after the last time.
    pub(crate) fn push(&mut self, at: Span, elapsed: Duration, count: u64, terms: Terms) {
        let (begin, sum) = self.window;
        let sum = sum.saturating_add(count);
        self.counts.fade(faded(elapsed, terms.half_life));
        if at.get().saturating_sub(begin.get()) < terms.horizon {
            self.window = (begin, sum);
            return;
        }
        if sum > 0 {
            self.counts.add(sum, 1.0);
        }
        self.window = (at, 0);
    }
}

impl AskedOrders {
    /// Takes in what happened between two samples.
    pub(crate) fn push(
        &mut self,
        old: &Sample,
        new: &Sample,
        pmd_order: Option<u32>,
        terms: Terms,
    ) {
        let elapsed = new.at.get().saturating_sub(old.at.get());
        for asked in &mut self.0 {
            asked.stalls = 0;
        }
        for order in 1..MAX_ORDERS as u32 {
            if Some(order) != pmd_order {
                self.note_stalls(order, stalls(old, new, order), new.at);
            }
        }
        for asked in &mut self.0 {
            let count = taken(old, new, asked.order).saturating_add(asked.stalls);
            asked.taken.push(new.at, elapsed, count, terms);
        }
        self.0
            .retain(|asked| new.at.get().saturating_sub(asked.stalled_at.get()) <= FOLLOWED);
    }

    /// Those that are followed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &AskedOrder> {
        self.0.iter()
    }

    fn note_stalls(&mut self, order: u32, stalls: u64, at: Span) {
        if stalls == 0 {
            return;
        }
        let known = self.0.iter().position(|asked| asked.order == order);
        let Some(place) = known else {
            // One more than there is room for is not followed.
            let _ = self.0.try_push(AskedOrder {
                order,
                stalled_at: at,
                stalls,
                taken: PerHorizon::default(),
            });
            return;
        };
        self.0[place].stalls = stalls;
        self.0[place].stalled_at = at;
    }
}

/// Requests of `order` that the free lists of all zones could serve; `None` if no zone tells.
pub(crate) fn suitable(sample: &Sample, order: u32) -> Option<u64> {
    sample
        .zones
        .iter()
        .map(|zone| zone.blocks.suitable(order))
        .sum()
}

/// Tasks that began to compact for `order` between two samples: none if nobody counts, or the counter began anew.
fn stalls(old: &Sample, new: &Sample, order: u32) -> u64 {
    let before = old.warm.stalls.of(order);
    let now = new.warm.stalls.of(order);
    match (before, now) {
        (Some(before), Some(now)) => now.saturating_sub(before),
        _ => 0,
    }
}

/// Blocks of `order` that left the free lists between two samples, and did not come back.
fn taken(old: &Sample, new: &Sample, order: u32) -> u64 {
    match (suitable(old, order), suitable(new, order)) {
        (Some(before), Some(now)) => before.saturating_sub(now),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::OrderStalls;
    use crate::sample::{Blocks, Zone};

    const TERMS: Terms = Terms {
        horizon: Duration::from_secs(5),
        half_life: Duration::from_secs(1800),
    };

    /// A machine with so many blocks of order 4, and so many tasks that have waited for one.
    fn sample(second: u64, blocks: u64, stalls: u32) -> Sample {
        let mut free = Blocks {
            orders: 11,
            ..Blocks::default()
        };
        free.counts[4] = blocks;
        let zone = Zone {
            blocks: free,
            ..Zone::default()
        };
        let mut sample = Sample {
            at: Span::secs(second),
            zones: vec![zone],
            ..Sample::default()
        };
        sample.warm.stalls = OrderStalls::zero();
        for _ in 0..stalls {
            sample.warm.stalls.count(4);
        }
        sample
    }

    fn run(samples: Vec<Sample>) -> AskedOrders {
        let mut orders = AskedOrders::default();
        for pair in samples.windows(2) {
            orders.push(&pair[0], &pair[1], Some(9), TERMS);
        }
        orders
    }

    #[test]
    fn an_order_is_followed_from_the_first_wait_for_it() {
        let falling: Vec<Sample> = (0..20)
            .map(|second| sample(second, 100 - second, 0))
            .collect();
        assert_eq!(run(falling).iter().count(), 0, "nobody waited");
        let waited: Vec<Sample> = (0..20)
            .map(|second| sample(second, 100 - second, 1))
            .collect();
        assert_eq!(
            run(waited).iter().count(),
            0,
            "before there was somebody to count"
        );
        let waits: Vec<Sample> = (0..20)
            .map(|second| sample(second, 100 - second, u32::from(second >= 3)))
            .collect();
        let orders = run(waits);
        let [asked] = orders.0.as_slice() else {
            panic!("{orders:?}");
        };
        assert_eq!((asked.order, asked.stalls), (4, 0));
        assert_eq!(
            asked.taken.counts.quantile(0.5),
            Some(5),
            "a block a second"
        );
    }

    #[test]
    fn the_huge_page_is_counted_elsewhere_and_an_hour_of_quiet_ends_it() {
        let mut waits = vec![sample(0, 9, 0), sample(1, 9, 1)];
        for sample in &mut waits {
            for _ in 0..sample.at.get().as_secs() {
                sample.warm.stalls.count(9);
            }
        }
        assert_eq!(run(waits.clone()).iter().count(), 1);
        waits.push(sample(3601, 9, 1));
        assert_eq!(run(waits.clone()).iter().count(), 1);
        waits.push(sample(3602, 9, 1));
        assert_eq!(run(waits).iter().count(), 0);
    }

    #[test]
    fn nobody_who_counts_is_no_wait() {
        let mut uncounted = sample(1, 9, 0);
        uncounted.warm.stalls = OrderStalls::default();
        assert_eq!(run(vec![uncounted, sample(2, 9, 7)]).iter().count(), 0);
        assert_eq!(
            run(vec![sample(1, 9, 7), sample(2, 9, 3)]).iter().count(),
            0,
            "a new holder"
        );
    }
}
