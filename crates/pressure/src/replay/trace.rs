//! A recording as intervals of demand.

use super::reservoir::Kswapd;
use super::thinned::Thinned;
use crate::config::Config;
use crate::knob::Knob;
use crate::recording::Header;
use crate::sample::{Counters, Facts, Sample};
use std::collections::VecDeque;
use std::time::Duration;
use units::{Pages, Span};

/// Longest window over which demand is held against a gap. Over a longer time kswapd, which wakes
/// within a tenth of this, makes good what was taken; a shorter window misses slow bursts.
const WINDOW: Duration = Duration::from_secs(1);

/// Time without a sample after which nobody looked on: a guard looks every minute at least. What happened in a pause says
/// nothing of single seconds.
const PAUSE: Duration = Duration::from_secs(600);

/// Intervals in that window, at most: the guard looks ten times a second. More are of a recording that is not a guard's.
const MOST_RECENT: usize = 256;

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

/// The time between two samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) time: Duration,
    /// Gross demand in pages; negative when more was freed than taken.
    pub(super) demand: i64,
}

/// The gap that the last second of a recording called for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// In pages.
    pub(super) needed: i64,
    /// When that call began.
    pub(super) since: Span,
}

/// The samples of a recording, each with the interval that led to it.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// What the first header says.
    opening: Option<Opening>,
    /// The boot that the last header is of.
    boot: String,
    last: Option<Sample>,
}

/// What a recording begins with.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) facts: Facts,
    pub(super) config: Option<Config>,
}

impl Samples {
    pub(super) fn header(&mut self, header: &Header) {
        self.boot.clone_from(&header.facts.boot_id);
        let opening = || Opening {
            facts: header.facts.clone(),
            config: header.config.clone(),
        };
        self.opening.get_or_insert_with(opening);
    }

    pub(super) fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// The sample before.
    pub(super) fn last(&self) -> Option<&Sample> {
        self.last.as_ref()
    }

    /// The interval from the sample before to this one; `None` at the start, after a reboot, and where a counter is unknown
    /// or went back.
    pub(super) fn interval(&self, sample: &Sample) -> Option<Interval> {
        let opening = self.opening.as_ref()?;
        if self.boot != opening.facts.boot_id {
            return None;
        }
        Interval::between(self.last.as_ref()?, sample)
    }

    /// Goes on from `sample`.
    pub(super) fn pass(&mut self, sample: &Sample) {
        match &mut self.last {
            Some(last) => last.clone_from(sample),
            None => self.last = Some(sample.clone()),
        }
    }
}

/// How fast kswapd frees, found sample by sample.
#[derive(Debug, Default)]
pub(super) struct Reclaim {
    /// Rates of intervals in which it had to run throughout.
    throughout: Thinned<u64>,
    fastest: u64,
}

impl Reclaim {
    pub(super) fn interval(&mut self, before: &Sample, after: &Sample, time: Duration) {
        let stolen = delta(before, after, KSWAPD).unwrap_or(0);
        let nanos = time.as_nanos().max(1);
        let rate = u128::from(stolen) * 1_000_000_000 / nanos;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.fastest = self.fastest.max(rate);
        if rate > 0 && below_low(before) && below_low(after) {
            self.throughout.push(rate);
        }
    }

    /// Pages per second that kswapd frees while it runs, and whether that is only assumed.
    pub(super) fn rate(&self) -> (u64, bool) {
        if let Some(median) = self.throughout.median() {
            return (median, false);
        }
        if self.fastest > 0 {
            return (self.fastest, false);
        }
        (ASSUMED_RATE, true)
    }
}

/// Finds for each interval the gap that it called for: what demand took that kswapd could not make good.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Begin and demand of the intervals of the last second.
    recent: VecDeque<(Span, i64)>,
}

impl Calls {
    /// The gap that the second up to `sample` called for, with the interval that led to it.
    ///
    /// `needed = max over windows w ≤ 1 s that end with the interval of  D(w) − R · (w − τ)⁺`, in pages,
    /// with windows of whole intervals, one at least.
    pub(super) fn call(&mut self, sample: &Sample, interval: &Interval, kswapd: Kswapd) -> Call {
        let now = sample.at.get();
        let begin = Span::new(now.saturating_sub(interval.time));
        self.recent.push_back((begin, interval.demand));
        let is_old = |since: Span| since.get() + WINDOW < now;
        while self.recent.len() > 1 && is_old(self.recent[0].0) {
            self.recent.pop_front();
        }
        if self.recent.len() > MOST_RECENT {
            self.recent.pop_front();
        }
        let mut demand = 0_i64;
        let mut call = Call {
            needed: i64::MIN,
            since: begin,
        };
        for &(since, more) in self.recent.iter().rev() {
            demand = demand.saturating_add(more);
            let window = now.saturating_sub(since.get());
            let freed = kswapd.freed_within(window);
            let needed = demand.saturating_sub(freed);
            if needed > call.needed {
                call = Call { needed, since };
            }
        }
        call
    }

    /// The samples do not go on from those before.
    pub(super) fn clear(&mut self) {
        self.recent.clear();
    }
}

/// The factor that was in force before Warmset changed it.
pub(super) fn found_factor(sample: &Sample) -> Option<u64> {
    const FACTOR: Knob = Knob::WatermarkScaleFactor;
    let knobs = &sample.knobs;
    knobs.found.of(FACTOR).or(knobs.now.of(FACTOR))
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
        if time.is_zero() || time > PAUSE {
            return None;
        }
        let demand = gross_demand(before, after)?;
        Some(Self { time, demand })
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
