//! A recording as intervals of demand.

use super::ReplayError;
use super::reservoir::Kswapd;
use crate::config::Config;
use crate::knob::Knob;
use crate::recording::Entry;
use crate::sample::{Counters, Facts, Sample};
use std::collections::VecDeque;
use std::time::Duration;
use units::{Pages, Span};

/// Longest window over which demand is held against a gap. Over a longer time kswapd, which wakes
/// within a tenth of this, makes good what was taken; a shorter window misses slow bursts.
const WINDOW: Duration = Duration::from_secs(1);

/// Pages per second that kswapd frees where the recording never saw it run: 100 MiB/s of 4 KiB
/// pages, an assumption that the outcome names as one.
const ASSUMED_RATE: u64 = 25_600;

/// A counter of a sample.
type Counter = fn(&Counters) -> Option<u64>;

/// Pages freed by kswapd, and by allocations themselves.
const KSWAPD: Counter = |counters| counters.pgsteal_kswapd;
const DIRECT: Counter = |counters| counters.pgsteal_direct;
/// The same by khugepaged, and on a user's request. A kernel without these counts such pages under
/// the other two.
const OTHERS: [Counter; 2] = [
    |counters| counters.pgsteal_khugepaged,
    |counters| counters.pgsteal_proactive,
];

/// A recording, read for the closed loop.
#[derive(Debug)]
pub(super) struct Trace<'a> {
    pub(super) facts: &'a Facts,
    pub(super) config: Option<&'a Config>,
    pub(super) ticks: Vec<Tick<'a>>,
}

/// A sample and what led to it.
#[derive(Debug)]
pub(super) struct Tick<'a> {
    pub(super) sample: &'a Sample,
    /// `None` at the start, after a reboot, and where a counter is unknown or went back.
    pub(super) interval: Option<Interval>,
}

/// The time between two samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) time: Duration,
    /// Gross demand in pages; negative when more was freed than taken.
    pub(super) demand: i64,
    /// The gap that the last second called for, in pages; see [`Trace::weigh`].
    pub(super) needed: i64,
    /// When that call began.
    pub(super) needed_since: Span,
}

impl<'a> Trace<'a> {
    /// Errors: no header, no two samples in a row, or counters that are nowhere known.
    pub(super) fn of(entries: &'a [Entry]) -> Result<Self, ReplayError> {
        let mut trace: Option<Self> = None;
        let mut boot = "";
        for entry in entries {
            match entry {
                Entry::Header(header) => {
                    boot = &header.facts.boot_id;
                    let opening = || Trace {
                        facts: &header.facts,
                        config: header.config.as_ref(),
                        ticks: Vec::new(),
                    };
                    trace.get_or_insert_with(opening);
                }
                Entry::Sample(sample) => {
                    let Some(trace) = &mut trace else { continue };
                    let is_same_boot = boot == trace.facts.boot_id;
                    let interval = match trace.ticks.last() {
                        Some(last) if is_same_boot => Interval::between(last.sample, sample),
                        _ => None,
                    };
                    trace.ticks.push(Tick { sample, interval });
                }
                Entry::Decision(_) | Entry::Lost(_) => {}
            }
        }
        let trace = trace
            .filter(|trace| trace.ticks.len() > 1)
            .ok_or(ReplayError::TooShort)?;
        if trace.ticks.iter().all(|tick| tick.interval.is_none()) {
            return Err(ReplayError::Unknown(
                "nr_free_pages, pgsteal_kswapd and pgsteal_direct",
            ));
        }
        Ok(trace)
    }

    /// Pages per second that kswapd frees while it runs, and whether that is only assumed.
    pub(super) fn reclaim_rate(&self) -> (u64, bool) {
        let mut throughout = Vec::new();
        let mut fastest = 0;
        for pair in self.ticks.windows(2) {
            let Some(interval) = pair[1].interval else {
                continue;
            };
            let before = pair[0].sample;
            let after = pair[1].sample;
            let stolen = delta(before, after, KSWAPD).unwrap_or(0);
            let nanos = interval.time.as_nanos().max(1);
            let rate = u128::from(stolen) * 1_000_000_000 / nanos;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            fastest = fastest.max(rate);
            if rate > 0 && below_low(before) && below_low(after) {
                throughout.push(rate);
            }
        }
        throughout.sort_unstable();
        if let Some(median) = throughout.get(throughout.len() / 2) {
            return (*median, false);
        }
        if fastest > 0 {
            return (fastest, false);
        }
        (ASSUMED_RATE, true)
    }

    /// Finds for each interval the gap that it called for: what demand took that kswapd could not make good.
    ///
    /// `needed = max over windows w ≤ 1 s that end with the interval of  D(w) − R · (w − τ)⁺`, in pages,
    /// with windows of whole intervals, one at least.
    pub(super) fn weigh(&mut self, kswapd: Kswapd) {
        let mut recent: VecDeque<(Span, i64)> = VecDeque::new();
        for tick in &mut self.ticks {
            let Some(interval) = &mut tick.interval else {
                recent.clear();
                continue;
            };
            let now = tick.sample.at.get();
            let begin = Span::new(now.saturating_sub(interval.time));
            recent.push_back((begin, interval.demand));
            while recent.len() > 1 && recent[0].0.get() + WINDOW < now {
                recent.pop_front();
            }
            let mut demand = 0_i64;
            interval.needed = i64::MIN;
            for &(since, more) in recent.iter().rev() {
                demand = demand.saturating_add(more);
                let window = now.saturating_sub(since.get());
                let freed = kswapd.freed_within(window);
                let needed = demand.saturating_sub(freed);
                if needed > interval.needed {
                    interval.needed = needed;
                    interval.needed_since = since;
                }
            }
        }
    }

    /// The factor that was in force before Warmset changed it.
    pub(super) fn found_factor(&self) -> Result<u64, ReplayError> {
        const FACTOR: Knob = Knob::WatermarkScaleFactor;
        for tick in &self.ticks {
            let knobs = &tick.sample.knobs;
            if let Some(factor) = knobs.found.of(FACTOR).or(knobs.now.of(FACTOR)) {
                return Ok(factor);
            }
        }
        Err(ReplayError::Unknown("vm.watermark_scale_factor"))
    }
}

fn below_low(sample: &Sample) -> bool {
    let low: Option<Pages> = sample.zones.iter().map(|zone| zone.amounts.low).sum();
    match (sample.counters.nr_free_pages, low) {
        (Some(free), Some(low)) => free < low,
        _ => false,
    }
}

impl Interval {
    fn between(before: &Sample, after: &Sample) -> Option<Self> {
        let time = after.since(before);
        let demand = gross_demand(before, after).filter(|_| !time.is_zero())?;
        Some(Self {
            time,
            demand,
            needed: 0,
            needed_since: before.at,
        })
    }
}

/// Pages taken, whether or not reclaim made up for them; `None` if a counter is unknown or went back.
fn gross_demand(before: &Sample, after: &Sample) -> Option<i64> {
    let mut demand = free_pages(before)?.checked_sub(free_pages(after)?)?;
    for counter in [KSWAPD, DIRECT] {
        let stolen = delta(before, after, counter)?;
        demand = demand.checked_add(i64::try_from(stolen).ok()?)?;
    }
    for counter in OTHERS {
        let stolen = delta(before, after, counter).unwrap_or(0);
        demand = demand.checked_add(i64::try_from(stolen).ok()?)?;
    }
    Some(demand)
}

fn free_pages(sample: &Sample) -> Option<i64> {
    let pages = sample.counters.nr_free_pages?;
    i64::try_from(pages.get()).ok()
}

/// Growth of a counter; `None` if unknown, or if it went back.
pub(super) fn delta(
    before: &Sample,
    after: &Sample,
    counter: impl Fn(&Counters) -> Option<u64>,
) -> Option<u64> {
    counter(&after.counters)?.checked_sub(counter(&before.counters)?)
}
