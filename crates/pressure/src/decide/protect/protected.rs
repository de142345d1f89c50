//! Memory that stays with the units that must answer: `memory.min`, while memory is short.
//!
//! - Law: `floor = ⌈1.2 · need⌉` of a MiB, the smallest needs first, in all at most
//!   `min(protect.floors, 25 % − what is locked)` of memory; needs by `Needs`.
//! - Source: measured beside a runaway on stock 6.12 (ADR 11): `memory.min` holds on both LRUs; `memory.low` is taken before
//!   the kernel ends anyone, so it is not counted on.
//! - Cost: O(wards²) of 8 wards.
//! - Limit: what a unit uses is charged to who touched it first, so libraries that others brought in are not covered.

use super::{Draft, SHORT};
use crate::decision::{Action, Reason};
use crate::groups::{CgroupAction, MAX_PROTECTED, Protected};
use crate::protect::{Need, Why};
use arrayvec::ArrayVec;
use std::time::Duration;
use units::{Bytes, Pages, Percent, Span};

/// Locks and floors together are no more than this share of memory.
pub(super) const ALL: Percent = Percent::new(25);
/// A change smaller than this, or than an eighth, is not worth its writes.
const LEAST_CHANGE: Bytes = Bytes::mib(2);

impl Draft<'_> {
    /// Keeps what the wards use; says how much of memory is kept so, `held` being locked.
    pub(super) fn keep_protected(&mut self, held: Pages, calm: Duration) -> Bytes {
        if calm >= self.config.protect.release_after.get() {
            self.leave_protected(Why::Calm {
                calm: Span::new(calm),
            });
            return Bytes::ZERO;
        }
        // What keeps nothing is not counted on.
        if self.sample.warm.sums.floors == Some(0) {
            return Bytes::ZERO;
        }
        let budget = self.floors_budget(held);
        let mut kept = Bytes::ZERO;
        for (cgroup, need) in self.by_need() {
            let wanted = rounded(need.in_use + need.in_use.scaled(1, 5));
            let share = wanted.min(whole(budget.less(kept)));
            let begins = cgroup.ours.is_none();
            if is_theirs(&cgroup) || share <= cgroup.found || (begins && calm >= SHORT) {
                if !begins {
                    self.step_back(
                        &cgroup,
                        Why::Budget {
                            held: cgroup.floor,
                            budget,
                        },
                    );
                }
                continue;
            }
            // A little too much or too little is left as it is, but never beyond the budget.
            let ours = cgroup.ours.unwrap_or(Bytes::ZERO);
            let near = ours.get().abs_diff(share.get()) < LEAST_CHANGE.max(ours.scaled(1, 8)).get();
            let to = if near && ours <= budget.less(kept) && !begins {
                ours
            } else {
                share
            };
            kept += to;
            if to != cgroup.floor {
                let Protected {
                    id,
                    unit,
                    floor: from,
                    ..
                } = cgroup;
                let why = Why::Used {
                    need: need.in_use,
                    missed: need.missed,
                    kept,
                    budget,
                };
                self.step(
                    Action::Group(CgroupAction::Keep { id, unit, from, to }),
                    Reason::Protect(why),
                );
            }
        }
        kept
    }

    /// Time since memory was last about to run out. Nothing need have been reclaimed for that.
    pub(super) fn eased(&self) -> Duration {
        let distress = &self.history.distress;
        if distress.outlook.is_some_and(|outlook| outlook.is_tight()) {
            return Duration::ZERO;
        }
        self.ago(distress.warned).unwrap_or(Duration::MAX)
    }

    /// Puts every floor back as it was found.
    pub(super) fn leave_protected(&mut self, why: Why) {
        let sample = self.sample;
        for cgroup in sample
            .groups
            .protected
            .iter()
            .filter(|cgroup| cgroup.ours.is_some())
        {
            self.step_back(cgroup, why);
        }
    }

    fn step_back(&mut self, cgroup: &Protected, why: Why) {
        let Protected { id, unit, .. } = *cgroup;
        self.step(
            Action::Group(CgroupAction::Leave { id, unit }),
            Reason::Protect(why),
        );
    }

    /// The wards whose need is known, the smallest first: each byte there lets more be answered.
    fn by_need(&self) -> ArrayVec<(Protected, Need), MAX_PROTECTED> {
        let known = self.sample.groups.protected.iter();
        let mut open: ArrayVec<_, MAX_PROTECTED> = known
            .filter_map(|cgroup| Some((*cgroup, self.history.needs.of(cgroup)?)))
            .take(MAX_PROTECTED)
            .collect();
        open.sort_by_key(|(_, need)| need.in_use);
        open
    }

    fn floors_budget(&self, held: Pages) -> Bytes {
        let sizes = self.history.latest.sizes;
        let memory = sizes.managed.less(sizes.huge);
        self.config
            .protect
            .floors
            .of(memory)
            .min(ALL.of(memory).less(held.to_bytes(self.history.page_size)))
    }
}

/// Someone else has set it since, or had set more before.
fn is_theirs(cgroup: &Protected) -> bool {
    cgroup.ours.is_none() && cgroup.floor != cgroup.found
}

fn rounded(bytes: Bytes) -> Bytes {
    Bytes::mib(bytes.get().div_ceil(1 << 20))
}

fn whole(bytes: Bytes) -> Bytes {
    Bytes::mib(bytes.get() >> 20)
}
