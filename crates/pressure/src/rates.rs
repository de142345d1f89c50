//! What changed between two samples: the only place where counters are subtracted.

use crate::sample::{Counters, Sample};
use std::time::Duration;
use units::{Bytes, Micros};

/// Differences of one pair of samples. `None` where either sample does not know, or where the
/// counter was reset in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Time between the two.
    pub elapsed: Duration,
    /// Memory taken, whether or not reclaim made up for it (the law is at `gross_demand`).
    pub demand: Option<Bytes>,
    /// Change of free memory.
    pub free: Option<i64>,
    /// Freed by kswapd.
    pub kswapd: Option<Bytes>,
    /// Allocations that reclaimed for themselves.
    pub allocation_stalls: Option<u64>,
    /// Allocations that compacted for themselves.
    pub compaction_stalls: Option<u64>,
    /// Times kswapd fell back below the low watermark at once.
    pub hit_quickly: Option<u64>,
    /// Refaults.
    pub refaults: Option<u64>,
    /// Of these, of files; kernels before 5.9 do not tell them apart.
    pub refaults_file: Option<u64>,
    /// And of anonymous memory.
    pub refaults_anon: Option<u64>,
    /// Pages read from swap because a neighbour was.
    pub swap_ahead: Option<u64>,
    /// Of these, used.
    pub swap_ahead_used: Option<u64>,
    /// Page faults that waited for a page that had been evicted, anonymous or mapped. An upper bound: the kernel
    /// counts faults that wait, and refaults, each for itself.
    pub waits: Option<u64>,
    /// Requests for huge pages, served or not.
    pub huge_requests: Option<u64>,
    /// Of these, not served.
    pub huge_failures: Option<u64>,
    /// Time in which some task stalled for memory.
    pub stalled: Option<Micros>,
    /// Processes killed by the kernel.
    pub oom_kills: Option<u64>,
}

impl Rates {
    /// The changes from `old` to `new`; `None` if no time has passed between them.
    pub fn between(old: &Sample, new: &Sample, page_size: Bytes) -> Option<Self> {
        let elapsed = new.since(old);
        if elapsed.is_zero() {
            return None;
        }
        let a = &old.counters;
        let b = &new.counters;
        let grown = |field: fn(&Counters) -> Option<u64>| grown(field(a)?, field(b)?);
        let free = |counters: &Counters| {
            counters
                .nr_free_pages
                .map(|pages| pages.to_bytes(page_size))
        };
        Some(Self {
            elapsed,
            demand: gross_demand(a, b, page_size),
            free: free(a)
                .zip(free(b))
                .map(|(old, new)| new.get() as i64 - old.get() as i64),
            kswapd: grown(|c| c.pgsteal_kswapd)
                .map(|pages| Bytes::new(pages.saturating_mul(page_size.get()))),
            allocation_stalls: grown(allocation_stalls),
            compaction_stalls: grown(|c| c.compact_stall),
            hit_quickly: grown(|c| c.kswapd_low_wmark_hit_quickly),
            refaults: grown(refaults),
            refaults_file: grown(|c| c.workingset_refault_file),
            refaults_anon: grown(|c| c.workingset_refault_anon),
            swap_ahead: grown(|c| c.swap_ra),
            swap_ahead_used: grown(|c| c.swap_ra_hit),
            waits: grown(|c| c.pgmajfault)
                .zip(grown(refaults))
                .map(|(faults, again)| faults.min(again)),
            huge_requests: grown(huge_requests),
            huge_failures: grown(huge_failures),
            stalled: old
                .memory_pressure
                .some_total
                .zip(new.memory_pressure.some_total)
                .and_then(|(old, new)| self::grown(old.get(), new.get()))
                .map(Micros::new),
            oom_kills: grown(|c| c.oom_kill),
        })
    }
}

/// Growth of a counter; `None` if it was reset. A 32-bit counter that passed its end still counts.
fn grown(old: u64, new: u64) -> Option<u64> {
    const WORD: u64 = 1 << 32;
    if new >= old {
        return Some(new - old);
    }
    let wrapped = (WORD / 2..WORD).contains(&old) && new < WORD / 2;
    if wrapped {
        Some(new + WORD - old)
    } else {
        None
    }
}

/// Gross demand: `D = −Δfree + Δsteal(kswapd) + Δsteal(direct) + Δsteal(khugepaged) + Δsteal(proactive)`.
///
/// Free memory alone says little, since kswapd holds it between its marks; what was taken out is
/// what is missing plus what reclaim put in. Memory that programs gave back counts against it, and
/// a negative sum is no demand. Counters this kernel lacks add nothing: they cannot have moved.
fn gross_demand(old: &Counters, new: &Counters, page_size: Bytes) -> Option<Bytes> {
    let stolen = [
        (old.pgsteal_kswapd, new.pgsteal_kswapd),
        (old.pgsteal_direct, new.pgsteal_direct),
        (old.pgsteal_khugepaged, new.pgsteal_khugepaged),
        (old.pgsteal_proactive, new.pgsteal_proactive),
    ];
    let mut taken = i128::from(old.nr_free_pages?.get()) - i128::from(new.nr_free_pages?.get());
    for (old, new) in stolen {
        if let (Some(old), Some(new)) = (old, new) {
            taken += i128::from(grown(old, new)?);
        }
    }
    let pages = u64::try_from(taken.max(0)).ok()?;
    Some(Bytes::new(pages.saturating_mul(page_size.get())))
}

/// Direct reclaims of all zones.
pub fn allocation_stalls(c: &Counters) -> Option<u64> {
    total(&[
        c.allocstall_dma,
        c.allocstall_dma32,
        c.allocstall_normal,
        c.allocstall_high,
        c.allocstall_movable,
        c.allocstall_device,
    ])
}

/// Refaults of both kinds; kernels before 5.9 have one counter.
pub fn refaults(c: &Counters) -> Option<u64> {
    total(&[
        c.workingset_refault_anon,
        c.workingset_refault_file,
        c.workingset_refault,
    ])
}

/// Requests for huge pages, served or not.
fn huge_requests(c: &Counters) -> Option<u64> {
    let served = total(&[
        c.thp_fault_alloc,
        c.thp_collapse_alloc,
        c.thp_file_alloc,
        c.htlb_buddy_alloc_success,
    ])?;
    Some(served.saturating_add(huge_failures(c).unwrap_or(0)))
}

/// Requests for huge pages that were not served.
fn huge_failures(c: &Counters) -> Option<u64> {
    total(&[
        c.thp_fault_fallback,
        c.thp_collapse_alloc_failed,
        c.thp_file_fallback,
        c.htlb_buddy_alloc_fail,
    ])
}

/// The sum of those that this kernel has; `None` if it has none of them.
fn total(counters: &[Option<u64>]) -> Option<u64> {
    counters
        .iter()
        .flatten()
        .copied()
        .reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Pages, Span};

    const PAGE: Bytes = Bytes::kib(4);

    fn sample(seconds: u64, free: u64, stolen: u64) -> Sample {
        let mut sample = Sample {
            at: Span::secs(seconds),
            ..Sample::default()
        };
        sample.counters.nr_free_pages = Some(Pages::new(free));
        sample.counters.pgsteal_kswapd = Some(stolen);
        sample
    }

    #[test]
    fn demand_is_seen_although_free_memory_stands_still() {
        let rates = Rates::between(&sample(1, 1000, 0), &sample(2, 1000, 256), PAGE).unwrap();
        assert_eq!(rates.demand, Some(Bytes::mib(1)));
        assert_eq!(rates.free, Some(0));
    }

    #[test]
    fn memory_given_back_is_no_demand() {
        let rates = Rates::between(&sample(1, 1000, 0), &sample(2, 2000, 0), PAGE).unwrap();
        assert_eq!(rates.demand, Some(Bytes::ZERO));
    }

    #[test]
    fn a_reset_counter_is_unknown_and_a_wrapped_one_counts() {
        assert_eq!(grown(5_000_000_000, 3), None);
        assert_eq!(grown((1 << 32) - 2, 3), Some(5));
        assert_eq!(grown(100, 3), None);
        let rates = Rates::between(&sample(1, 1000, 500), &sample(2, 1000, 3), PAGE).unwrap();
        assert_eq!(rates.demand, None);
    }

    #[test]
    fn without_time_there_are_no_rates() {
        assert_eq!(
            Rates::between(&sample(2, 1, 1), &sample(2, 1, 1), PAGE),
            None
        );
        assert_eq!(
            Rates::between(&sample(3, 1, 1), &sample(2, 1, 1), PAGE),
            None
        );
    }
}
