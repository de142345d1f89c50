//! Bursts that came and went: how much memory they took. Growth within what such a burst takes is no
//! process that fills memory.
//!
//! ```text
//! held  ▁▁▂▅█▂▁▁▁▂▄ ‥     a rise is what is held above the trough before it,
//!          └rise┘  └rise   and has ended when half of it was given back
//! ```
//!
//! - Law: growth is a burst as before while `rise ≤ 2 · largest` and `2 · largest − rise < headroom`:
//!   two may come together. `largest` fades by half in [`HALF_LIFE`].
//! - A rise in which it was time for SIGTERM, or that ended with an OOM kill, is no burst to be ready for.
//! - Cost: O(1) a sample. Limit: the first burst is not known, and is taken for growth without end if it
//!   would fill memory within seconds.

use crate::sketch::faded;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Span};

/// The half-life of demand's statistics by default (`gap.half-life`): the gap is for the same bursts.
const HALF_LIFE: Duration = Duration::from_secs(600);

/// What is remembered of rises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Rises {
    /// The least that was held since the last rise ended; `None` before the first sample.
    trough: Option<Bytes>,
    /// The most that was held since then.
    peak: Bytes,
    /// Whether memory was about to run out since then.
    is_spoiled: bool,
    /// The largest burst, fading.
    largest: Bytes,
    /// When that was last brought up to date.
    at: Span,
}

impl Rises {
    /// Takes in what is held, and whether memory is about to run out or has run out.
    pub(super) fn push(&mut self, held: Bytes, runs_out: bool, now: Span) {
        let elapsed = now.get().saturating_sub(self.at.get());
        self.at = now;
        let kept = faded(elapsed, HALF_LIFE);
        self.largest = Bytes::new((self.largest.get() as f64 * kept) as u64);
        self.is_spoiled |= runs_out;
        self.peak = self.peak.max(held);
        let trough = self.trough.map_or(held, |trough| trough.min(held));
        self.trough = Some(trough);
        let rise = self.peak.less(trough);
        let given_back = self.peak.less(held);
        if rise > Bytes::ZERO && given_back.scaled(2, 1) >= rise {
            if !self.is_spoiled {
                self.largest = self.largest.max(rise);
            }
            self.trough = Some(held);
            self.peak = held;
            self.is_spoiled = runs_out;
        }
    }

    /// The largest burst. A rise that has not ended may stay, and then no gap is for it.
    pub(crate) fn largest(&self) -> Bytes {
        self.largest
    }

    /// Whether the present rise is within what two such bursts take as came before, and `headroom`
    /// suffices for the rest of them.
    pub(crate) fn are_known(&self, headroom: Bytes) -> bool {
        let rise = self.peak.less(self.trough.unwrap_or(self.peak));
        let two = self.largest.scaled(2, 1);
        rise <= two && two.less(rise) < headroom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sample a second, each with what is held in MiB.
    fn run(held: &[u64]) -> Rises {
        let mut rises = Rises::default();
        for (second, held) in held.iter().enumerate() {
            rises.push(Bytes::mib(*held), false, Span::secs(second as u64 + 100));
        }
        rises
    }

    #[test]
    fn a_burst_that_came_before_is_known_until_it_grows_beyond() {
        let before = [300, 400, 460, 300];
        let at = |held: &[u64]| run(&[&before, held].concat());
        assert!(at(&[350]).are_known(Bytes::mib(500)));
        assert!(at(&[350, 610]).are_known(Bytes::mib(500)));
        assert!(
            !at(&[350, 610, 630]).are_known(Bytes::mib(500)),
            "it takes more than two of them"
        );
        assert!(
            !at(&[350]).are_known(Bytes::mib(100)),
            "the rest of such a burst would not fit"
        );
    }

    #[test]
    fn nothing_is_known_of_the_first() {
        assert!(!run(&[300, 400, 460]).are_known(Bytes::mib(500)));
    }

    #[test]
    fn a_small_dip_does_not_end_a_rise() {
        let rises = run(&[300, 400, 390, 500, 480, 600]);
        assert_eq!(rises.largest, Bytes::ZERO);
        assert_eq!(rises.peak.less(rises.trough.unwrap()), Bytes::mib(300));
    }

    #[test]
    fn what_made_memory_run_out_is_no_burst() {
        let mut rises = run(&[300, 400]);
        rises.push(Bytes::mib(800), true, Span::secs(103));
        rises.push(Bytes::mib(300), false, Span::secs(104));
        assert_eq!(rises.largest, Bytes::ZERO);
        rises.push(Bytes::mib(400), false, Span::secs(105));
        rises.push(Bytes::mib(300), false, Span::secs(106));
        assert_eq!(rises.largest, Bytes::mib(100), "the next one counts again");
    }

    #[test]
    fn it_is_forgotten_by_half_in_ten_minutes() {
        let mut rises = run(&[300, 500, 300]);
        let then = rises.at.get();
        rises.push(Bytes::mib(300), false, Span::new(then + HALF_LIFE));
        assert_eq!(rises.largest, Bytes::mib(100));
    }
}
