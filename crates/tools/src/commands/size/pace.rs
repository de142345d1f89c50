//! When the next look is due, and when it is over: by time, or by Ctrl-C.

use crate::ui::progress;
use anyhow::Result;
use indicatif::ProgressBar;
use inspect::size::End;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Span;

/// Time between two checks for a signal: a person does not notice it.
const NAP: Duration = Duration::from_millis(50);

/// Looks at a steady pace.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    duration: Duration,
    began: Instant,
    signal: Arc<AtomicBool>,
}

impl Pace {
    /// It begins now. From here on SIGINT and SIGTERM end only the measurement.
    pub(super) fn new(interval: Span, duration: Duration) -> Result<Self> {
        let signal = Arc::new(AtomicBool::new(false));
        for number in [SIGINT, SIGTERM] {
            // A second one ends the program at once: nothing has to be put back.
            signal_hook::flag::register_conditional_default(number, Arc::clone(&signal))?;
            signal_hook::flag::register(number, Arc::clone(&signal))?;
        }
        Ok(Self {
            interval: interval.get(),
            duration,
            began: Instant::now(),
            signal,
        })
    }

    /// A bar for the whole measurement.
    pub(super) fn bar(&self, what: &str) -> ProgressBar {
        progress::seconds(what, self.duration)
    }

    /// Time since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until the next look is due; tells why there is to be none.
    pub(super) fn wait(&mut self) -> Option<End> {
        let looks = self.elapsed().as_nanos() / self.interval.as_nanos().max(1) + 1;
        let looks = u32::try_from(looks).unwrap_or(u32::MAX);
        let due = self.interval.saturating_mul(looks);
        if due > self.duration {
            return Some(End::Time);
        }
        self.sleep(due.saturating_sub(self.elapsed()))
    }

    /// Sleeps unless a signal comes.
    pub(super) fn sleep(&self, time: Duration) -> Option<End> {
        let end = Instant::now() + time;
        loop {
            if self.signal.load(Ordering::Relaxed) {
                return Some(End::Signal);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
