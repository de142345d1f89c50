//! Memory per time.

use crate::Bytes;
use std::fmt;
use std::time::Duration;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A rate in bytes per second, never negative.
///
/// ```
/// use std::time::Duration;
/// use units::{Bytes, Rate};
/// let rate = Rate::over(Bytes::mib(10), Duration::from_secs(2)).unwrap();
/// assert_eq!(rate.to_string(), "5 MiB/s");
/// assert_eq!(rate.time_for(Bytes::mib(20)), Some(Duration::from_secs(4)));
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Rate(u64);

impl Rate {
    /// 0 B/s.
    pub const ZERO: Self = Self(0);

    /// This many bytes per second.
    pub const fn new(bytes_per_second: u64) -> Self {
        Self(bytes_per_second)
    }

    /// The number of bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `amount / time`, rounded down; `None` if `time` is zero. Saturates.
    pub fn over(amount: Bytes, time: Duration) -> Option<Self> {
        let scaled = u128::from(amount.get()) * NANOS_PER_SECOND;
        let rate = scaled.checked_div(time.as_nanos())?;
        Some(Self(saturated(rate)))
    }

    /// The amount that flows in `time`. Saturates.
    pub fn during(self, time: Duration) -> Bytes {
        let scaled = u128::from(self.0).saturating_mul(time.as_nanos());
        Bytes::new(saturated(scaled / NANOS_PER_SECOND))
    }

    /// The time that `amount` takes; `None` at 0 B/s, and for more than 500 years.
    pub fn time_for(self, amount: Bytes) -> Option<Duration> {
        let scaled = u128::from(amount.get()) * NANOS_PER_SECOND;
        let nanos = scaled.checked_div(u128::from(self.0))?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }
}

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", Bytes::new(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rate_zero_nothing_arrives() {
        assert_eq!(Rate::ZERO.time_for(Bytes::mib(1)), None);
        assert_eq!(Rate::over(Bytes::mib(1), Duration::ZERO), None);
        assert_eq!(
            Rate::new(u64::MAX).during(Duration::from_secs(10)),
            Bytes::new(u64::MAX)
        );
    }
}
