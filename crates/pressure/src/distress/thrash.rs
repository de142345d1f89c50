//! Whether the machine thrashes: all tasks stall for memory, and what is evicted is in use.
//!
//! ```text
//! thrash = stalled ≥ stall-limit                   (ends when below half of it for five seconds)
//!        ∧ (hardly any headroom in RAM ∨ what reclaim takes is read again)
//!        ∧ the kernel reclaims for the whole machine, or in a cgroup that we throttle
//! ```
//!
//! - Source: `DefaultMemoryPressureLimit=` of oomd.conf(5) for the limit; `mm/vmscan.c` counts what reclaim of
//!   one cgroup scans nowhere in `/proc/vmstat`.

use super::severity::is_tight_in_ram;
use super::{Distress, LONG};
use crate::sample::Sample;
use std::time::Duration;
use units::{Bytes, Pages, Percent};

/// A thrashing machine has moments in which something gets on: all that a program needs has come back, or a
/// timer ran out for all at once. systemd-oomd looks at `avg10`, which takes 5 s to lose 40 % of its value.
const LULL: Duration = Duration::from_secs(5);
/// Fewer refaults a second (1 MiB) are no thrash of file cache.
const LEAST_REFAULTS: u64 = 256;

impl Distress {
    /// Notes since when the machine thrashes. It goes on until time lost has been below half of the limit
    /// for [`LULL`].
    pub(super) fn note_thrash(&mut self, sample: &Sample, page_size: Bytes) {
        let is_tight = self
            .outlook
            .is_some_and(|outlook| is_tight_in_ram(&outlook));
        let is_short = is_tight || self.evicts_what_is_in_use();
        let limit = match self.thrashing_since {
            Some(_) => Percent::hundredths(self.stall_limit.get() / 2),
            None => self.stall_limit,
        };
        let is_stalled = self
            .outlook
            .and_then(|outlook| outlook.stalled)
            .is_some_and(|stalled| stalled >= limit);
        if is_short && is_stalled && self.is_reclaiming(sample, page_size) {
            self.thrashing_since = self.thrashing_since.or(Some(sample.at));
            self.thrashed = Some(sample.at);
            return;
        }
        let lull = self
            .thrashed
            .map(|last| sample.at.get().saturating_sub(last.get()));
        if lull.is_none_or(|lull| lull > LULL) {
            self.thrashing_since = None;
        }
    }

    /// Whether most of what reclaim of the whole machine takes is read again. Then the cache that counts as
    /// headroom is none.
    fn evicts_what_is_in_use(&self) -> bool {
        let Some((older, newest)) = self.back(2 * LONG) else {
            return false;
        };
        let refaults = match (older.refaults, newest.refaults) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => return false,
        };
        let scanned = match (older.scanned, newest.scanned) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => return false,
        };
        let seconds = newest.after(older).as_secs().max(1);
        // Reclaim of a cgroup at its own limit makes refaults, too, and is not in what is scanned.
        refaults / seconds >= LEAST_REFAULTS && scanned >= refaults
    }

    /// Whether the kernel reclaims for the whole machine. Reclaim of a cgroup at its own limit raises
    /// pressure, too, and is nothing that the rest of the machine suffers from. A limit of ours is another
    /// matter: without it the same pages would be reclaimed for the whole machine.
    ///
    /// Since the sample before: a process that the kernel has OOM-killed leaves stalls and refaults in
    /// every longer window, and nobody is to pay for them.
    fn is_reclaiming(&self, sample: &Sample, page_size: Bytes) -> bool {
        if !sample.groups.throttled.is_empty() {
            return true;
        }
        let [.., older, newest] = &self.points[..] else {
            return false;
        };
        let scans = match (older.scanned, newest.scanned) {
            (Some(before), Some(now)) => now > before,
            _ => false,
        };
        let swaps_out = newest.swapped > older.swapped;
        scans || swaps_out || is_below_high(sample, page_size)
    }
}

/// Whether free memory is below the high watermark of all zones: kswapd is at work.
fn is_below_high(sample: &Sample, page_size: Bytes) -> bool {
    let high: Option<Pages> = sample.zones.iter().map(|zone| zone.amounts.high).sum();
    let free = sample.counters.nr_free_pages;
    match (free, high) {
        (Some(free), Some(high)) => free.to_bytes(page_size) <= high.to_bytes(page_size),
        _ => false,
    }
}
