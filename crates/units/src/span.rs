//! Spans of time: as people write them in a configuration, and in microseconds as the kernel counts stalls.

use crate::text::{Quantity, Unparsable};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A span of time that parses and prints with its unit.
///
/// ```
/// use units::Span;
/// let span: Span = "1.5 min".parse().unwrap();
/// assert_eq!(span.get().as_secs(), 90);
/// assert_eq!(span.to_string(), "1.5 min");
/// ```
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

impl Span {
    /// The same span with units.
    pub const fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// This many seconds.
    pub const fn secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// This many milliseconds.
    pub const fn millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }

    /// As the standard library's type.
    pub const fn get(self) -> Duration {
        self.0
    }
}

/// Serialised as whole nanoseconds. Saturates at 584 years.
#[cfg(feature = "serde")]
impl serde::Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <u64 as serde::Deserialize>::deserialize(deserializer)
            .map(|nanos| Self(Duration::from_nanos(nanos)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let (scale, unit) = match nanos {
            172_800_000_000_000.. => (86_400_000_000_000, "d"),
            7_200_000_000_000.. => (3_600_000_000_000, "h"),
            60_000_000_000.. => (60_000_000_000, "min"),
            1_000_000_000.. => (1_000_000_000, "s"),
            1_000_000.. => (1_000_000, "ms"),
            1_000.. => (1_000, "µs"),
            _ => return write!(f, "{nanos} ns"),
        };
        let tenths = nanos * 10 / scale;
        match (tenths / 10, tenths % 10) {
            (whole @ 0..100, tenth @ 1..) => write!(f, "{whole}.{tenth} {unit}"),
            (whole, _) => write!(f, "{whole} {unit}"),
        }
    }
}

impl FromStr for Span {
    type Err = Unparsable;

    fn from_str(text: &str) -> Result<Self, Unparsable> {
        let parse = || {
            let quantity = Quantity::split(text)?;
            let nanos = match quantity.unit {
                "ns" => 1,
                "us" | "µs" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "d" => 86_400_000_000_000,
                _ => return None,
            };
            quantity
                .times(nanos)
                .map(|nanos| Self(Duration::from_nanos(nanos)))
        };
        parse().ok_or_else(|| Unparsable {
            text: text.to_owned(),
            expected: "a time with its unit, such as \"500 ms\", \"30 s\" or \"5 min\"",
        })
    }
}

/// Microseconds: the unit of `total` in the kernel's pressure files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Micros(u64);

impl Micros {
    /// This many microseconds.
    pub const fn new(micros: u64) -> Self {
        Self(micros)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As a span.
    pub const fn span(self) -> Span {
        Span(Duration::from_micros(self.0))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.span().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_parse_as_they_print() {
        for text in [
            "0 ns", "250 ns", "1.5 ms", "100 ms", "30 s", "5 min", "2 h", "3 d",
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string(), text);
        }
        assert!("30".parse::<Span>().is_err());
        assert!(
            "5 m".parse::<Span>().is_err(),
            "m could be minutes or months"
        );
    }
}
