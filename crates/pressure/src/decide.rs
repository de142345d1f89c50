//! The decision: what to do now, and why.
//!
//! ```text
//!            ┌─ guard ────────── what makes memory run out, or thrash ─► memory.high, freeze, kill
//!            ├─ setup ────────── tunables at start and after events ───► what the configuration names
//! History ─► ├─ blocks ───────── free blocks against requests ─────────► proactive compaction, then one node
//!            ├─ object caches ── dentries, inodes, on request ─────────► vfs_cache_pressure, negative dentries
//!            ├─ balance ──────── which kind refaults, on request ──────► swappiness, page-cluster, min_ttl_ms
//!            ├─ protection ───── files that thrash, protected units ───► the holder, memory.min, kernel floors
//!            ├─ squeeze ──────── what units do not use, on request ────► memory.reclaim
//!            └─ base stock ───── how much to hold free, within budget ─► vm.watermark_scale_factor, boost, reclaim
//! ```
//!
//! Each rule reads the sample, the history and the forecast, and adds steps and notices to one draft, in
//! the order of the picture. The rules are not independent of each other:
//!
//! - `guard` goes first. It sets the phase to distress, and protection and base stock ask whether
//!   memory runs out. It has rules and an arbiter of its own.
//! - Balance keeps `min_ttl_ms` as it was found while the severity is `Warn` or higher.
//! - Protection releases lent files when `guard` would otherwise have to kill. Its locks and
//!   `memory.min` share one budget.
//! - A draft has places for [`MAX_STEPS`](crate::decision::MAX_STEPS) steps. Where an earlier rule has
//!   filled it, a later one waits for the next tick.
//!
//! When the kill switch is on, every held knob is put back, every file is released, and no rule acts.
//! A knob that another program drives is put back and left alone; all rules go on with the others.

mod base_stock;
mod blocks;
mod classic_rules;
mod draft;
mod forecast;
mod guard;
mod object_caches;
mod protection;
mod reclaim_balance;
mod report;
mod setup;
mod squeeze;

pub use protection::most_held;

pub(crate) use base_stock::{RESPONSE, critical_share};

use crate::config::{Config, Predictor};
use crate::decision::{Attention, Decision, Forecast, Notice, Phase, Reason};
use crate::groups::Frozen;
use crate::history::History;
use crate::knob::KNOBS;
use crate::protect::Why;
use arrayvec::ArrayVec;
use draft::Draft;
use std::time::Duration;
use units::{Bytes, Pages, Span};

/// Samples before anything is decided: two give one rate, the third shows whether it lasts.
const LEAST_SAMPLES: u64 = 3;
/// Longest wait while files that thrash may be held, a unit is frozen, or a process was
/// signalled seconds ago. The holder reports every 200 ms, a user's answer should not wait, and memory
/// that a signal was to free may be taken as fast as it comes.
const WATCHFUL: Duration = Duration::from_millis(400);
/// Longest wait while a gap is held or samples are too few.
const ATTENTIVE: Duration = Duration::from_secs(1);
/// Minimum time between two notices that another program drives some knobs. It may do so for months.
const RIVAL_EVERY: Duration = Duration::from_secs(600);
/// Longest wait while there is demand and nothing is held.
const WATCHING: Duration = Duration::from_secs(2);

/// What to do now. Pure: in one build, the same history and configuration give the same decision on any
/// machine.
///
/// Cost: a few µs; no allocation.
pub fn decide(config: &Config, history: &History) -> Decision {
    let Some(sample) = history.last() else {
        return nothing_known();
    };
    let mut draft = Draft::new(config, history, sample);
    draft.forecast();
    draft.report();
    let attention = draft.guard();
    let phase = draft.apply_rules();
    let phase = if draft.distressed && phase != Phase::Yielding {
        Phase::Distress
    } else {
        phase
    };
    let patience = Span::new(draft.patience(phase));
    Decision {
        phase,
        forecast: draft.forecast,
        steps: draft.steps,
        notices: draft.notices,
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

impl Draft<'_> {
    /// Applies the rules in their order, but for `guard`. Returns the phase of the gap.
    fn apply_rules(&mut self) -> Phase {
        self.yield_to_rivals();
        if self.is_switched_off() {
            self.notify(Notice::Disabled);
            self.put_all_back();
            self.release_all(Why::Off);
            return Phase::Yielding;
        }
        self.setup();
        if self.history.samples < LEAST_SAMPLES {
            return Phase::Learning;
        }
        if self.config.predictor == Predictor::Classic {
            // The founding design alone: what it achieves is to be its own.
            return self.classic();
        }
        self.blocks();
        self.object_caches();
        self.balance();
        self.protect();
        self.squeeze();
        self.base_stock()
    }

    /// Whether the kill switch is on.
    fn is_switched_off(&self) -> bool {
        self.sample.circumstances.disabled == Some(1)
    }

    /// Puts back what the guard holds of the knobs that another program drives, and says so.
    fn yield_to_rivals(&mut self) {
        let knobs = self.sample.circumstances.rival_knobs();
        if knobs.is_empty() {
            return;
        }
        let mut yields = false;
        for knob in knobs.iter() {
            yields |= self.give_up(knob, Reason::Stop);
        }
        let is_first = self.history.samples <= 1;
        if is_first || yields || self.history.enters_slot(RIVAL_EVERY) {
            self.notify(Notice::Rival { knobs });
        }
    }

    fn put_all_back(&mut self) {
        for spec in KNOBS {
            self.release(spec.knob, Reason::Stop);
        }
    }

    /// How long to wait: an eighth of the time until free memory meets the low watermark at the present
    /// gross demand, within the configured bounds and the longest wait of the phase.
    fn patience(&self, phase: Phase) -> Duration {
        let fastest = self.config.wake.fastest.get();
        let calmest = self.config.wake.calmest.get();
        let low: Option<Pages> = self.sample.zones.iter().map(|zone| zone.amounts.low).sum();
        let low = low.unwrap_or_default().to_bytes(self.history.page_size);
        let free = self.history.free(self.sample).unwrap_or(Bytes::ZERO);
        let demand = self.history.latest.demand.unwrap_or_default();
        let by_demand = demand
            .time_for(free.less(low))
            .map_or(calmest, |time| time / 8);
        let mut most = match phase {
            Phase::Learning | Phase::Guarding | Phase::Easing => ATTENTIVE,
            Phase::Watching => WATCHING,
            Phase::Calm | Phase::Yielding | Phase::Backed => calmest,
            Phase::Distress => fastest,
        };
        let is_watching = self.may_hold()
            || self.sample.groups.frozen.iter().any(Frozen::is_frozen)
            || !self.sample.scan.victims.is_empty();
        if is_watching {
            most = most.min(WATCHFUL);
        }
        by_demand.clamp(fastest, most.clamp(fastest, calmest))
    }
}

#[cfg(test)]
mod tests;
