//! Who is held up at its ceiling, and since when.

use crate::groups::{MAX_THROTTLED, Throttled};
use serde::{Deserialize, Serialize};
use units::Span;

/// Who was not held up for this long does not push any more: the kernel lets nobody wait for more than 2 s at once.
const QUIET: Span = Span::millis(2500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Push {
    id: u64,
    count: u64,
    /// When it was first and last seen to be held up, in the present row of such times.
    row: Option<(Span, Span)>,
}

/// All that are contained.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pushing {
    known: Vec<Push>,
}

impl Pushing {
    /// Takes the counters of a sample in. Allocates the first time that someone is contained.
    pub(crate) fn push(&mut self, throttled: &[Throttled], now: Span) {
        self.known
            .retain(|push| throttled.iter().any(|one| one.id == push.id));
        for Throttled { id, pushes, .. } in throttled {
            let known = self.known.iter().position(|push| push.id == *id);
            match known {
                Some(index) => self.known[index].read(*pushes, now),
                None if self.known.len() < MAX_THROTTLED => {
                    self.known.push(Push {
                        id: *id,
                        count: *pushes,
                        row: None,
                    });
                }
                None => {}
            }
        }
    }

    /// For how long it has been held up; `None` if it is not.
    pub(crate) fn since(&self, id: u64, now: Span) -> Option<Span> {
        let (since, _) = self.known.iter().find(|push| push.id == id)?.row?;
        Some(Span::new(now.get().saturating_sub(since.get())))
    }
}

impl Push {
    fn read(&mut self, count: u64, now: Span) {
        if count > self.count {
            let since = self.row.map_or(now, |(since, _)| since);
            (self.count, self.row) = (count, Some((since, now)));
        } else if self
            .row
            .is_some_and(|(_, last)| now.get().saturating_sub(last.get()) >= QUIET.get())
        {
            self.row = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::UnitName;
    use units::Bytes;

    #[test]
    fn a_row_begins_with_a_push_and_ends_with_quiet() {
        let mut pushing = Pushing::default();
        let mut at = |millis: u64, pushes: u64| {
            let (unit, since) = (UnitName::new(), Span::default());
            let (used, memory_high, reserve) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
            let one = Throttled {
                id: 3,
                unit,
                since,
                used,
                memory_high,
                reserve,
                pushes,
            };
            pushing.push(&[one], Span::millis(millis));
            pushing.since(3, Span::millis(millis))
        };
        assert_eq!(at(0, 40), None, "what it did before is no row");
        assert_eq!(at(1000, 41), Some(Span::default()));
        assert_eq!(at(3000, 41), Some(Span::millis(2000)));
        assert_eq!(at(3400, 42), Some(Span::millis(2400)));
        assert_eq!(at(6000, 42), None);
        assert_eq!(at(6100, 43), Some(Span::default()), "a new row");
    }
}
