//! What an arm cost, and what it prevented.

use super::reservoir::Flow;
use super::thinned::Thinned;
use super::trace::{Call, Interval, delta};
use crate::sample::{Counters, Sample};
use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;
use units::{Bytes, Micros, Pages, Span};

/// Stalls less than this apart are one episode: one burst stalls many allocations, and a person
/// notices one delay. More joins bursts that come in a row, less counts one burst several times.
const APART: Duration = Duration::from_secs(1);
/// A raise is a false alarm if no demand calls for it within this time. It is about as long as held
/// memory is kept through a calm (`gap.give-back-after`): a raise that is not called for by then
/// would have been given back.
const CALLED_FOR: Duration = Duration::from_secs(10);
/// Raises that wait to be called for, at most: a guard that looks ten times a second makes a hundred in that time.
const MOST_PENDING: usize = 1024;

/// What one arm came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub arm: String,
    /// Times in which allocations stalled; stalls less than 1 s apart are one.
    pub episodes: u64,
    /// Memory that allocations had to reclaim themselves.
    pub stalled: Bytes,
    /// Time in steps of the model in which they had to.
    pub stalled_time: Span,
    /// Bursts that began while the gap was wider than the one found.
    pub bursts_met: u64,
    /// From the last raise of that gap to the burst: the median over the bursts met.
    pub lead: Option<Span>,
    /// Times the gap was raised.
    pub raises: u64,
    /// Raises after which no demand within 10 s called for more than the gap before.
    pub false_alarms: u64,
    /// Σ (gap − gap found) · time, in byte-seconds.
    pub gap_seconds: u64,
    /// Times the factor was changed.
    pub writes: u64,
    /// The factor, averaged over time.
    pub mean_factor: f64,
    /// Memory that kswapd freed.
    pub reclaimed: Bytes,
}

/// What the kernel counted while the recording was made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Times in which allocations stalled; intervals less than 1 s apart are one.
    pub episodes: u64,
    /// Allocations that stalled.
    pub stalls: u64,
    /// Memory they reclaimed themselves.
    pub stalled: Bytes,
    /// Time in which some task waited for memory, for this or another reason.
    pub pressure: Micros,
}

/// Counts stalls that are not [`APART`] as one.
#[derive(Debug, Default)]
struct Episodes {
    count: u64,
    last_end: Option<Duration>,
}

impl Episodes {
    fn stall(&mut self, begin: Duration, end: Duration) {
        let goes_on = match self.last_end {
            Some(last) => begin.saturating_sub(last) <= APART,
            None => false,
        };
        if !goes_on {
            self.count += 1;
        }
        self.last_end = Some(end);
    }
}

/// Adds up what the kernel counted.
#[derive(Debug, Default)]
pub(super) struct Counting {
    episodes: Episodes,
    stalls: u64,
    stalled: Pages,
    waited: u64,
}

impl Counting {
    pub(super) fn interval(&mut self, before: &Sample, after: &Sample) {
        let stalls = STALLS
            .iter()
            .filter_map(|counter| delta(before, after, counter))
            .sum::<u64>();
        if stalls > 0 {
            self.episodes.stall(before.at.get(), after.at.get());
        }
        self.stalls += stalls;
        let direct = delta(before, after, |counters| counters.pgsteal_direct);
        self.stalled += Pages::new(direct.unwrap_or(0));
        let waited = waited(after).saturating_sub(waited(before));
        self.waited = self.waited.saturating_add(waited);
    }

    pub(super) fn sum(&self, page_size: Bytes) -> Recorded {
        Recorded {
            episodes: self.episodes.count,
            stalls: self.stalls,
            stalled: self.stalled.to_bytes(page_size),
            pressure: Micros::new(self.waited),
        }
    }
}

/// Time since boot in which some task waited for memory, in µs; 0 if that is unknown.
fn waited(sample: &Sample) -> u64 {
    sample.memory_pressure.some_total.map_or(0, Micros::get)
}

/// Allocations that entered direct reclaim, by the highest zone they could use.
const STALLS: [fn(&Counters) -> Option<u64>; 6] = [
    |counters| counters.allocstall_dma,
    |counters| counters.allocstall_dma32,
    |counters| counters.allocstall_normal,
    |counters| counters.allocstall_high,
    |counters| counters.allocstall_movable,
    |counters| counters.allocstall_device,
];

/// A factor in force and the gap it gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) factor: u64,
    pub(super) gap: Pages,
}

/// Measures one arm, interval by interval.
#[derive(Debug)]
pub(super) struct Meter {
    found: Setting,
    last_raise: Option<Duration>,
    /// Raises that demand has not called for yet: when, and the gap before.
    pending: VecDeque<(Duration, Pages)>,
    in_burst: bool,
    episodes: Episodes,
    leads: Thinned<Duration>,
    stalled: Pages,
    stalled_time: Duration,
    reclaimed: Pages,
    raises: u64,
    false_alarms: u64,
    writes: u64,
    gap_time: u128,
    factor_time: u128,
    time: Duration,
}

impl Meter {
    pub(super) fn from(found: Setting) -> Self {
        Self {
            found,
            last_raise: None,
            pending: VecDeque::new(),
            in_burst: false,
            episodes: Episodes::default(),
            leads: Thinned::default(),
            stalled: Pages::ZERO,
            stalled_time: Duration::ZERO,
            reclaimed: Pages::ZERO,
            raises: 0,
            false_alarms: 0,
            writes: 0,
            gap_time: 0,
            factor_time: 0,
            time: Duration::ZERO,
        }
    }

    /// The factor changes at time `at`.
    pub(super) fn set(&mut self, at: Span, from: Setting, to: Setting) {
        if from.factor != to.factor {
            self.writes += 1;
        }
        if to.gap > from.gap {
            self.raises += 1;
            self.last_raise = Some(at.get());
            if self.pending.len() == MOST_PENDING {
                self.pending.pop_front();
                self.false_alarms += 1;
            }
            self.pending.push_back((at.get(), from.gap));
        }
        if to.gap <= self.found.gap {
            self.last_raise = None;
        }
    }

    /// Takes in an interval of the recording that begins at `begin`, with `setting` in force, and its flow.
    pub(super) fn interval(
        &mut self,
        begin: Span,
        (interval, call): (&Interval, Call),
        setting: Setting,
        flow: &Flow,
    ) {
        let begin = begin.get();
        let now = begin + interval.time;
        if let Some((first, last)) = flow.stalls {
            self.episodes.stall(begin + first, begin + last);
        }
        self.stalled += flow.stalled;
        self.stalled_time += flow.stalled_time;
        self.reclaimed += flow.reclaimed;
        self.time += interval.time;
        let nanos = interval.time.as_nanos();
        self.gap_time += u128::from(setting.gap.less(self.found.gap).get()) * nanos;
        self.factor_time += u128::from(setting.factor) * nanos;
        self.burst(begin, call, setting);
        self.judge_raises(now, call);
    }

    /// Notes how long the gap has stood when a burst begins.
    fn burst(&mut self, begin: Duration, call: Call, setting: Setting) {
        let is_burst = exceeds(call.needed, self.found.gap);
        if is_burst && !self.in_burst && setting.gap > self.found.gap {
            let lead = match self.last_raise {
                Some(raise) => begin.saturating_sub(raise),
                None => Duration::ZERO,
            };
            self.leads.push(lead);
        }
        self.in_burst = is_burst;
    }

    fn judge_raises(&mut self, now: Duration, call: Call) {
        let since = call.since.get();
        let called_for = |raise: Duration, gap: Pages| since >= raise && exceeds(call.needed, gap);
        let before = self.pending.len();
        self.pending.retain(|&(raise, gap)| !called_for(raise, gap));
        let called = before - self.pending.len();
        self.pending
            .retain(|&(raise, _)| now.saturating_sub(raise) <= CALLED_FOR);
        self.false_alarms += (before - called - self.pending.len()) as u64;
    }

    /// The sums, in bytes.
    pub(super) fn outcome(&self, arm: String, page_size: Bytes) -> Outcome {
        let gap_seconds = self.gap_time.saturating_mul(u128::from(page_size.get())) / 1_000_000_000;
        Outcome {
            arm,
            episodes: self.episodes.count,
            stalled: self.stalled.to_bytes(page_size),
            stalled_time: Span::new(self.stalled_time),
            bursts_met: self.leads.seen(),
            lead: self.leads.median().map(Span::new),
            raises: self.raises,
            false_alarms: self.false_alarms,
            gap_seconds: u64::try_from(gap_seconds).unwrap_or(u64::MAX),
            writes: self.writes,
            mean_factor: self.factor_time as f64 / self.time.as_nanos().max(1) as f64,
            reclaimed: self.reclaimed.to_bytes(page_size),
        }
    }
}

/// Counts bursts: times when demand called for more than the gap that was found.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    pub(super) count: u64,
    in_burst: bool,
}

impl Bursts {
    pub(super) fn call(&mut self, call: Call, found: Pages) {
        let now = exceeds(call.needed, found);
        if now && !self.in_burst {
            self.count += 1;
        }
        self.in_burst = now;
    }
}

fn exceeds(demand: i64, gap: Pages) -> bool {
    u64::try_from(demand).is_ok_and(|demand| demand > gap.get())
}
