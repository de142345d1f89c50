//! How many messages of one topic are written: a token bucket that fills with time.
//!
//! A message costs one interval of its topic, and a bucket holds `BURST` intervals. Each topic has a bucket, so that a flood
//! of reasons does not hide an error, nor one of actions a signal.

use super::Topic;
use std::time::{Duration, Instant};

/// Messages written at once after silence. A decision with all its notices fits; more would let a flood fill a log.
const BURST: u32 = 20;

#[derive(Debug)]
struct Bucket {
    credit: Duration,
    /// Until when credit has been added.
    filled: Instant,
    /// Messages left out and not reported yet.
    suppressed: u64,
}

/// One bucket for each topic.
#[derive(Debug)]
pub(super) struct Budgets([Bucket; Topic::ALL.len()]);

impl Budgets {
    pub(super) fn new(now: Instant) -> Self {
        let full = |topic| Bucket {
            credit: interval(topic) * BURST,
            filled: now,
            suppressed: 0,
        };
        Self(Topic::ALL.map(full))
    }

    /// Returns true if a message may be written; otherwise counts it as suppressed.
    pub(super) fn allows(&mut self, topic: Topic, now: Instant) -> bool {
        let bucket = &mut self.0[topic as usize];
        if bucket.pays(interval(topic), now) {
            return true;
        }
        bucket.suppressed += 1;
        false
    }

    /// Topics with suppressed messages that may be reported by now, and how many those are. Each is reported once.
    pub(super) fn reports(&mut self, now: Instant) -> impl Iterator<Item = (Topic, u64)> + '_ {
        let buckets = Topic::ALL.into_iter().zip(&mut self.0);
        buckets.filter_map(move |(topic, bucket)| {
            if bucket.suppressed == 0 || !bucket.pays(interval(topic), now) {
                return None;
            }
            Some((topic, std::mem::take(&mut bucket.suppressed)))
        })
    }

    /// What is not reported yet, for the end of the program.
    pub(super) fn rest(&self) -> impl Iterator<Item = (Topic, u64)> + '_ {
        let buckets = Topic::ALL.into_iter().zip(&self.0);
        let counts = buckets.map(|(topic, bucket)| (topic, bucket.suppressed));
        counts.filter(|(_, suppressed)| *suppressed > 0)
    }

    pub(super) fn any_suppressed(&self) -> bool {
        self.0.iter().any(|bucket| bucket.suppressed > 0)
    }
}

impl Bucket {
    /// Takes one interval of credit, if there is that much.
    fn pays(&mut self, interval: Duration, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.filled);
        self.filled = self.filled.max(now);
        self.credit = (self.credit + earned).min(interval * BURST);
        match self.credit.checked_sub(interval) {
            Some(rest) => {
                self.credit = rest;
                true
            }
            None => false,
        }
    }
}

/// Time that earns one message. At verbosity 4 every tick is written, and the fastest guard has ten a second. A tick may
/// signal some processes, and what was signalled must be found in the log: signals get what ticks get.
const fn interval(topic: Topic) -> Duration {
    match topic {
        Topic::Signal | Topic::Rate | Topic::Tick | Topic::Reading => Duration::from_millis(25),
        Topic::Error | Topic::Action | Topic::Reason => Duration::from_secs(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_written_then_one_a_second() {
        let start = Instant::now();
        let mut budgets = Budgets::new(start);
        let passed = (0..100)
            .filter(|_| budgets.allows(Topic::Action, start))
            .count();
        assert_eq!(passed, 20);
        assert!(
            budgets.allows(Topic::Reason, start),
            "another topic is not touched"
        );
        let later = start + Duration::from_millis(3500);
        let passed = (0..100)
            .filter(|_| budgets.allows(Topic::Action, later))
            .count();
        assert_eq!(passed, 3);
    }

    #[test]
    fn a_flood_of_actions_hides_no_signal() {
        let start = Instant::now();
        let mut budgets = Budgets::new(start);
        while budgets.allows(Topic::Action, start) {}
        for tick in 0..100 {
            let now = start + Duration::from_millis(100) * tick;
            assert!(budgets.allows(Topic::Signal, now), "tick {tick}");
            budgets.allows(Topic::Action, now);
        }
    }

    #[test]
    fn suppressed_messages_are_reported_once() {
        let start = Instant::now();
        let mut budgets = Budgets::new(start);
        for _ in 0..25 {
            budgets.allows(Topic::Action, start);
        }
        assert_eq!(
            budgets.reports(start).count(),
            0,
            "not while the flood lasts"
        );
        assert_eq!(budgets.rest().collect::<Vec<_>>(), [(Topic::Action, 5)]);
        let later = start + Duration::from_secs(1);
        assert_eq!(
            budgets.reports(later).collect::<Vec<_>>(),
            [(Topic::Action, 5)]
        );
        assert!(!budgets.any_suppressed());
    }

    #[test]
    fn a_clock_that_steps_back_earns_nothing() {
        let before = Instant::now();
        let start = before + Duration::from_secs(50);
        let mut budgets = Budgets::new(start);
        while budgets.allows(Topic::Error, start) {}
        assert!(!budgets.allows(Topic::Error, before));
        assert!(!budgets.allows(Topic::Error, start));
    }
}
