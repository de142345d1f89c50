//! How much of its memory each ward uses: what was asked for again corrects what the kernel's lists say.
//!
//! - Law, at each reading: `measured = min(used, warm) + missed`, `missed` what was evicted and read again since the last;
//!   `need ← measured` if that is more; `need ← need − (need − measured) / 8` if nothing was missed; else it stays.
//! - Source: a floor of a fixed share is too small or too large; refaults say the one, their absence the other.
//! - Cost: O(wards) a reading.
//! - Limit: where nothing was ever reclaimed, Multi-Gen LRU calls all of it warm, and the budget bounds that; the classic LRU
//!   calls fresh anonymous memory cold, and refaults correct that.

use crate::groups::{MAX_PROTECTED, Protected};
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

/// What one ward needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Need {
    id: u64,
    at: Span,
    refaulted: Bytes,
    /// The most of late.
    pub(crate) in_use: Bytes,
    /// Of it, evicted and read again between the last two readings.
    pub(crate) missed: Bytes,
}

/// What all of them need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Needs {
    known: Vec<Need>,
}

impl Needs {
    /// Takes what was read in; who is no longer a ward is forgotten. Allocates once.
    pub(crate) fn push(&mut self, protected: &[Protected]) {
        self.known
            .retain(|need| protected.iter().any(|cgroup| cgroup.id == need.id));
        for cgroup in protected {
            let measured = cgroup.used.min(cgroup.warm);
            let known = self.known.iter().position(|need| need.id == cgroup.id);
            match known {
                Some(index) => self.known[index].read(cgroup, measured),
                None if self.known.len() < MAX_PROTECTED => {
                    let Protected {
                        id, at, refaulted, ..
                    } = *cgroup;
                    self.known.push(Need {
                        id,
                        at,
                        refaulted,
                        in_use: measured,
                        missed: Bytes::ZERO,
                    });
                }
                None => {}
            }
        }
    }

    /// What this ward needs.
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
        (self.at, self.refaulted) = (cgroup.at, cgroup.refaulted);
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
            "what was read again before we came says nothing"
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
    fn who_is_gone_is_forgotten() {
        let mut needs = Needs::default();
        needs.push(&[cgroup(1, 40, 0)]);
        needs.push(&[]);
        assert_eq!(needs.of(&cgroup(1, 0, 0)), None);
    }
}
