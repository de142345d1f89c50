//! The kernel's own floors under file pages and anonymous memory, on a patched kernel, sized by
//! measurements.
//!
//! - Law: `clean_min_ratio = ⌈100 · measured / managed⌉`, at least 1 and at most the budget, where
//!   `measured` is what is held and what thrashes besides; `clean_low_ratio` a quarter more; and the switch
//!   on. `anon_min_ratio = ⌈100 · active anonymous memory / managed⌉`, at most 25, once as much of it
//!   refaults as calls for a watch. All as found when memory is no longer short.
//! - Source: le9uo and the series in `kernel/`: reclaim leaves clean file pages alone below
//!   `clean_min_ratio` of a node.
//! - Limit: the floor is under all file pages, so a stream may lie on it. So what thrashes is held, too.

use crate::decide::draft::Draft;
use crate::decision::Reason;
use crate::knob::Knob;
use crate::protect::Why;
use std::time::Duration;
use units::{Bytes, Pages};

const SWITCH: Knob = Knob::WorkingsetProtection;
/// The most under anonymous memory, in percent: more leaves too little for everything else.
const MOST_ANON: u64 = 25;
/// A smaller change in percent is not worth a write, which every reclaimer sees.
const LEAST_CHANGE: u64 = 2;
/// All knobs that are driven here, the switch first.
const FLOORS: [Knob; 4] = [
    SWITCH,
    Knob::CleanMinRatio,
    Knob::CleanLowRatio,
    Knob::AnonMinRatio,
];

impl Draft<'_> {
    /// Drives the floors, with `held` locked; does nothing on a kernel without them.
    pub(super) fn drive_floors(&mut self, held: Pages, calm: Duration) {
        let Some(now) = self.drivable(Knob::CleanMinRatio) else {
            return;
        };
        if FLOORS.into_iter().any(|knob| self.is_by_hand(knob)) {
            return;
        }
        if calm >= self.config.protect.release_after.get() {
            return self.release_floors(self.why_calm(calm));
        }
        self.anon_floor();
        let thrashing = self.worthy().map(|open| open.more);
        let measured = (held + thrashing.sum())
            .min(self.hold_budget(self.sample.groups.kept()))
            .to_bytes(self.history.page_size);
        let managed = self.history.latest.sizes.managed.get().max(1);
        let ratio = measured.scaled(100, managed).get() + 1;
        if measured == Bytes::ZERO || ratio.abs_diff(now) < LEAST_CHANGE {
            return;
        }
        let why = Reason::Protect(Why::Floor { measured });
        self.drive(Knob::CleanMinRatio, ratio, why);
        self.drive(Knob::CleanLowRatio, (ratio * 5 / 4).min(100), why);
        if self.drivable(SWITCH) == Some(0) {
            self.drive(SWITCH, 1, why);
        }
    }

    /// Drives the floor under anonymous memory to what of it is in use, once that refaults.
    fn anon_floor(&mut self) {
        let refaults = self.history.refaults.anon >= self.config.gap.refault_target as f64;
        if !refaults || self.sample.swaps.is_empty() {
            return;
        }
        let Some(now) = self.drivable(Knob::AnonMinRatio) else {
            return;
        };
        let Some(active) = self.sample.memory.active_anon else {
            return;
        };
        let managed = self.history.latest.sizes.managed.get().max(1);
        let ratio = (active.scaled(100, managed).get() + 1).min(MOST_ANON);
        if ratio.abs_diff(now) >= LEAST_CHANGE {
            let why = Reason::Protect(Why::Anonymous { active });
            self.drive(Knob::AnonMinRatio, ratio, why);
        }
    }

    /// Puts the floors back as they were found.
    pub(super) fn release_floors(&mut self, why: Why) {
        for knob in FLOORS {
            // What the configuration sets by hand stays.
            if !self.is_by_hand(knob) {
                self.release(knob, Reason::Protect(why));
            }
        }
    }
}
