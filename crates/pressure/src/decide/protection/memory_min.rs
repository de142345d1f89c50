//! `memory.min` of the units that must answer, while memory is short.
//!
//! - Law: `floor = ⌈1.2 · need⌉` in MiB, the smallest needs first, in all at most
//!   `min(protect.floors, 25 % − what is locked)` of memory; needs by `Needs`.
//! - Source: measured beside a runaway on stock 6.12 (ADR 11): `memory.min` protects on both LRUs.
//!   `memory.low` is reclaimed before the kernel OOM-kills, so it is not relied on.
//! - Cost: O(cgroups²) of 8 protected cgroups.
//! - Limit: the kernel charges a page to the cgroup that touched it first, so libraries that others loaded
//!   are not covered.

use crate::decide::draft::{Draft, SHORT};
use crate::decision::{Action, Reason};
use crate::distress::is_tight;
use crate::groups::{CgroupAction, MAX_PROTECTED, Protected};
use crate::protect::{Need, Why};
use arrayvec::ArrayVec;
use std::time::Duration;
use units::{Bytes, Pages, Percent};

/// Locks and `memory.min` together are no more than this share of memory: what is left must suffice for
/// everything else.
pub(super) const ALL: Percent = Percent::new(25);
/// A change smaller than this, or than an eighth, is not worth its writes.
const LEAST_CHANGE: Bytes = Bytes::mib(2);
/// A share for `protect.floors` is of no more memory than this: services and a desktop's own programs do
/// not use more because there is more of it. 10 % of it are 256 MiB, enough for sshd, D-Bus and a shell.
const SHARES_OF: Bytes = Bytes::mib(2560);

impl Draft<'_> {
    /// Protects what these cgroups use, with `held` of memory locked. Returns how much is protected.
    pub(super) fn protect_cgroups(&mut self, held: Pages, calm: Duration) -> Bytes {
        if calm >= self.config.protect.release_after.get() {
            self.release_cgroups(self.why_calm(calm));
            return Bytes::ZERO;
        }
        // Where `memory.min` was seen not to work, it is not relied on.
        if self.sample.warm.sums.floors == Some(0) {
            return Bytes::ZERO;
        }
        let budget = self.floors_budget(held);
        let mut kept = Bytes::ZERO;
        for (cgroup, need) in self.by_need() {
            let left = budget.less(kept);
            let share = wanted(&need).min(whole_mib(left));
            let is_new = cgroup.ours.is_none();
            let is_refused = is_foreign(&cgroup) || share <= cgroup.found;
            if is_refused || (is_new && calm >= SHORT) {
                if !is_new {
                    let held = cgroup.floor;
                    self.put_back(&cgroup, Why::Budget { held, budget });
                }
                continue;
            }
            let to = next_floor(&cgroup, share, left);
            kept += to;
            if to != cgroup.floor {
                let why = Why::Used {
                    need: need.in_use,
                    missed: need.missed,
                    kept,
                    budget,
                };
                self.set_floor(&cgroup, to, why);
            }
        }
        kept
    }

    fn set_floor(&mut self, cgroup: &Protected, to: Bytes, why: Why) {
        let action = CgroupAction::Keep {
            id: cgroup.id,
            unit: cgroup.unit,
            from: cgroup.floor,
            to,
        };
        self.step(Action::Group(action), Reason::Protect(why));
    }

    /// Time since headroom was last tight or users were warned. Nothing need have been reclaimed for that.
    pub(super) fn since_tight(&self) -> Duration {
        let distress = &self.history.distress;
        if distress.outlook.is_some_and(|outlook| is_tight(&outlook)) {
            return Duration::ZERO;
        }
        self.ago(distress.warned).unwrap_or(Duration::MAX)
    }

    /// Puts every `memory.min` back as it was found.
    pub(super) fn release_cgroups(&mut self, why: Why) {
        let sample = self.sample;
        for cgroup in &sample.groups.protected {
            if cgroup.ours.is_some() {
                self.put_back(cgroup, why);
            }
        }
    }

    fn put_back(&mut self, cgroup: &Protected, why: Why) {
        let action = CgroupAction::Leave {
            id: cgroup.id,
            unit: cgroup.unit,
        };
        self.step(Action::Group(action), Reason::Protect(why));
    }

    /// The cgroups with a known need, the smallest first, so that the budget serves as many as it can.
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
            .of(memory.min(SHARES_OF))
            .min(ALL.of(memory).less(held.to_bytes(self.history.page_size)))
    }
}

/// The `memory.min` that a need calls for: a fifth more, in whole MiB.
fn wanted(need: &Need) -> Bytes {
    let with_margin = need.in_use + need.in_use.scaled(1, 5);
    Bytes::mib(with_margin.get().div_ceil(1 << 20))
}

/// The new `memory.min`. The old one stays if it is near enough and fits what is left of the budget.
fn next_floor(cgroup: &Protected, share: Bytes, left: Bytes) -> Bytes {
    let Some(ours) = cgroup.ours else {
        return share;
    };
    let least_change = LEAST_CHANGE.max(ours.scaled(1, 8));
    let is_near = ours.get().abs_diff(share.get()) < least_change.get();
    if is_near && ours <= left { ours } else { share }
}

/// Whether another program has set it since, or had set it before.
fn is_foreign(cgroup: &Protected) -> bool {
    cgroup.ours.is_none() && cgroup.floor != cgroup.found
}

fn whole_mib(bytes: Bytes) -> Bytes {
    Bytes::mib(bytes.get() >> 20)
}
