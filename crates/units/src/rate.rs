//! Memory per time.

use crate::Bytes;
use std::fmt;
use std::time::Duration;

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
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// So many bytes per second.
    pub const fn new(bytes_per_second: u64) -> Self {
        Self(bytes_per_second)
    }

    /// In bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `amount / time`; `None` when no time has passed.
    pub fn over(amount: Bytes, time: Duration) -> Option<Self> {
        let rate = (u128::from(amount.get()) * 1_000_000_000).checked_div(time.as_nanos())?;
        Some(Self(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// What flows in `time`, saturating.
    pub fn during(self, time: Duration) -> Bytes {
        let amount = u128::from(self.0).saturating_mul(time.as_nanos()) / 1_000_000_000;
        Bytes::new(u64::try_from(amount).unwrap_or(u64::MAX))
    }

    /// How long `amount` takes; `None` when nothing moves, or it would take over 500 years.
    pub fn time_for(self, amount: Bytes) -> Option<Duration> {
        let nanos = (u128::from(amount.get()) * 1_000_000_000).checked_div(u128::from(self.0))?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }
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
    fn a_still_rate_never_arrives() {
        assert_eq!(Rate::ZERO.time_for(Bytes::mib(1)), None);
        assert_eq!(Rate::over(Bytes::mib(1), Duration::ZERO), None);
        assert_eq!(
            Rate::new(u64::MAX).during(Duration::from_secs(10)),
            Bytes::new(u64::MAX)
        );
    }
}
