//! The kernel's own floors under file pages and anonymous memory, where a patch gives it some, sized by what was measured.
//!
//! - Law: `clean_min_ratio = ⌈100 · measured / managed⌉`, at least 1 and at most the budget, where `measured` is what is held
//!   and what thrashes besides; `clean_low_ratio` a quarter more; and the switch on. `anon_min_ratio = ⌈100 · active anonymous
//!   memory / managed⌉`, at most 25, once as much of it comes back from swap as calls for a watch. As found again when memory
//!   is no longer short.
//! - Source: le9uo and the series in `kernel/`: reclaim leaves clean file pages alone below `clean_min_ratio` of a node.
//! - Limit: the floor is under all file pages, so a stream may lie on it; that is why what thrashes is held besides.

use super::Draft;
use crate::decision::Reason;
use crate::knob::Knob;
use crate::protect::Why;
use std::time::Duration;
use units::Pages;

const SWITCH: Knob = Knob::WorkingsetProtection;
/// More under anonymous memory leaves too little for everything else, in percent.
const MOST_ANON: u64 = 25;
/// All that are driven here, the switch first.
const FLOORS: [Knob; 4] = [
    SWITCH,
    Knob::CleanMinRatio,
    Knob::CleanLowRatio,
    Knob::AnonMinRatio,
];

impl Draft<'_> {
    /// Drives the floors, `held` being locked; nothing on a kernel without it.
    pub(super) fn floors(&mut self, held: Pages, calm: Duration) {
        let Some(now) = self.drivable(Knob::CleanMinRatio) else {
            return;
        };
        if FLOORS.into_iter().any(|knob| self.is_by_hand(knob)) {
            return;
        }
        if calm >= self.config.protect.release_after.get() {
            return self.release_floors(Why::Calm {
                calm: units::Span::new(calm),
            });
        }
        self.anon_floor();
        let thrashing = self.worthy().map(|open| open.more);
        let measured = (held + thrashing.sum())
            .min(self.hold_budget(self.kept()))
            .to_bytes(self.history.page_size);
        let managed = self.history.latest.sizes.managed.get().max(1);
        let ratio = measured.scaled(100, managed).get() + 1;
        // Each write is seen by every reclaimer: one point up or down is not worth it.
        if measured == units::Bytes::ZERO || ratio.abs_diff(now) < 2 {
            return;
        }
        let why = Reason::Protect(Why::Floor { measured });
        self.drive(Knob::CleanMinRatio, ratio, why);
        self.drive(Knob::CleanLowRatio, (ratio * 5 / 4).min(100), why);
        if self.drivable(SWITCH) == Some(0) {
            self.drive(SWITCH, 1, why);
        }
    }

    /// Drives the floor under anonymous memory: what of it is in use, once that comes back from swap.
    fn anon_floor(&mut self) {
        let managed = self.history.latest.sizes.managed.get().max(1);
        let known = self
            .drivable(Knob::AnonMinRatio)
            .zip(self.sample.memory.active_anon);
        let comes_back = self.history.returns.anon >= self.config.gap.refault_target as f64;
        let Some((now, active)) = known.filter(|_| comes_back && !self.sample.swaps.is_empty())
        else {
            return;
        };
        let ratio = (active.scaled(100, managed).get() + 1).min(MOST_ANON);
        if ratio.abs_diff(now) >= 2 {
            self.drive(
                Knob::AnonMinRatio,
                ratio,
                Reason::Protect(Why::Anonymous { active }),
            );
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
