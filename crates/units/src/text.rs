//! Splitting `"512 MiB"` into a decimal number and a unit, exactly, without floating point.

use std::fmt;

/// Text that is not a number with one of the expected units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsable {
    /// What was given.
    pub text: String,
    /// What would have been right, with an example.
    pub expected: &'static str,
}

impl fmt::Display for Unparsable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not {}", self.text, self.expected)
    }
}

impl std::error::Error for Unparsable {}

/// Digits after the point that are kept; more are refused rather than rounded.
const MAX_DECIMALS: usize = 6;

/// `number × 10^-decimals`, and the unit behind it.
pub(crate) struct Quantity<'t> {
    number: u128,
    decimals: u32,
    pub(crate) unit: &'t str,
}

impl<'t> Quantity<'t> {
    /// Reads `"1.5 GiB"` as 15, one decimal, `"GiB"`. `None` if there is no number, or too long a one.
    pub(crate) fn split(text: &'t str) -> Option<Self> {
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() || whole.len() > 20 || fraction.len() > MAX_DECIMALS {
            return None;
        }
        let number = format!("{whole}{fraction}").parse().ok()?;
        Some(Self {
            number,
            decimals: fraction.len() as u32,
            unit: unit.trim(),
        })
    }

    /// The quantity times `scale`, rounded down; `None` when it does not fit.
    pub(crate) fn times(&self, scale: u64) -> Option<u64> {
        let scaled = self.number.checked_mul(u128::from(scale))? / 10u128.pow(self.decimals);
        u64::try_from(scaled).ok()
    }
}
