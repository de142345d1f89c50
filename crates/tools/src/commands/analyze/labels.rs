//! Numbers and names as the pictures and the sentences of an analysis write them.

use report::number;
use workingset::Clock;

/// A number rounded to three significant digits: `301 k`.
pub(super) fn brief(value: u64) -> String {
    let magnitude = (value.max(1) as f64).log10().floor();
    let unit = 10_f64.powf(magnitude - 2.0).max(1.0);
    number((value as f64 / unit).round() * unit)
}

/// The unit of time, in the plural.
pub(super) fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::References => "references",
        Clock::Instructions => "instructions",
        Clock::InstructionBytes => "instruction bytes",
        Clock::Nanoseconds => "nanoseconds",
        Clock::Seconds => "seconds",
    }
}

/// A file without its directories.
pub(super) fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(brief(301_060), "301 k");
        assert_eq!(brief(7), "7");
        assert_eq!(brief(123_456_789), "123 M");
    }
}
