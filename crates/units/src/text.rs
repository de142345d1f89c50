//! Splits `"512 MiB"` into a decimal number and a unit, without floating point, so that nothing is rounded.

use std::fmt;

/// Text that is not a number with one of the expected units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsable {
    /// The text.
    pub text: String,
    /// What is expected instead, with an example.
    pub expected: &'static str,
}

impl fmt::Display for Unparsable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not {}", self.text, self.expected)
    }
}

impl std::error::Error for Unparsable {}

/// Most digits after the point. More are refused, because they would have to be rounded; 6 are exact to a byte in a MiB.
const MAX_DECIMALS: usize = 6;

/// `number × 10^-decimals`, and the unit after it.
pub(crate) struct Quantity<'t> {
    number: u128,
    decimals: u32,
    pub(crate) unit: &'t str,
}

impl<'t> Quantity<'t> {
    /// Reads `"1.5 GiB"` as 15, one decimal, `"GiB"`. `None` without a number, or with too long a number.
    pub(crate) fn split(text: &'t str) -> Option<Self> {
        let text = text.trim();
        let is_unit = |character: char| !character.is_ascii_digit() && character != '.';
        let end = text.find(is_unit).unwrap_or(text.len());
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

    /// The quantity times `scale`, rounded down; `None` if it does not fit.
    pub(crate) fn times(&self, scale: u64) -> Option<u64> {
        let scaled = self.number.checked_mul(u128::from(scale))?;
        u64::try_from(scaled / 10u128.pow(self.decimals)).ok()
    }
}
