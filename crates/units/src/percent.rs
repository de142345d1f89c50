//! Shares, exact to a hundredth of a per cent: the kernel prints pressure so.

use crate::text::{Quantity, Unparsable};
use std::fmt;
use std::str::FromStr;

/// A share in hundredths of a per cent. It can exceed 100 %.
///
/// ```
/// use units::{Bytes, Percent};
/// let two = "2.5 %".parse::<Percent>().unwrap();
/// assert_eq!(two.of(Bytes::mib(1000)), Bytes::mib(25));
/// assert_eq!(two.to_string(), "2.5 %");
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Percent(u64);

impl Percent {
    /// 0 %.
    pub const ZERO: Self = Self(0);
    /// 100 %.
    pub const WHOLE: Self = Self(10_000);

    /// This many hundredths of a per cent.
    pub const fn hundredths(hundredths: u64) -> Self {
        Self(hundredths)
    }

    /// This many per cent.
    pub const fn new(percent: u64) -> Self {
        Self(percent.saturating_mul(100))
    }

    /// The number of hundredths of a per cent.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `part / whole`, rounded down; `None` if `whole` is zero or the result does not fit.
    pub fn ratio(part: u64, whole: u64) -> Option<Self> {
        let share = (u128::from(part) * 10_000).checked_div(u128::from(whole))?;
        u64::try_from(share).ok().map(Self)
    }

    /// This share of `whole`, rounded down.
    pub fn of(self, whole: crate::Bytes) -> crate::Bytes {
        whole.scaled(self.0, 10_000)
    }

    /// As a fraction: 1.0 is 100 %.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / 10_000.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0 / 100;
        let hundredths = self.0 % 100;
        if hundredths == 0 {
            write!(f, "{whole} %")
        } else if hundredths % 10 == 0 {
            write!(f, "{whole}.{} %", hundredths / 10)
        } else {
            write!(f, "{whole}.{hundredths:02} %")
        }
    }
}

impl FromStr for Percent {
    type Err = Unparsable;

    fn from_str(text: &str) -> Result<Self, Unparsable> {
        let quantity = Quantity::split(text).filter(|quantity| quantity.unit == "%");
        let hundredths = quantity.and_then(|quantity| quantity.times(100));
        hundredths.map(Self).ok_or_else(|| Unparsable {
            text: text.to_owned(),
            expected: "a share with its sign, such as \"2.5 %\"",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_parse_as_they_print() {
        for hundredths in [0, 1, 10, 99, 100, 250, 10_000, 123_456] {
            let percent = Percent(hundredths);
            assert_eq!(percent.to_string().parse(), Ok(percent));
        }
        assert!("2.5".parse::<Percent>().is_err());
    }

    #[test]
    fn a_ratio_of_nothing_is_unknown() {
        assert_eq!(Percent::ratio(1, 0), None);
        assert_eq!(Percent::ratio(1, 3), Some(Percent(3333)));
        assert_eq!(Percent::ratio(u64::MAX, 1), None);
    }
}
