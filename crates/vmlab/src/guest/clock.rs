//! Time that all processes of the guest share: milliseconds since boot.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Milliseconds since boot.
pub(crate) fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Sleeps, at most until `end`; whether there is time left.
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
    /// Whether something that began then counts.
    pub(crate) fn has(self, time: f64) -> bool {
        (self.from..self.until).contains(&time)
    }

    /// As the worker's environment has it; a worker run by hand has ten seconds.
    pub(crate) fn from_environment() -> Self {
        let get = |name: &str| std::env::var(name).ok()?.parse().ok();
        let from = get("WARMSET_FROM").unwrap_or_else(now);
        Self {
            from,
            until: get("WARMSET_UNTIL").unwrap_or(from + 10_000.0),
        }
    }
}
