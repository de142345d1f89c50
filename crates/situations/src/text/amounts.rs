//! Amounts with units, as texts.

use serde::Deserialize;
use std::time::Duration;
use units::{Bytes, Percent, Span};

macro_rules! amount {
    ($(#[$meta:meta])* $name:ident($inner:ty)) => {
        $(#[$meta])*
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(pub $inner);

        impl TryFrom<String> for $name {
            type Error = units::Unparsable;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse().map(Self)
            }
        }
    };
}

amount! {
    /// An amount of memory, such as `"16 GiB"`.
    Size(Bytes)
}
amount! {
    /// A time, such as `"2 s"`.
    Time(Span)
}
amount! {
    /// A share, such as `"10 %"`.
    Part(Percent)
}

impl Size {
    /// As a number for the model's sums.
    pub(crate) fn bytes(self) -> f64 {
        self.0.get() as f64
    }
}

impl Time {
    pub(crate) const fn secs(seconds: u64) -> Self {
        Self(Span::secs(seconds))
    }

    /// In milliseconds, in which the model counts.
    pub(crate) fn millis(self) -> u64 {
        self.0.get().as_millis() as u64
    }

    /// As the standard library has it.
    pub fn get(self) -> Duration {
        self.0.get()
    }
}

/// An amount of memory a second, such as `"3.5 GiB/s"`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Speed(pub Bytes);

impl Speed {
    /// Bytes a second.
    pub(crate) fn per_second(self) -> f64 {
        self.0.get() as f64
    }
}

impl TryFrom<String> for Speed {
    type Error = String;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = || format!("{text:?} is not an amount a second, such as \"200 MiB/s\"");
        let amount = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
        amount.parse().map(Self).map_err(|_| wrong())
    }
}

/// How often something happens, such as `"20/s"`; kept as times in 1,000 s.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Often(pub u64);

impl Often {
    pub(crate) fn per_second(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl TryFrom<String> for Often {
    type Error = String;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = text
            .trim()
            .strip_suffix("/s")
            .and_then(|number| number.trim().parse::<f64>().ok())
            .filter(|number| (0.001..=100_000.0).contains(number));
        number
            .map(|number| Self((number * 1000.0) as u64))
            .ok_or_else(|| format!("{text:?} is not a number of times a second, such as \"20/s\""))
    }
}
