//! Since when each throttled cgroup has been held at its `memory.high`.

use crate::groups::{MAX_THROTTLED, Throttled};
use serde::{Deserialize, Serialize};
use units::Span;

/// A cgroup that was not throttled for this long is no longer at its limit. The kernel lets a task
/// wait at most 2 s at once (`MEMCG_MAX_HIGH_DELAY_JIFFIES`), so a longer silence means that nothing
/// waits.
const QUIET: Span = Span::millis(2500);

/// What was seen of one throttled cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct AtLimit {
    id: u64,
    /// Its counter of `high` events at the last sample.
    count: u64,
    /// When the counter was first and last seen to rise, in the present row of such times.
    row: Option<(Span, Span)>,
}

/// What was seen of all throttled cgroups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct AtLimits {
    known: Vec<AtLimit>,
}

impl AtLimits {
    /// Takes the counters of a sample in. Allocates the first time that a cgroup is throttled.
    pub(crate) fn push(&mut self, throttled: &[Throttled], now: Span) {
        self.known
            .retain(|known| throttled.iter().any(|cgroup| cgroup.id == known.id));
        for cgroup in throttled {
            let known = self.known.iter().position(|known| known.id == cgroup.id);
            match known {
                Some(index) => self.known[index].read(cgroup.pushes, now),
                None if self.known.len() < MAX_THROTTLED => self.known.push(AtLimit {
                    id: cgroup.id,
                    count: cgroup.pushes,
                    row: None,
                }),
                None => {}
            }
        }
    }

    /// For how long the cgroup has been at its limit; `None` if it is not.
    pub(crate) fn since(&self, id: u64, now: Span) -> Option<Span> {
        let known = self.known.iter().find(|known| known.id == id)?;
        let (since, _) = known.row?;
        Some(Span::new(now.get().saturating_sub(since.get())))
    }
}

impl AtLimit {
    fn read(&mut self, count: u64, now: Span) {
        if count > self.count {
            let since = self.row.map_or(now, |(since, _)| since);
            self.count = count;
            self.row = Some((since, now));
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
    fn a_row_begins_with_a_high_event_and_ends_with_quiet() {
        let mut limits = AtLimits::default();
        let mut at = |millis: u64, pushes: u64| {
            let cgroup = Throttled {
                id: 3,
                unit: UnitName::new(),
                since: Span::default(),
                used: Bytes::ZERO,
                memory_high: Bytes::ZERO,
                reserve: Bytes::ZERO,
                pushes,
            };
            limits.push(&[cgroup], Span::millis(millis));
            limits.since(3, Span::millis(millis))
        };
        assert_eq!(at(0, 40), None, "earlier events make no row");
        assert_eq!(at(1000, 41), Some(Span::default()));
        assert_eq!(at(3000, 41), Some(Span::millis(2000)));
        assert_eq!(at(3400, 42), Some(Span::millis(2400)));
        assert_eq!(at(6000, 42), None);
        assert_eq!(at(6100, 43), Some(Span::default()), "a new row");
    }
}
