//! The decision: what to do now, and why.
//!
//! ```text
//!            ┌─ gap ──── how much to hold free, within budget ──► vm.watermark_scale_factor, boost, reclaim
//! History ─► ├─ blocks ─ free blocks against requests ──────────► proactive compaction, then one node
//!            ├─ caches ─ names, inodes, on request ─────────────► vfs_cache_pressure, negative dentries
//!            ├─ balance ─ which kind comes back, on request ────► swappiness, page-cluster, min_ttl_ms
//!            ├─ protect ─ files that thrash ────────────────────► the process that locks
//!            └─ setup ── tunables at start and after events ────► what the configuration names
//! ```
//!
//! Each part reads the history and proposes steps; none knows of the others. When someone else drives
//! (the kill switch, a rival, a read-only `/proc/sys`) every held knob is put back and nothing is set.

mod ask;
mod balance;
mod blocks;
mod caches;
mod gap;
mod protect;
mod rules;
mod runaway;
mod setup;
mod throttle;

pub(crate) use gap::{RESPONSE, critical_share};

use crate::config::{Config, Predictor};
use crate::decision::{
    Action, Attention, Decision, Exhaustion, Forecast, MAX_NOTICES, MAX_STEPS, Notice, Phase,
    Reason, Step,
};
use crate::groups::Frozen;
use crate::history::History;
use crate::knob::{KNOBS, Knob};
use crate::sample::Sample;
use crate::sums::unreclaimable;
use arrayvec::ArrayVec;
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// Samples before anything is decided.
const LEAST_SAMPLES: u64 = 3;
/// A forecast of exhaustion nearer than this is worth a word.
const SOON: Duration = Duration::from_secs(600);

/// Memory was short so lately that it still is.
const SHORT: Duration = Duration::from_secs(5);
/// Longest wait while what leaves the page cache is watched.
const WATCHFUL: Duration = Duration::from_millis(400);

/// A decision being made.
struct Draft<'h> {
    config: &'h Config,
    history: &'h History,
    sample: &'h Sample,
    forecast: Forecast,
    steps: ArrayVec<Step, MAX_STEPS>,
    notices: ArrayVec<Notice, MAX_NOTICES>,
    /// Memory runs out within seconds.
    distressed: bool,
}

/// What to do now. Pure: the same history and configuration give the same decision everywhere.
///
/// Cost: a few µs; no allocation.
pub fn decide(config: &Config, history: &History) -> Decision {
    let Some(sample) = history.last() else {
        return nothing_known();
    };
    let mut draft = Draft::new(config, history, sample);
    draft.forecast();
    draft.tell();
    let attention = draft.runaway();
    let phase = if let Some(notice) = draft.outranked() {
        draft.say(notice);
        draft.put_all_back();
        draft.let_all_go(crate::protect::Why::Off);
        Phase::Yielding
    } else if history.samples < LEAST_SAMPLES {
        draft.setup();
        Phase::Learning
    } else {
        draft.setup();
        draft.blocks();
        draft.caches();
        draft.balance();
        draft.protect();
        match config.predictor {
            Predictor::BaseStock => draft.base_stock(),
            Predictor::Classic => draft.classic(),
        }
    };
    let phase = if draft.distressed && phase != Phase::Yielding {
        Phase::Distress
    } else {
        phase
    };
    let patience = Span::new(draft.patience(phase));
    let Draft {
        forecast,
        steps,
        notices,
        ..
    } = draft;
    Decision {
        phase,
        forecast,
        steps,
        notices,
        patience,
        attention,
    }
}

fn nothing_known() -> Decision {
    Decision {
        phase: Phase::Learning,
        forecast: Forecast::default(),
        steps: ArrayVec::new(),
        notices: ArrayVec::new(),
        patience: Span::secs(1),
        attention: Attention::Rest,
    }
}

impl<'h> Draft<'h> {
    fn new(config: &'h Config, history: &'h History, sample: &'h Sample) -> Self {
        let (forecast, steps, notices) = (Forecast::default(), ArrayVec::new(), ArrayVec::new());
        Self {
            config,
            history,
            sample,
            forecast,
            steps,
            notices,
            distressed: false,
        }
    }

    /// Adds a step; one too many waits for the next tick.
    fn step(&mut self, action: Action, why: Reason) {
        let _ = self.steps.try_push(Step { action, why });
    }

    fn say(&mut self, notice: Notice) {
        let _ = self.notices.try_push(notice);
    }

    /// Time since then; `None` if it never was.
    fn ago(&self, when: Option<Span>) -> Option<Duration> {
        when.map(|when| self.sample.at.get().saturating_sub(when.get()))
    }

    /// The value of a knob that we may drive: readable, and not set by someone else since.
    fn drivable(&self, knob: Knob) -> Option<u64> {
        self.sample
            .knobs
            .now
            .of(knob)
            .filter(|_| !self.sample.knobs.is_foreign(knob))
    }

    /// Whether the configuration sets `knob` by hand: then nothing else does.
    fn is_by_hand(&self, knob: Knob) -> bool {
        self.config
            .tunables
            .iter()
            .any(|tunable| tunable.knob == knob)
    }

    /// Sets `knob` to `to`, or puts it back if that is what was found. Nothing if it is there already.
    fn drive(&mut self, knob: Knob, to: u64, why: Reason) {
        let Some(from) = self.drivable(knob) else {
            return;
        };
        let held = self.sample.knobs.ours.of(knob).is_some();
        if self.sample.knobs.found.of(knob) == Some(to) {
            if held {
                self.step(Action::PutBack { knob, from, to }, why);
            }
        } else if from != to && knob.spec().range.contains(&to) {
            self.step(Action::Set { knob, from, to }, why);
        }
    }

    /// Puts `knob` back if we hold it.
    fn release(&mut self, knob: Knob, why: Reason) {
        if let Some(found) = self.sample.knobs.found.of(knob) {
            self.drive(knob, found, why);
        }
    }

    /// Who else is in charge, if anyone.
    fn outranked(&self) -> Option<Notice> {
        let circumstances = &self.sample.circumstances;
        if circumstances.disabled == Some(1) {
            Some(Notice::Disabled)
        } else if circumstances.rival_tuner == Some(1) {
            Some(Notice::Rival)
        } else {
            None
        }
    }

    fn put_all_back(&mut self) {
        KNOBS
            .iter()
            .for_each(|spec| self.release(spec.knob, Reason::Stop));
    }

    /// What people should know, whatever is decided.
    fn tell(&mut self) {
        let latest = &self.history.latest;
        if let Some((event, from, to)) = latest.event {
            self.say(Notice::Happened { event, from, to });
        }
        if latest.allocation_stalls > 0 || latest.compaction_stalls > 0 {
            self.say(Notice::Stalled {
                allocation: latest.allocation_stalls,
                compaction: latest.compaction_stalls,
            });
        }
        if latest.oom_kills > 0 {
            self.say(Notice::OomKill {
                count: latest.oom_kills,
            });
        }
        if let Some((from, to)) = latest.regime {
            self.say(Notice::RegimeChange { from, to });
        }
        if let Some(exhaustion) = self.forecast.exhaustion {
            if exhaustion.expected.get() < SOON && self.history.enters_slot(Duration::from_secs(30))
            {
                self.say(Notice::Exhaustion {
                    expected: exhaustion.expected,
                });
            }
        }
        self.leak();
        for spec in KNOBS {
            let knob = spec.knob;
            if let (true, Some(ours), Some(now)) = (
                self.sample.knobs.is_foreign(knob),
                self.sample.knobs.ours.of(knob),
                self.sample.knobs.now.of(knob),
            ) {
                self.say(Notice::Foreign { knob, ours, now });
            }
        }
    }

    /// The leak alarm: memory nothing accounts for, growing with all of its interval. O(1).
    fn leak(&mut self) {
        let trend = &self.history.unaccounted;
        let (Some(slope), Some((grown, over))) = (trend.slope(), trend.grown()) else {
            return;
        };
        let alarming =
            self.config.leak.enabled && slope.low > 0.0 && grown >= self.config.leak.least;
        if alarming && self.history.enters_slot(self.config.leak.every.get() * 10) {
            self.say(Notice::Leak {
                growth: Rate::new(slope.middle as u64),
                grown,
                over: Span::new(over),
            });
        }
    }

    fn forecast(&mut self) {
        let history = self.history;
        let page_size = history.page_size;
        let free = history.free(self.sample);
        let min: Option<units::Pages> = self.sample.zones.iter().map(|zone| zone.amounts.min).sum();
        let min = min.map(|pages| pages.to_bytes(page_size));
        let factor = |values: &crate::knob::KnobValues| values.of(Knob::WatermarkScaleFactor);
        self.forecast = Forecast {
            demand: history.latest.demand,
            reclaim: (history.reclaim > Rate::ZERO).then_some(history.reclaim),
            gap: crate::watermark::observed_gap(self.sample, page_size),
            gap_found: history.gap_found(self.sample),
            withheld: factor(&self.sample.knobs.found)
                .zip(factor(&self.sample.knobs.now))
                .and_then(|(found, now)| {
                    crate::watermark::withheld(self.sample, page_size, found, now)
                }),
            exhaustion: self.exhaustion(),
            until_min: free.zip(min).zip(history.latest.free_slope).and_then(
                |((free, min), slope)| {
                    let falling = (slope < 0.0).then_some(Rate::new(-slope as u64))?;
                    falling.time_for(free.less(min)).map(Span::new)
                },
            ),
            ..Forecast::default()
        };
    }

    /// Time until memory that reclaim cannot free fills memory and swap: `headroom / slope`, with the
    /// bounds of the slope. `None` unless it grows by more than 0.01 % of memory a second.
    fn exhaustion(&self) -> Option<Exhaustion> {
        let slope = self.history.unreclaimable.slope()?;
        let sizes = self.history.latest.sizes;
        if slope.middle <= sizes.managed.get() as f64 / 10_000.0 || slope.low <= 0.0 {
            return None;
        }
        let min: Option<units::Pages> = self.sample.zones.iter().map(|zone| zone.amounts.min).sum();
        let floor = min?.to_bytes(self.history.page_size) + sizes.huge;
        let swap = self.sample.memory.swap_free.unwrap_or_default();
        let headroom = (sizes.managed + swap)
            .less(floor)
            .less(unreclaimable(self.sample)?);
        let time = |slope: f64| {
            Rate::new(slope.max(1.0) as u64)
                .time_for(headroom)
                .map(Span::new)
        };
        Some(Exhaustion {
            growth: Rate::new(slope.middle as u64),
            earliest: time(slope.high)?,
            expected: time(slope.middle)?,
            latest: time(slope.low),
        })
    }

    /// How long to wait: an eighth of the time until free memory meets the low watermark at the present
    /// gross demand, bounded; shorter while something is held, a second while learning.
    fn patience(&self, phase: Phase) -> Duration {
        let wake = &self.config.wake;
        let (fastest, calmest) = (wake.fastest.get(), wake.calmest.get());
        let low: Option<units::Pages> = self.sample.zones.iter().map(|zone| zone.amounts.low).sum();
        let low = low.unwrap_or_default().to_bytes(self.history.page_size);
        let headroom = self
            .history
            .free(self.sample)
            .unwrap_or(Bytes::ZERO)
            .less(low);
        let demand = self.history.latest.demand.unwrap_or_default();
        let by_demand = demand.time_for(headroom).map_or(calmest, |time| time / 8);
        let most = match phase {
            Phase::Learning | Phase::Guarding | Phase::Easing => Duration::from_secs(1),
            Phase::Watching => Duration::from_secs(2),
            Phase::Calm | Phase::Yielding | Phase::Backed => calmest,
            Phase::Distress => fastest,
        };
        // What thrashes is told of five times a second; a person's answer is not to wait.
        let watched = self.sample.warm.sums.watching == Some(1)
            || self.sample.groups.frozen.iter().any(Frozen::is_frozen);
        let most = if watched { most.min(WATCHFUL) } else { most };
        by_demand.clamp(fastest, most.clamp(fastest, calmest))
    }
}

#[cfg(test)]
mod tests;
