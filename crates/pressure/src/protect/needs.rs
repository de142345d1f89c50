//! How much of its memory each protected cgroup uses: refaults correct what the kernel's lists say.
//!
//! - Law, at each reading: `measured = min(used, warm) + missed`, where `missed` refaulted since the last
//!   reading. `need ← measured` if that is more; `need ← need − (need − measured) / 8` if nothing was
//!   missed; else it stays.
//! - Source: a floor of a fixed share is too small or too large. Refaults show the one, their absence
//!   the other.
//! - Cost: O(protected cgroups) a reading.
//! - Limit: where nothing was ever reclaimed, Multi-Gen LRU calls all memory active; the budget bounds
//!   that. The classic LRU calls fresh anonymous memory inactive; refaults correct that.

use crate::groups::{MAX_PROTECTED, Protected};
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// What one cgroup needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Need {
    id: u64,
    at: Span,
    refaulted: Bytes,
    /// The most that was lately in use.
    pub(crate) in_use: Bytes,
    /// Part of it that refaulted between the last two readings.
    pub(crate) missed: Bytes,
}

/// What all protected cgroups need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Needs {
    known: Vec<Need>,
}

impl Needs {
    /// Takes a reading in. A cgroup that is no longer protected is forgotten. Allocates once.
    pub(crate) fn push(&mut self, protected: &[Protected]) {
        self.known
            .retain(|need| protected.iter().any(|cgroup| cgroup.id == need.id));
        for cgroup in protected {
            let measured = cgroup.used.min(cgroup.warm);
            let known = self.known.iter().position(|need| need.id == cgroup.id);
            match known {
                Some(index) => self.known[index].read(cgroup, measured),
                None if self.known.len() < MAX_PROTECTED => {
                    self.known.push(Need {
                        id: cgroup.id,
                        at: cgroup.at,
                        refaulted: cgroup.refaulted,
                        in_use: measured,
                        missed: Bytes::ZERO,
                    });
                }
                None => {}
            }
        }
    }

    /// What this cgroup needs.
    pub(crate) fn of(&self, cgroup: &Protected) -> Option<Need> {
        self.known.iter().find(|need| need.id == cgroup.id).copied()
    }
}

impl Need {
    fn read(&mut self, cgroup: &Protected, measured: Bytes) {
        if cgroup.at <= self.at {
            return;
        }
        self.missed = cgroup.refaulted.less(self.refaulted);
        let measured = measured + self.missed;
        if measured > self.in_use {
            self.in_use = measured;
        } else if self.missed == Bytes::ZERO {
            self.in_use = self.in_use.less(self.in_use.less(measured).scaled(1, 8));
        }
        self.at = cgroup.at;
        self.refaulted = cgroup.refaulted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::UnitName;

    fn cgroup(at: u64, warm: u64, refaulted: u64) -> Protected {
        Protected {
            id: 7,
            unit: UnitName::new(),
            at: Span::secs(at),
            used: Bytes::mib(100),
            warm: Bytes::mib(warm),
            refaulted: Bytes::mib(refaulted),
            floor: Bytes::ZERO,
            found: Bytes::ZERO,
            ours: None,
            swapped: None,
            swapped_before: None,
        }
    }

    fn after(readings: &[Protected]) -> u64 {
        let mut needs = Needs::default();
        readings.iter().for_each(|cgroup| needs.push(&[*cgroup]));
        needs.of(&readings[0]).unwrap().in_use.get() >> 20
    }

    #[test]
    fn what_is_missed_is_needed_and_what_is_not_fades() {
        assert_eq!(
            after(&[cgroup(1, 40, 500)]),
            40,
            "refaults before the first reading say nothing"
        );
        assert_eq!(
            after(&[cgroup(1, 40, 0), cgroup(2, 30, 20)]),
            50,
            "30 are there and 20 were not"
        );
        assert_eq!(
            after(&[cgroup(1, 40, 0), cgroup(2, 0, 20)]),
            40,
            "evicted is not unused"
        );
        assert_eq!(
            after(&[cgroup(1, 40, 0), cgroup(2, 0, 0), cgroup(3, 0, 0)]),
            30,
            "an eighth at a time"
        );
        assert_eq!(
            after(&[cgroup(1, 40, 0), cgroup(1, 0, 0)]),
            40,
            "the same reading twice is one"
        );
        assert_eq!(after(&[cgroup(1, 900, 0)]), 100, "no more than it has");
    }

    #[test]
    fn a_cgroup_that_is_gone_is_forgotten() {
        let mut needs = Needs::default();
        needs.push(&[cgroup(1, 40, 0)]);
        needs.push(&[]);
        assert_eq!(needs.of(&cgroup(1, 0, 0)), None);
    }
}
