//! What is remembered of past samples: a fold over them, with no other input.
//!
//! Everything that a decision needs beyond the last sample is here, and all of it comes from samples.
//! That holds for the effect of the guard's own writes, too: a sample says what each knob is, what was
//! found, and what the guard wrote. So a recording that opens with a history and goes on with samples
//! can be decided again.

use crate::classic::Classic;
use crate::config::{Config, Predictor};
use crate::demand::Demand;
use crate::distress::Distress;
use crate::event::Event;
use crate::knob::Knob;
use crate::orders::{AskedOrders, PerHorizon, Terms};
use crate::protect::Needs;
use crate::rates::Rates;
use crate::refaults::Refaults;
use crate::sample::{Facts, Sample};
use crate::sketch::faded;
use crate::squeeze::Squeezes;
use crate::sums::{Sizes, objects, unaccounted, unreclaimable};
use crate::trend::Trend;
use crate::trial::Trial;
use crate::watermark;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Micros, Rate, Span};

/// Time between two points of the trend of unreclaimable memory. The trend keeps 16 points, so it reaches
/// back 80 s.
const TREND_STEP: Duration = Duration::from_secs(5);
/// Half-life of the running means of demand and reclaim. Longer follows a new load later; shorter takes a
/// burst for the mean.
const MEAN_HALF_LIFE: Duration = Duration::from_secs(10);
/// Half-life of the running mean of faults that wait: long enough that the start of one program does not
/// count as thrashing.
const WAITS_HALF_LIFE: Duration = Duration::from_secs(5);
/// Demand that differs by this factor from its mean counts as another regime. A smaller factor forgets
/// what was learnt at each change of load.
const REGIME_RATIO: u64 = 8;
/// Demand must differ for this long: twice the half-life of its mean.
const REGIME_TIME: Duration = Duration::from_secs(20);
/// Demand below this is taken for this much when regimes are compared, so that idle is not a regime.
const LEAST_DEMAND: u64 = 1 << 20;
/// Free memory is near the watermarks when demand of this time would reach them.
const NEAR: Duration = Duration::from_secs(2);
/// Stalls within this time are one event.
const STALL_APART: Duration = Duration::from_secs(1);
/// Each stall widens the gap by this factor, up to [`MOST_WIDEN`].
const WIDEN: f64 = 1.5;
/// A wider gap than this factor of the quantile would cost more refaults than it saves stalls.
const MOST_WIDEN: f64 = 4.0;
/// Without a stall for this long the gap narrows.
const NARROW_AFTER: Duration = Duration::from_secs(60);
/// Half-life of what stalls widened: 10 % less each minute.
const NARROW_HALF_LIFE: Duration = Duration::from_secs(360);
/// A longer time without demand is a calm, not a pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What is remembered.
///
/// A field that an older recording does not have is read as that of an empty history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "History::of_unknown_machine")]
pub struct History {
    pub(crate) page_size: Bytes,
    pub(crate) pmd_order: Option<u32>,
    half_life: Span,
    horizon: Span,
    leak_every: Span,
    pub(crate) last: Option<Sample>,
    pub(crate) latest: Latest,
    /// Samples taken in, `last` included.
    pub(crate) samples: u64,
    pub(crate) demand: Demand,
    /// What kswapd frees per second while it runs: running mean.
    pub(crate) reclaim: Rate,
    /// Gross demand: running mean.
    mean_demand: Rate,
    /// Since when demand has differed from its mean by [`REGIME_RATIO`].
    strange_since: Option<Span>,
    /// Requests for huge pages per horizon.
    #[serde(flatten)]
    pub(crate) huge_pages: PerHorizon,
    /// Blocks of other orders per horizon.
    #[serde(default)]
    pub(crate) asked_orders: AskedOrders,
    /// Memory that reclaim cannot free.
    pub(crate) unreclaimable: Trend,
    /// Memory that nothing accounts for.
    pub(crate) unaccounted: Trend,
    /// By how much stalls have widened the gap beyond the quantile, or refaults narrowed it.
    pub(crate) widen: f64,
    /// Faults that waited for an evicted page, per second: running mean.
    #[serde(default)]
    pub(crate) waits: f64,
    /// Refaults of each kind.
    #[serde(default, rename = "returns")]
    pub(crate) refaults: Refaults,
    pub(crate) last_stall: Option<Span>,
    /// When memory was last both short and asked for.
    pub(crate) last_busy: Option<Span>,
    /// The longest pause after which demand came back, fading. A calm must be longer than that.
    pause: Span,
    /// When requests for huge pages last failed or could not have been served.
    pub(crate) last_fragmented: Option<Span>,
    /// When the watermark factor last changed.
    pub(crate) last_change: Option<Span>,
    pub(crate) trial: Trial,
    /// Events that have happened since start, by their order in [`Event::ALL`].
    pub(crate) seen: [bool; Event::ALL.len()],
    pub(crate) classic: Option<Classic>,
    #[serde(default)]
    pub(crate) distress: Distress,
    /// What protected cgroups need.
    #[serde(default)]
    pub(crate) needs: Needs,
    /// What squeezed cgroups have answered.
    #[serde(default)]
    pub(crate) squeezes: Squeezes,
}

/// What the last two samples say together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Latest {
    pub(crate) elapsed: Span,
    pub(crate) demand: Option<Rate>,
    /// Change of free memory, bytes per second.
    pub(crate) free_slope: Option<f64>,
    pub(crate) allocation_stalls: u64,
    pub(crate) compaction_stalls: u64,
    pub(crate) hit_quickly: u64,
    pub(crate) refaults_per_second: Option<u64>,
    pub(crate) huge_requests: u64,
    pub(crate) huge_failures: u64,
    pub(crate) oom_kills: u64,
    pub(crate) kswapd_ran: bool,
    pub(crate) stalled: Option<Micros>,
    /// Change of directory entries and inodes, per second.
    pub(crate) object_slope: Option<i64>,
    /// Event, and the amount before and after.
    pub(crate) event: Option<(Event, Bytes, Bytes)>,
    /// Demand before and after a change of regime.
    pub(crate) regime: Option<(Rate, Rate)>,
    pub(crate) sizes: Sizes,
}

impl History {
    /// An empty history of the machine that `facts` describes, for decisions by `config`.
    pub fn new(facts: &Facts, config: &Config) -> Self {
        let mut seen = [false; Event::ALL.len()];
        seen[Event::Start as usize] = true;
        Self {
            page_size: facts.page_size,
            pmd_order: facts.pmd_order,
            half_life: config.gap.half_life,
            horizon: config.compaction.horizon,
            leak_every: config.leak.every,
            last: None,
            latest: Latest::default(),
            samples: 0,
            demand: Demand::default(),
            reclaim: Rate::ZERO,
            mean_demand: Rate::ZERO,
            strange_since: None,
            huge_pages: PerHorizon::default(),
            asked_orders: AskedOrders::default(),
            unreclaimable: Trend::default(),
            unaccounted: Trend::default(),
            widen: 1.0,
            waits: 0.0,
            refaults: Refaults::default(),
            last_stall: None,
            last_busy: None,
            pause: Span::default(),
            last_fragmented: None,
            last_change: None,
            trial: Trial::default(),
            seen,
            classic: classic_for(config),
            distress: Distress::new(&config.guard),
            needs: Needs::default(),
            squeezes: Squeezes::new(&config.squeeze),
        }
    }

    /// What stands in for fields that a recorded state does not have.
    fn of_unknown_machine() -> Self {
        Self::new(&Facts::unknown(), &Config::default())
    }

    /// Gives parts of a recorded state that take numbers from the configuration those numbers: an
    /// older state may come without these parts, and their defaults know no configuration.
    pub(crate) fn complete_by(&mut self, config: &Config) {
        self.distress.go_on_by(&config.guard);
        self.squeezes.go_on_by(&config.squeeze);
    }

    /// Goes on with another configuration; what was learnt from samples stays.
    pub fn go_on_by(&mut self, config: &Config) {
        self.half_life = config.gap.half_life;
        self.horizon = config.compaction.horizon;
        self.leak_every = config.leak.every;
        self.classic = classic_for(config);
        self.distress.go_on_by(&config.guard);
        self.squeezes.go_on_by(&config.squeeze);
    }

    /// The last sample taken in.
    pub fn last(&self) -> Option<&Sample> {
        self.last.as_ref()
    }

    /// When the sample before the last was taken.
    pub(crate) fn before(&self) -> Span {
        let at = self
            .last
            .as_ref()
            .map_or(Duration::ZERO, |last| last.at.get());
        Span::new(at.saturating_sub(self.latest.elapsed.get()))
    }

    /// Takes a sample in. Allocates nothing once it has seen a sample of the same shape.
    ///
    /// A sample that is not later than the last one replaces it, and says nothing about rates.
    pub fn push(&mut self, sample: &Sample) {
        self.samples += 1;
        let previous = self.last.take();
        self.latest = Latest {
            sizes: Sizes::of(sample, self.page_size),
            ..Latest::default()
        };
        if let Some(old) = &previous {
            if let Some(rates) = Rates::between(old, sample, self.page_size) {
                self.fold(old, sample, &rates);
            }
            self.latest.event = self.event(old);
            if let Some((event, ..)) = self.latest.event {
                self.seen[event as usize] = true;
            }
        }
        self.trends(sample);
        let is_oom_killed = self.latest.oom_kills > 0;
        self.needs.push(&sample.groups.protected);
        self.squeezes.push(&sample.groups.squeezed, self.page_size);
        self.distress
            .push(sample, self.page_size, is_oom_killed, &self.needs);
        if let Some(classic) = &mut self.classic {
            classic.push(sample);
        }
        self.last = match previous {
            Some(mut storage) => {
                storage.clone_from(sample);
                Some(storage)
            }
            None => Some(sample.clone()),
        };
    }

    fn fold(&mut self, old: &Sample, new: &Sample, rates: &Rates) {
        let elapsed = rates.elapsed;
        let seconds = elapsed.as_secs_f64();
        self.compare(old, new, rates);
        let kept = faded(elapsed, MEAN_HALF_LIFE);
        if let Some(freed) = rates.kswapd.filter(|freed| *freed > Bytes::ZERO) {
            let now = Rate::over(freed, elapsed).unwrap_or_default();
            self.reclaim = if self.reclaim == Rate::ZERO {
                now
            } else {
                mean(self.reclaim, now, kept)
            };
        }
        self.take_demand(new, rates);
        if let Some(now) = self.latest.demand {
            self.regime(new.at, now);
            self.mean_demand = mean(self.mean_demand, now, kept);
        }
        let waits = rates.waits.unwrap_or(0) as f64 / seconds;
        let kept = faded(elapsed, WAITS_HALF_LIFE);
        self.waits = self.waits * kept + waits * (1.0 - kept);
        self.refaults.push(new.at, rates);
        self.feedback(new);
        self.take_requests(old, new, elapsed);
        let factor = Knob::WatermarkScaleFactor;
        if old.knobs.ours.of(factor) != new.knobs.ours.of(factor) {
            self.last_change = Some(new.at);
        }
        self.trial.push(old, new, rates);
    }

    /// Fills in what the last two samples say together.
    fn compare(&mut self, old: &Sample, new: &Sample, rates: &Rates) {
        let seconds = rates.elapsed.as_secs_f64();
        let object_slope = match (objects(old), objects(new)) {
            (Some(before), Some(now)) => Some(((now as f64 - before as f64) / seconds) as i64),
            _ => None,
        };
        self.latest = Latest {
            elapsed: Span::new(rates.elapsed),
            demand: rates
                .demand
                .and_then(|demand| Rate::over(demand, rates.elapsed)),
            free_slope: rates.free.map(|change| change as f64 / seconds),
            allocation_stalls: rates.allocation_stalls.unwrap_or(0),
            compaction_stalls: rates.compaction_stalls.unwrap_or(0),
            hit_quickly: rates.hit_quickly.unwrap_or(0),
            refaults_per_second: rates.refaults.map(|count| (count as f64 / seconds) as u64),
            huge_requests: rates.huge_requests.unwrap_or(0),
            huge_failures: rates.huge_failures.unwrap_or(0),
            oom_kills: rates.oom_kills.unwrap_or(0),
            kswapd_ran: rates.kswapd.is_some_and(|freed| freed > Bytes::ZERO),
            stalled: rates.stalled,
            object_slope,
            ..std::mem::take(&mut self.latest)
        };
    }

    fn take_demand(&mut self, new: &Sample, rates: &Rates) {
        let Some(taken) = rates.demand else { return };
        let notable = self.notable(new);
        self.demand
            .push(new.at, taken, notable, self.half_life.get());
        let asked = self.demand.within(Duration::from_secs(1));
        let short = self.latest.kswapd_ran || self.latest.allocation_stalls > 0;
        if self.latest.allocation_stalls > 0 || (asked >= notable && (short || self.is_near(new))) {
            self.note_pause(new.at);
            self.last_busy = Some(new.at);
        }
    }

    /// Demand below this counts as rest.
    pub(crate) fn notable(&self, sample: &Sample) -> Bytes {
        self.gap_found(sample).unwrap_or_default().scaled(1, 4)
    }

    /// Remembers how long demand paused before it came back.
    fn note_pause(&mut self, at: Span) {
        let paused = self.calm(at).unwrap_or_default();
        let kept = faded(self.latest.elapsed.get(), self.half_life.get());
        let remembered = self.pause.get().mul_f64(kept);
        let pause = if paused <= LONGEST_PAUSE {
            remembered.max(paused)
        } else {
            remembered
        };
        self.pause = Span::new(pause);
    }

    /// How long a calm must be before held memory is given back: as configured, or half as long again
    /// as the pauses of this load.
    pub(crate) fn patience_with_calm(&self, configured: Duration) -> Duration {
        configured.max(self.pause.get() * 3 / 2)
    }

    /// Stalls widen the gap at once. Without stalls it goes back to the quantile slowly. Refaults
    /// narrow it further in the decision, which knows their target.
    fn feedback(&mut self, new: &Sample) {
        let is_apart = self
            .last_stall
            .is_none_or(|at| new.at.get().saturating_sub(at.get()) >= STALL_APART);
        let latest = &self.latest;
        let stalled = latest.allocation_stalls > 0
            || (latest.compaction_stalls > 0 && self.is_near(new))
            || latest.hit_quickly > 2;
        if stalled {
            if is_apart {
                self.widen = (self.widen * WIDEN).min(MOST_WIDEN);
            }
            self.last_stall = Some(new.at);
        } else if self.quiet_since_stall(new.at) >= NARROW_AFTER && is_apart {
            let kept = faded(self.latest.elapsed.get(), NARROW_HALF_LIFE);
            self.widen = 1.0 + (self.widen - 1.0) * kept;
        }
    }

    /// Counts requests for blocks: of huge pages, and of the orders that tasks have waited for.
    fn take_requests(&mut self, old: &Sample, new: &Sample, elapsed: Duration) {
        if self.latest.huge_failures > 0 || self.latest.compaction_stalls > 0 {
            self.last_fragmented = Some(new.at);
        }
        let terms = Terms {
            horizon: self.horizon.get(),
            half_life: self.half_life.get(),
        };
        self.huge_pages
            .push(new.at, elapsed, self.latest.huge_requests, terms);
        self.asked_orders.push(old, new, self.pmd_order, terms);
    }

    /// Another regime: demand eight times its mean, or an eighth of it, for twenty seconds.
    fn regime(&mut self, at: Span, now: Rate) {
        let mean = self.mean_demand.get().max(LEAST_DEMAND);
        let demand = now.get().max(LEAST_DEMAND);
        let differs = demand / mean >= REGIME_RATIO || mean / demand >= REGIME_RATIO;
        if !differs {
            self.strange_since = None;
            return;
        }
        let since = *self.strange_since.get_or_insert(at);
        if at.get().saturating_sub(since.get()) >= REGIME_TIME {
            self.latest.regime = Some((self.mean_demand, now));
            self.mean_demand = now;
            self.strange_since = None;
            self.unreclaimable.reset();
            self.demand.doubt();
        }
    }

    fn trends(&mut self, sample: &Sample) {
        if let Some(bytes) = unreclaimable(sample) {
            self.unreclaimable.push(sample.at, bytes, TREND_STEP);
        }
        if let Some(bytes) = unaccounted(sample, self.page_size) {
            self.unaccounted
                .push(sample.at, bytes, self.leak_every.get());
        }
        if matches!(
            self.latest.event,
            Some((Event::Hotplug | Event::Hugepages, ..))
        ) {
            self.unreclaimable.reset();
            self.unaccounted.reset();
        }
    }

    fn event(&self, old: &Sample) -> Option<(Event, Bytes, Bytes)> {
        let before = Sizes::of(old, self.page_size);
        let now = self.latest.sizes;
        if differ(before.huge, now.huge, 5) {
            Some((Event::Hugepages, before.huge, now.huge))
        } else if differ(before.managed, now.managed, 1) {
            Some((Event::Hotplug, before.managed, now.managed))
        } else if differ(before.swap, now.swap, 0) {
            Some((Event::Swap, before.swap, now.swap))
        } else {
            None
        }
    }

    /// The gap with the watermark factor that was found.
    pub(crate) fn gap_found(&self, sample: &Sample) -> Option<Bytes> {
        watermark::gap(
            sample,
            self.page_size,
            sample.knobs.found.of(Knob::WatermarkScaleFactor)?,
        )
        .or_else(|| watermark::observed_gap(sample, self.page_size))
    }

    /// Free memory over all zones.
    pub(crate) fn free(&self, sample: &Sample) -> Option<Bytes> {
        sample
            .counters
            .nr_free_pages
            .map(|pages| pages.to_bytes(self.page_size))
    }

    /// Whether free memory is so low that demand may soon meet the low watermark: below twice the
    /// high watermark, or below it plus two seconds of demand.
    pub(crate) fn is_near(&self, sample: &Sample) -> bool {
        let Some(free) = self.free(sample) else {
            return false;
        };
        let high: Option<units::Pages> = sample.zones.iter().map(|zone| zone.amounts.high).sum();
        let high = high.unwrap_or_default().to_bytes(self.page_size);
        let ahead = self.demand.within(NEAR).max(high);
        free < high + ahead
    }

    /// Time since the last stall, or since boot.
    pub(crate) fn quiet_since_stall(&self, at: Span) -> Duration {
        at.get()
            .saturating_sub(self.last_stall.map_or(Duration::ZERO, Span::get))
    }

    /// Time since memory was last both short and asked for; `None` if it never was.
    pub(crate) fn calm(&self, at: Span) -> Option<Duration> {
        self.last_busy
            .map(|busy| at.get().saturating_sub(busy.get()))
    }

    /// Whether the last two samples lie in different slots of length `slot`: true once per slot, and
    /// so a rate limit that needs no memory of what was done.
    pub(crate) fn enters_slot(&self, slot: Duration) -> bool {
        let Some(last) = &self.last else { return false };
        let slot = slot.as_nanos().max(1);
        let now = last.at.get().as_nanos();
        now / slot != now.saturating_sub(self.latest.elapsed.get().as_nanos()) / slot
    }
}

fn classic_for(config: &Config) -> Option<Classic> {
    match config.predictor {
        Predictor::Classic => Some(Classic::new(config.aggressiveness)),
        Predictor::BaseStock => None,
    }
}

/// The running mean, of which the share `kept` is the old one.
fn mean(old: Rate, new: Rate, kept: f64) -> Rate {
    Rate::new((old.get() as f64 * kept + new.get() as f64 * (1.0 - kept)) as u64)
}

/// Whether two sizes differ, and by at least `percent` of the first.
fn differ(a: Bytes, b: Bytes, percent: u64) -> bool {
    a != b && a.less(b) + b.less(a) >= a.scaled(percent, 100)
}
