//! Memory, in bytes and in pages.

use crate::text::{Quantity, Unparsable};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;

macro_rules! amount {
    ($name:ident) => {
        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);

            /// The plain number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// `self − other`, or zero if that is negative.
            #[must_use]
            pub const fn less(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// `self × numerator / denominator`, rounded down. Saturates.
            ///
            /// A zero denominator gives the largest value.
            #[must_use]
            pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
                if denominator == 0 {
                    return Self(u64::MAX);
                }
                let scaled = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
                Self(u64::try_from(scaled).unwrap_or(u64::MAX))
            }

            /// The share of `whole` that this is; `None` if `whole` is zero.
            pub fn share_of(self, whole: Self) -> Option<crate::Percent> {
                crate::Percent::ratio(self.0, whole.0)
            }
        }

        impl Add for $name {
            type Output = Self;
            /// Saturates.
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

/// An amount of memory in bytes.
///
/// ```
/// use units::Bytes;
/// assert_eq!("1.5 GiB".parse(), Ok(Bytes::mib(1536)));
/// assert_eq!(Bytes::mib(1536).to_string(), "1.5 GiB");
/// assert!("15".parse::<Bytes>().is_err());
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Bytes(u64);

amount!(Bytes);

impl Bytes {
    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many KiB, the unit that the kernel calls `kB`.
    pub const fn kib(kib: u64) -> Self {
        Self(kib.saturating_mul(KIB))
    }

    /// This many MiB.
    pub const fn mib(mib: u64) -> Self {
        Self(mib.saturating_mul(MIB))
    }

    /// The number of pages that hold this much, rounded up. Zero if the page size is zero.
    pub const fn to_pages(self, page_size: Self) -> Pages {
        if page_size.0 == 0 {
            Pages(0)
        } else {
            Pages(self.0.div_ceil(page_size.0))
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            TIB.. => (TIB, "TiB"),
            GIB.. => (GIB, "GiB"),
            MIB.. => (MIB, "MiB"),
            KIB.. => (KIB, "KiB"),
            _ => return write!(f, "{} B", self.0),
        };
        let tenths = u128::from(self.0) * 10 / u128::from(scale);
        match (tenths / 10, tenths % 10) {
            (whole @ 0..100, tenth @ 1..) => write!(f, "{whole}.{tenth} {unit}"),
            (whole, _) => write!(f, "{whole} {unit}"),
        }
    }
}

impl FromStr for Bytes {
    type Err = Unparsable;

    fn from_str(text: &str) -> Result<Self, Unparsable> {
        let parse = || {
            let quantity = Quantity::split(text)?;
            let scale = match quantity.unit {
                "B" => 1,
                "K" | "kB" | "KB" | "KiB" => KIB,
                "M" | "MB" | "MiB" => MIB,
                "G" | "GB" | "GiB" => GIB,
                "T" | "TB" | "TiB" => TIB,
                _ => return None,
            };
            quantity.times(scale).map(Self)
        };
        parse().ok_or_else(|| Unparsable {
            text: text.to_owned(),
            expected: "a size with its unit, such as \"512 MiB\" or \"2 GiB\"",
        })
    }
}

/// An amount of memory in base pages. Their size differs between machines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Pages(u64);

amount!(Pages);

impl Pages {
    /// This many pages.
    pub const fn new(pages: u64) -> Self {
        Self(pages)
    }

    /// The same memory in bytes. Saturates.
    pub const fn to_bytes(self, page_size: Bytes) -> Bytes {
        Bytes(self.0.saturating_mul(page_size.0))
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pages", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_with_a_suitable_unit() {
        let shown: Vec<String> = [0, 1023, 1024, 1536, 100 * MIB + 5, 3 * GIB / 2, u64::MAX]
            .into_iter()
            .map(|bytes| Bytes(bytes).to_string())
            .collect();
        let expected = [
            "0 B",
            "1023 B",
            "1 KiB",
            "1.5 KiB",
            "100 MiB",
            "1.5 GiB",
            "16777215 TiB",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_size_needs_a_unit_and_must_fit() {
        for bad in [
            "",
            "5",
            "MiB",
            "5 miles",
            "-5 MiB",
            "99999999 TiB",
            "1.0000001 GiB",
            "1.2.3 GiB",
        ] {
            let error = bad.parse::<Bytes>().expect_err(bad);
            assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        }
        assert_eq!("0.5K".parse(), Ok(Bytes(512)));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Bytes(1).less(Bytes(2)), Bytes::ZERO);
        assert_eq!(Bytes(u64::MAX) + Bytes(1), Bytes(u64::MAX));
        assert_eq!(Pages(7).scaled(3, 2), Pages(10));
        assert_eq!(Pages(7).scaled(3, 0), Pages(u64::MAX));
        assert_eq!(Bytes(1).to_pages(Bytes(4096)), Pages(1));
        assert_eq!(Bytes(0).to_pages(Bytes(4096)), Pages(0));
    }
}
