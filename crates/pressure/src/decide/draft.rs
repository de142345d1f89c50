//! A decision being made: what the rules read, and what they have added so far.

use crate::config::Config;
use crate::decision::{Action, Forecast, MAX_NOTICES, MAX_STEPS, Notice, Reason, Step};
use crate::history::History;
use crate::knob::Knob;
use crate::sample::Sample;
use arrayvec::ArrayVec;
use std::time::Duration;
use units::Span;

/// Memory that was short within this time still counts as short: some samples, for one without reclaim
/// is no calm.
pub(super) const SHORT: Duration = Duration::from_secs(5);

/// A decision being made.
pub(super) struct Draft<'h> {
    pub(super) config: &'h Config,
    pub(super) history: &'h History,
    pub(super) sample: &'h Sample,
    pub(super) forecast: Forecast,
    pub(super) steps: ArrayVec<Step, MAX_STEPS>,
    pub(super) notices: ArrayVec<Notice, MAX_NOTICES>,
    /// Memory runs out within seconds.
    pub(super) distressed: bool,
}

impl<'h> Draft<'h> {
    pub(super) fn new(config: &'h Config, history: &'h History, sample: &'h Sample) -> Self {
        Self {
            config,
            history,
            sample,
            forecast: Forecast::default(),
            steps: ArrayVec::new(),
            notices: ArrayVec::new(),
            distressed: false,
        }
    }

    /// Adds a step; one too many waits for the next tick.
    pub(super) fn step(&mut self, action: Action, why: Reason) {
        let _ = self.steps.try_push(Step { action, why });
    }

    /// Adds a notice; one too many is lost.
    pub(super) fn notify(&mut self, notice: Notice) {
        let _ = self.notices.try_push(notice);
    }

    /// Time since `when`; `None` if it never was.
    pub(super) fn ago(&self, when: Option<Span>) -> Option<Duration> {
        when.map(|when| self.sample.at.get().saturating_sub(when.get()))
    }

    /// The value of a knob that the guard may drive: it is readable, no other program has set it since,
    /// and none drives it.
    pub(super) fn drivable(&self, knob: Knob) -> Option<u64> {
        let is_rivals = self.sample.circumstances.rival_knobs().contains(knob);
        if is_rivals || self.sample.knobs.is_foreign(knob) {
            return None;
        }
        self.sample.knobs.now.of(knob)
    }

    /// Whether the configuration sets `knob` by hand: then no rule drives it.
    pub(super) fn is_by_hand(&self, knob: Knob) -> bool {
        self.config
            .tunables
            .iter()
            .any(|tunable| tunable.knob == knob)
    }

    /// Sets `knob` to `to`, or puts it back if that is what was found. No step if it is there already.
    pub(super) fn drive(&mut self, knob: Knob, to: u64, why: Reason) {
        let Some(from) = self.drivable(knob) else {
            return;
        };
        let is_held = self.sample.knobs.ours.of(knob).is_some();
        if self.sample.knobs.found.of(knob) == Some(to) {
            if is_held {
                self.step(Action::PutBack { knob, from, to }, why);
            }
        } else if from != to && knob.spec().range.contains(&to) {
            self.step(Action::Set { knob, from, to }, why);
        }
    }

    /// Puts `knob` back for another program that drives it, if the guard holds it. Returns true if it
    /// does.
    pub(super) fn give_up(&mut self, knob: Knob, why: Reason) -> bool {
        let knobs = &self.sample.knobs;
        if knobs.ours.of(knob).is_none() || knobs.is_foreign(knob) {
            return false;
        }
        let Some(from) = knobs.now.of(knob) else {
            return false;
        };
        let Some(to) = knobs.found.of(knob) else {
            return false;
        };
        self.step(Action::PutBack { knob, from, to }, why);
        true
    }

    /// Puts `knob` back if the guard holds it.
    pub(super) fn release(&mut self, knob: Knob, why: Reason) {
        if let Some(found) = self.sample.knobs.found.of(knob) {
            self.drive(knob, found, why);
        }
    }
}
