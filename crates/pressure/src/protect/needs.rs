//! How much of its memory each protected cgroup uses, and how long it waits for it. Refaults correct what
//! the kernel's lists say.
//!
//! - Law, at each reading: `measured = min(used, warm) + missed`, where `missed` refaulted since the last
//!   reading. `need ← measured` if that is more; `need ← need − (need − measured) / 8` if nothing was
//!   missed; else it stays.
//! - Waiting: the kernel counts a wait for an evicted page as one for memory only if the page was on the
//!   active list, and code that was read once is not. So waits for disks count as far as the machine's
//!   reads are of evicted pages, in a cgroup that has [`LEAST_REFAULTS`]. A cgroup that met a limit of its
//!   own between two readings waits for nobody else: then its waiting is unknown.
//! - Source: a floor of a fixed share is too small or too large. Refaults show the one, their absence
//!   the other.
//! - Cost: O(protected cgroups) a reading.
//! - Limit: where nothing was ever reclaimed, Multi-Gen LRU calls all memory active; the budget bounds
//!   that. The classic LRU calls fresh anonymous memory inactive; refaults correct that.

use crate::groups::{MAX_PROTECTED, Protected, Waiting};
use crate::scan::UnitName;
use serde::{Deserialize, Serialize};
use units::{Bytes, Micros, Percent, Span};

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
    /// As last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
    /// Between the last two readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stalls: Option<Stalls>,
}

/// Shares of time in which all tasks of a cgroup waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stalls {
    memory: Percent,
    /// For disks, if the cgroup read evicted pages again meanwhile.
    disks: Percent,
}

/// A protected cgroup that waits for memory with all of its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StalledUnit {
    pub(crate) unit: UnitName,
    /// Share of the last seconds in which they did.
    pub(crate) stalled: Percent,
}

/// Less that is read again in a second is no thrash: 20 pages, which take a hard disk a fifth of the time, at
/// 10 ms each.
const LEAST_REFAULTS: Bytes = Bytes::kib(80);

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
                        waiting: cgroup.waiting,
                        stalls: None,
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

    /// The cgroup that waits for the largest share of time; `None` if no waiting is known. `again` is
    /// the share of what disks read that had been evicted.
    pub(crate) fn most_stalled(
        &self,
        protected: &[Protected],
        again: Percent,
    ) -> Option<StalledUnit> {
        let stalled = protected.iter().filter_map(|cgroup| {
            let stalls = self.of(cgroup)?.stalls?;
            let disks = stalls.disks.get() * again.get() / Percent::WHOLE.get();
            Some(StalledUnit {
                unit: cgroup.unit,
                stalled: stalls.memory.max(Percent::hundredths(disks)),
            })
        });
        stalled.max_by_key(|one| one.stalled)
    }
}

impl Need {
    fn read(&mut self, cgroup: &Protected, measured: Bytes) {
        if cgroup.at <= self.at {
            return;
        }
        self.missed = cgroup.refaulted.less(self.refaulted);
        self.stalls = self.stalls_until(cgroup);
        self.waiting = cgroup.waiting;
        let measured = measured + self.missed;
        if measured > self.in_use {
            self.in_use = measured;
        } else if self.missed == Bytes::ZERO {
            self.in_use = self.in_use.less(self.in_use.less(measured).scaled(1, 8));
        }
        self.at = cgroup.at;
        self.refaulted = cgroup.refaulted;
    }

    fn stalls_until(&self, cgroup: &Protected) -> Option<Stalls> {
        let before = self.waiting?;
        let now = cgroup.waiting?;
        if now.limited != before.limited {
            return None;
        }
        let elapsed = cgroup.at.get().saturating_sub(self.at.get());
        let share = |waited: Micros, until: Micros| {
            let stalled = until.get().saturating_sub(waited.get());
            Percent::ratio(stalled, elapsed.as_micros() as u64)
        };
        let least = LEAST_REFAULTS.scaled(elapsed.as_millis() as u64, 1000);
        let disks = if self.missed >= least {
            share(before.disks, now.disks)?
        } else {
            Percent::default()
        };
        Some(Stalls {
            memory: share(before.memory, now.memory)?,
            disks,
        })
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
            waiting: None,
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

    fn waiting(memory: u64, disks: u64, limited: u64) -> Waiting {
        Waiting {
            memory: Micros::new(memory * 1_000_000),
            disks: Micros::new(disks * 1_000_000),
            limited,
        }
    }

    /// The share that is known after two readings five seconds apart, `missed` MiB of refaults in between.
    fn stalled(first: Waiting, second: Option<Waiting>, missed: u64) -> Option<u64> {
        let mut needs = Needs::default();
        let before = Protected {
            waiting: Some(first),
            ..cgroup(1, 40, 0)
        };
        let now = Protected {
            waiting: second,
            ..cgroup(6, 40, missed)
        };
        needs.push(&[before]);
        assert_eq!(needs.most_stalled(&[before], Percent::WHOLE), None);
        needs.push(&[now]);
        let most = needs.most_stalled(&[now], Percent::new(50))?;
        Some(most.stalled.get() / 100)
    }

    #[test]
    fn waiting_is_known_between_two_readings_without_a_limit_of_its_own() {
        let first = waiting(7, 30, 4);
        assert_eq!(stalled(first, Some(waiting(11, 30, 4)), 0), Some(80));
        assert_eq!(stalled(first, None, 0), None, "no longer read");
        assert_eq!(
            stalled(first, Some(waiting(11, 30, 5)), 0),
            None,
            "its own limit"
        );
    }

    #[test]
    fn waits_for_disks_count_as_far_as_evicted_pages_are_read() {
        let first = waiting(7, 30, 0);
        assert_eq!(
            stalled(first, Some(waiting(7, 35, 0)), 1),
            Some(50),
            "half of them"
        );
        assert_eq!(
            stalled(first, Some(waiting(7, 35, 0)), 0),
            Some(0),
            "new pages"
        );
    }

    #[test]
    fn a_cgroup_that_is_gone_is_forgotten() {
        let mut needs = Needs::default();
        needs.push(&[cgroup(1, 40, 0)]);
        needs.push(&[]);
        assert_eq!(needs.of(&cgroup(1, 0, 0)), None);
    }
}
