//! How much of its memory each ward uses: what was asked for again corrects what the kernel's lists say.
//!
//! - Law, at each reading: `measured = min(used, warm) + missed`, `missed` what was evicted and read again since the last;
//!   `need ← measured` if that is more; `need ← need − (need − measured) / 8` if nothing was missed; else it stays.
//! - Source: a floor of a fixed share is too small or too large; refaults say the one, their absence the other.
//! - Cost: O(wards) a reading.
//! - Limit: where nothing was ever reclaimed, Multi-Gen LRU calls all of it warm, and the budget bounds that; the classic LRU
//!   calls fresh anonymous memory cold, and refaults correct that.

use crate::groups::{MAX_WARDS, Ward};
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
    pub(crate) fn push(&mut self, wards: &[Ward]) {
        self.known
            .retain(|need| wards.iter().any(|ward| ward.id == need.id));
        for ward in wards {
            let measured = ward.used.min(ward.warm);
            let known = self.known.iter().position(|need| need.id == ward.id);
            match known {
                Some(index) => self.known[index].read(ward, measured),
                None if self.known.len() < MAX_WARDS => {
                    let Ward {
                        id, at, refaulted, ..
                    } = *ward;
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
    pub(crate) fn of(&self, ward: &Ward) -> Option<Need> {
        self.known.iter().find(|need| need.id == ward.id).copied()
    }
}

impl Need {
    fn read(&mut self, ward: &Ward, measured: Bytes) {
        if ward.at <= self.at {
            return;
        }
        self.missed = ward.refaulted.less(self.refaulted);
        let measured = measured + self.missed;
        if measured > self.in_use {
            self.in_use = measured;
        } else if self.missed == Bytes::ZERO {
            self.in_use = self.in_use.less(self.in_use.less(measured).scaled(1, 8));
        }
        (self.at, self.refaulted) = (ward.at, ward.refaulted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::census::UnitName;

    fn ward(at: u64, warm: u64, refaulted: u64) -> Ward {
        Ward {
            id: 7,
            unit: UnitName::new(),
            at: Span::secs(at),
            used: Bytes::mib(100),
            warm: Bytes::mib(warm),
            refaulted: Bytes::mib(refaulted),
            floor: Bytes::ZERO,
            found: Bytes::ZERO,
            ours: None,
            away: None,
            away_before: None,
        }
    }

    fn after(readings: &[Ward]) -> u64 {
        let mut needs = Needs::default();
        readings.iter().for_each(|ward| needs.push(&[*ward]));
        needs.of(&readings[0]).unwrap().in_use.get() >> 20
    }

    #[test]
    fn what_is_missed_is_needed_and_what_is_not_fades() {
        assert_eq!(
            after(&[ward(1, 40, 500)]),
            40,
            "what was read again before we came says nothing"
        );
        assert_eq!(
            after(&[ward(1, 40, 0), ward(2, 30, 20)]),
            50,
            "30 are there and 20 were not"
        );
        assert_eq!(
            after(&[ward(1, 40, 0), ward(2, 0, 20)]),
            40,
            "evicted is not unused"
        );
        assert_eq!(
            after(&[ward(1, 40, 0), ward(2, 0, 0), ward(3, 0, 0)]),
            30,
            "an eighth at a time"
        );
        assert_eq!(
            after(&[ward(1, 40, 0), ward(1, 0, 0)]),
            40,
            "the same reading twice is one"
        );
        assert_eq!(after(&[ward(1, 900, 0)]), 100, "no more than it has");
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let mut needs = Needs::default();
        needs.push(&[ward(1, 40, 0)]);
        needs.push(&[]);
        assert_eq!(needs.of(&ward(1, 0, 0)), None);
    }
}
