//! Whether the machine thrashes: all tasks stall for memory, and what is evicted is in use.
//!
//! ```text
//! thrash = (  all tasks stalled ≥ stall-limit      (ends when below half of it for five seconds)
//!             ∧ (hardly any headroom in RAM ∨ what reclaim takes is read again)
//!           ∨ all tasks of a protected cgroup stalled ≥ stall-limit
//!             ∧ hardly any headroom in RAM, if as much of the cache is in use as may be)
//!        ∧ the kernel reclaims for the whole machine, or in a cgroup that we throttle; for a protected
//!          cgroup, has done so within half a minute
//! ```
//!
//! One program that gets on keeps the whole machine from stalling, and what fills memory mostly does. Then a
//! desktop or a login may stand for minutes. A protected cgroup that waits says so. On a slow disk few pages
//! are read again in a second, although each is waited for: then `cache-most` of the cache counts as in use.
//! Beside data that are larger than memory others wait, too, but most of memory is cache, and a kill frees
//! none of it.
//!
//! - Source: `DefaultMemoryPressureLimit=` of oomd.conf(5) for the limit; `mm/vmscan.c` counts what reclaim of
//!   one cgroup scans nowhere in `/proc/vmstat`.

use super::headroom::MOST_CACHE;
use super::severity::{is_tight_in_ram, room};
use super::{Distress, LONG};
use crate::protect::StalledUnit;
use crate::sample::Sample;
use std::time::Duration;
use units::{Bytes, Pages, Percent, Span};

/// A thrashing machine has moments in which something gets on: all that a program needs has come back, or a
/// timer ran out for all at once. systemd-oomd looks at `avg10`, which takes 5 s to lose 40 % of its value.
const LULL: Duration = Duration::from_secs(5);
/// What reclaim took in a moment may take a slow disk this long to read: 40 MiB in pieces of 16 KiB, 100 of
/// them a second. Longer blames those of now for what was reclaimed for others.
const READ_BACK: Duration = Duration::from_secs(30);
/// Fewer refaults a second (1 MiB) are no thrash of file cache.
const LEAST_REFAULTS: u64 = 256;

impl Distress {
    /// Notes since when the machine thrashes. It goes on until time lost has been below half of the limit
    /// for [`LULL`].
    pub(super) fn note_thrash(
        &mut self,
        sample: &Sample,
        page_size: Bytes,
        stalled_unit: Option<StalledUnit>,
    ) {
        let is_reclaiming = self.is_reclaiming(sample, page_size);
        if is_reclaiming {
            self.reclaimed = Some(sample.at);
        }
        let limit = match self.thrashing_since {
            Some(_) => Percent::hundredths(self.stall_limit.get() / 2),
            None => self.stall_limit,
        };
        let may_be_unit = self.is_tight_beside_cache() && self.has_reclaimed(sample.at);
        let stalled_unit = stalled_unit.filter(|one| may_be_unit && one.stalled >= limit);
        if stalled_unit.is_some() || (is_reclaiming && self.is_stalled(limit)) {
            self.thrashing_since = self.thrashing_since.or(Some(sample.at));
            self.thrashed = Some(sample.at);
            self.stalled_unit = stalled_unit;
            return;
        }
        let lull = self
            .thrashed
            .map(|last| sample.at.get().saturating_sub(last.get()));
        if lull.is_none_or(|lull| lull > LULL) {
            self.thrashing_since = None;
        }
    }

    /// Whether the kernel has reclaimed for the whole machine within [`READ_BACK`].
    fn has_reclaimed(&self, now: Span) -> bool {
        self.reclaimed
            .is_some_and(|last| now.get().saturating_sub(last.get()) <= READ_BACK)
    }

    /// Whether all tasks of the machine stall for this share of time, and memory is what they lack.
    fn is_stalled(&self, limit: Percent) -> bool {
        let is_stalled = self
            .outlook
            .and_then(|outlook| outlook.stalled)
            .is_some_and(|stalled| stalled >= limit);
        is_stalled && (self.is_tight_in_ram() || self.evicts_what_is_in_use())
    }

    fn is_tight_in_ram(&self) -> bool {
        self.outlook
            .is_some_and(|outlook| is_tight_in_ram(&outlook, 1))
    }

    /// The same, if as much of the cache is in use as ever counts as such. What is read back makes headroom
    /// come and go, so a machine that thrashes already has to have twice as much.
    fn is_tight_beside_cache(&self) -> bool {
        self.outlook.is_some_and(|outlook| {
            let most = room(self.cache.1, MOST_CACHE, outlook.managed);
            let outlook = outlook.less(most.less(outlook.floor));
            let times = if self.thrashing_since.is_some() { 2 } else { 1 };
            is_tight_in_ram(&outlook, times)
        })
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
