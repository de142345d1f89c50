//! Pressure: the time that tasks stall for memory, as the kernel counts it.

use super::{DT, Model};
use ::pressure::sample::Pressure;
use units::{Micros, Percent};

/// Stalls so far.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    /// Microseconds.
    pub(super) some_total: f64,
    pub(super) full_total: f64,
    some: [f64; 3],
    full: [f64; 3],
    /// Share of this step that allocating tasks spent in reclaim.
    pub(super) reclaiming: f64,
}

/// The kernel's windows, in seconds.
const WINDOWS: [f64; 3] = [10.0, 60.0, 300.0];

impl Model {
    /// Adds the stalls of this step.
    ///
    /// The kernel counts "full" for each CPU and weighs by the time that it has work. So with no more
    /// tasks than CPUs it is the mean of what they lose; with more, two of them share a CPU and both
    /// have to stall. Source: `collect_percpu_times` in `kernel/sched/psi.c`.
    pub(super) fn count_stalls(&mut self) {
        let mut tasks = 0.0;
        let mut lost = 0.0;
        let mut none_stalls = 1.0;
        for process in self.processes.iter().filter(|process| process.is_active) {
            let stalled = (1.0 - process.runs).clamp(0.0, 1.0);
            tasks += 1.0;
            lost += stalled;
            none_stalls *= 1.0 - stalled;
        }
        let some = 1.0 - none_stalls;
        let mean = if tasks > 0.0 { lost / tasks } else { 0.0 };
        let is_crowded = tasks > f64::from(self.text.machine.processors);
        let full = if is_crowded { mean * mean } else { mean };
        self.stalls.reclaiming = 0.0;
        self.stalls.some_total += some * DT * 1e6;
        self.stalls.full_total += full * DT * 1e6;
        for (window, seconds) in WINDOWS.iter().enumerate() {
            let weight = DT / seconds;
            self.stalls.some[window] += (some - self.stalls.some[window]) * weight;
            self.stalls.full[window] += (full - self.stalls.full[window]) * weight;
        }
    }

    pub(super) fn read_pressure(&self) -> Pressure {
        if !self.text.machine.psi {
            return Pressure::default();
        }
        if !self.text.machine.counters_move {
            return Pressure {
                some_total: Some(Micros::new(0)),
                full_total: Some(Micros::new(0)),
                ..Pressure::default()
            };
        }
        let share = |share: f64| Some(Percent::hundredths((share * 10_000.0) as u64));
        let stalls = &self.stalls;
        Pressure {
            some_avg10: share(stalls.some[0]),
            some_avg60: share(stalls.some[1]),
            some_avg300: share(stalls.some[2]),
            some_total: Some(Micros::new(stalls.some_total as u64)),
            full_avg10: share(stalls.full[0]),
            full_avg60: share(stalls.full[1]),
            full_avg300: share(stalls.full[2]),
            full_total: Some(Micros::new(stalls.full_total as u64)),
        }
    }
}
