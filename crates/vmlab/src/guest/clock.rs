//! Time that all processes of the guest share: milliseconds since boot.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Milliseconds since boot.
pub(crate) fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Sleeps until `wanted`, but not beyond `end`. Returns true if it is not `end` yet.
pub(crate) fn sleep_until(wanted: f64, end: f64) -> bool {
    let left = wanted.min(end) - now();
    if left > 0.0 {
        std::thread::sleep(Duration::from_secs_f64(left / 1e3));
    }
    now() < end
}

/// When counting begins and when the load ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    /// Milliseconds since boot at which counting begins.
    pub(crate) from: f64,
    /// Milliseconds since boot at which the load ends.
    pub(crate) until: f64,
}

impl Window {
    /// Returns true if something that began at this moment counts.
    pub(crate) fn has(self, time: f64) -> bool {
        (self.from..self.until).contains(&time)
    }

    /// From the worker's environment. A worker that is run by hand has ten seconds from now.
    pub(crate) fn from_environment() -> Self {
        let from = milliseconds("WARMSET_FROM").unwrap_or_else(now);
        let until = milliseconds("WARMSET_UNTIL").unwrap_or(from + 10_000.0);
        Self { from, until }
    }
}

fn milliseconds(variable: &str) -> Option<f64> {
    std::env::var(variable).ok()?.parse().ok()
}
