//! Time: the kernel's clocks, or the two files of a recorded machine.

use super::source::{Length, Source};
use crate::error::Error;
use pressure::sample::Wall;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;
use units::Span;

/// The monotonic clock, by which samples are dated.
pub(crate) fn monotonic() -> Duration {
    now(ClockId::Monotonic)
}

/// Time since boot including suspend: the clock of the start time in `/proc/PID/stat`.
pub(crate) fn boot_time() -> Duration {
    now(ClockId::Boottime)
}

fn now(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// Where the time of a sample comes from.
#[derive(Debug)]
pub(super) enum Clock {
    Kernel,
    /// The files `at`, in nanoseconds, and `wall`, in milliseconds since 1970.
    Recorded(Box<[Source; 2]>),
}

impl Clock {
    pub(super) fn of(root: &Path) -> Self {
        if root == Path::new("/") {
            return Self::Kernel;
        }
        let file = |name| Source::open(root.join(name), Length::One, 64);
        Self::Recorded(Box::new([file("at"), file("wall")]))
    }

    pub(super) fn read(&mut self) -> (Span, Wall) {
        match self {
            Self::Kernel => {
                let wall = now(ClockId::Realtime).as_millis();
                let wall = Wall(u64::try_from(wall).unwrap_or(u64::MAX));
                (Span::new(monotonic()), wall)
            }
            Self::Recorded(files) => {
                let [at, wall] = &mut **files;
                let nanos = at.number().unwrap_or(0);
                let wall = Wall(wall.number().unwrap_or(0));
                (Span::new(Duration::from_nanos(nanos)), wall)
            }
        }
    }

    pub(super) fn warnings(&self) -> impl Iterator<Item = &Error> {
        let files = match self {
            Self::Kernel => [None, None],
            Self::Recorded(files) => [files[0].error(), files[1].error()],
        };
        files.into_iter().flatten()
    }
}

/// When a file that is not read at every tick is due.
#[derive(Debug)]
pub(super) struct Pace {
    every: Duration,
    next: Option<Duration>,
}

impl Pace {
    pub(super) const fn every(seconds: u64) -> Self {
        Self {
            every: Duration::from_secs(seconds),
            next: None,
        }
    }

    /// Returns true at first and then once per period, and sets the next time.
    pub(super) fn is_due(&mut self, at: Duration) -> bool {
        let due = self.next.is_none_or(|next| at >= next);
        if due {
            self.next = Some(at.saturating_add(self.every));
        }
        due
    }
}
