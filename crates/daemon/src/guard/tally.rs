//! What the guard counts from its start, for the status, the metrics and the summary.

use super::Guard;
use crate::recorder::Recorder;
use host::{Applied, Outcome};
use pressure::decision::{Action, Notice};
use pressure::scan::Signal;
use pressure::{Decision, Sample, rates};
use std::time::Duration;
use units::{Bytes, Micros, Span};

/// Counters of the sample before, to count what was added since.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    at: Span,
    stalled: Option<Micros>,
    refaults: Option<u64>,
}

impl Counted {
    fn of(sample: &Sample) -> Self {
        Self {
            at: sample.at,
            stalled: sample.memory_pressure.some_total,
            refaults: rates::refaults(&sample.counters),
        }
    }
}

impl Guard {
    /// Counts one tick.
    pub(super) fn count(&mut self, decision: &Decision, outcome: &Outcome) {
        for (step, applied) in decision.steps.iter().zip(outcome.steps()) {
            self.count_step(&step.action, applied);
        }
        self.tally.samples += 1;
        self.count_since_last_sample(decision);
        self.count_notices(decision);
        if let Some(rate) = decision.forecast.demand {
            let demand = Bytes::new(rate.get());
            self.tally.peak_demand = self.tally.peak_demand.max(demand);
        }
        self.tally.lost_samples = self.recorder.as_ref().map_or(0, Recorder::lost);
        self.count_own_cost();
    }

    fn count_step(&mut self, action: &Action, applied: &Applied) {
        let tally = &mut self.tally;
        match applied {
            Applied::Written => tally.writes += 1,
            Applied::PutBack => tally.put_back += 1,
            Applied::Limited => tally.cgroup_actions += 1,
            Applied::HandedToHolder => tally.protections += 1,
            Applied::Missed(_) => tally.missed += 1,
            Applied::Refused { .. } => tally.refused += 1,
            Applied::HandedToWorker => match action {
                Action::Compact { .. } => tally.compactions += 1,
                Action::Reclaim { .. } => tally.reclaims += 1,
                _ => {}
            },
            Applied::Signalled => match action {
                Action::Kill {
                    signal: Signal::Kill,
                    ..
                } => tally.killed += 1,
                _ => tally.asked += 1,
            },
            // Nothing was changed.
            Applied::Overtaken | Applied::Dropped => {}
        }
    }

    /// Adds what the kernel's counters gained since the sample before.
    fn count_since_last_sample(&mut self, decision: &Decision) {
        let now = Counted::of(&self.sample);
        let Some(before) = self.counted.replace(now) else {
            return;
        };
        let tally = &mut self.tally;
        let elapsed = now.at.get().saturating_sub(before.at.get());
        let withheld = decision.forecast.withheld.unwrap_or_default();
        tally.gap_seconds += byte_seconds(withheld, elapsed);
        let squeezed = decision.forecast.squeezed.unwrap_or_default();
        tally.squeezed_seconds += byte_seconds(squeezed, elapsed);
        if let (Some(old), Some(new)) = (before.stalled, now.stalled) {
            let gained = new.get().saturating_sub(old.get());
            tally.stalled = Micros::new(tally.stalled.get() + gained);
        }
        if let (Some(old), Some(new)) = (before.refaults, now.refaults) {
            tally.refaults += new.saturating_sub(old);
        }
    }

    fn count_notices(&mut self, decision: &Decision) {
        for notice in &decision.notices {
            match notice {
                Notice::Stalled {
                    allocation,
                    compaction,
                } => {
                    self.tally.allocation_stalls += allocation;
                    self.tally.compaction_stalls += compaction;
                }
                Notice::OomKill { count } => self.tally.oom_kills += count,
                _ => {}
            }
        }
    }

    /// The CPU time and memory of this process; the last known size where it cannot be read.
    fn count_own_cost(&mut self) {
        let (cpu, memory) = self.cost.read();
        self.tally.own_cpu = cpu;
        if let Some(memory) = memory {
            self.tally.own_memory = memory;
        }
    }
}

fn byte_seconds(amount: Bytes, time: Duration) -> u64 {
    (amount.get() as f64 * time.as_secs_f64()) as u64
}
