//! Notices of what happened to the machine, whatever is decided.

use super::draft::Draft;
use crate::decision::Notice;
use crate::knob::KNOBS;
use std::time::Duration;
use units::{Rate, Span};

/// A forecast of exhaustion is reported when it is nearer than this: there is still time to act on it.
const SOON: Duration = Duration::from_secs(600);
/// Minimum time between two such reports.
const EXHAUSTION_EVERY: Duration = Duration::from_secs(30);

impl Draft<'_> {
    /// Adds notices of events, stalls, kills, forecasts and knobs that another program set.
    pub(super) fn report(&mut self) {
        let latest = &self.history.latest;
        if let Some((event, from, to)) = latest.event {
            self.notify(Notice::Happened { event, from, to });
        }
        if latest.allocation_stalls > 0 || latest.compaction_stalls > 0 {
            self.notify(Notice::Stalled {
                allocation: latest.allocation_stalls,
                compaction: latest.compaction_stalls,
            });
        }
        if latest.oom_kills > 0 {
            self.notify(Notice::OomKill {
                count: latest.oom_kills,
            });
        }
        if let Some((from, to)) = latest.regime {
            self.notify(Notice::RegimeChange { from, to });
        }
        self.report_exhaustion();
        self.report_leak();
        self.report_foreign_knobs();
    }

    fn report_exhaustion(&mut self) {
        let Some(exhaustion) = self.forecast.exhaustion else {
            return;
        };
        if exhaustion.expected.get() < SOON && self.history.enters_slot(EXHAUSTION_EVERY) {
            self.notify(Notice::Exhaustion {
                expected: exhaustion.expected,
            });
        }
    }

    /// The leak alarm: memory that nothing accounts for grows, at every rate of its interval. O(1).
    fn report_leak(&mut self) {
        let trend = &self.history.unaccounted;
        let Some(slope) = trend.slope() else {
            return;
        };
        let Some((grown, over)) = trend.grown() else {
            return;
        };
        let leak = &self.config.leak;
        let is_alarming = leak.enabled && slope.low > 0.0 && grown >= leak.least;
        if is_alarming && self.history.enters_slot(leak.every.get() * 10) {
            self.notify(Notice::Leak {
                growth: Rate::new(slope.middle as u64),
                grown,
                over: Span::new(over),
            });
        }
    }

    fn report_foreign_knobs(&mut self) {
        let knobs = &self.sample.knobs;
        for spec in KNOBS {
            let knob = spec.knob;
            if !knobs.is_foreign(knob) {
                continue;
            }
            if let (Some(ours), Some(now)) = (knobs.ours.of(knob), knobs.now.of(knob)) {
                self.notify(Notice::Foreign { knob, ours, now });
            }
        }
    }
}
