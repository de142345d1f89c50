//! The scale of an axis: from a value to a place between 0 and 1, and the marks.

/// How values are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By their logarithm; only positive values have a place.
    Log,
}

/// A scale with its ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Range {
    /// A range around values, widened to round ends; `None` if no value has a place.
    pub(crate) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for value in values {
            if value.is_finite() && (scale == Scale::Linear || value > 0.0) {
                low = low.min(value);
                high = high.max(value);
            }
        }
        if low > high {
            return None;
        }
        Some(match scale {
            Scale::Linear => Self::linear(low.min(0.0), high),
            Scale::Log => Self::decades(low, high),
        })
    }

    /// Widened to whole steps.
    fn linear(low: f64, high: f64) -> Self {
        let step = step(low, if high > low { high } else { low + 1.0 });
        Self {
            scale: Scale::Linear,
            low: (low / step).floor() * step,
            high: ((high / step).ceil() * step).max(low + step),
        }
    }

    /// Widened to whole decades.
    fn decades(low: f64, high: f64) -> Self {
        let first = low.log10().floor();
        let last = high.log10().ceil();
        let last = if last > first { last } else { first + 1.0 };
        Self {
            scale: Scale::Log,
            low: 10_f64.powf(first),
            high: 10_f64.powf(last),
        }
    }

    /// A range from one value to another, as they are; `None` if it is empty.
    pub(crate) fn between(scale: Scale, low: f64, high: f64) -> Option<Self> {
        (low < high).then_some(Self { scale, low, high })
    }

    /// The place of a value, from 0 to 1; `None` if it has none.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.scale == Scale::Log && value <= 0.0) {
            return None;
        }
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        Some(share.clamp(0.0, 1.0))
    }

    /// The values to mark, with their text.
    pub(crate) fn marks(&self) -> Vec<(f64, String)> {
        let values: Vec<f64> = match self.scale {
            Scale::Linear => {
                let step = step(self.low, self.high);
                let first = (self.low / step).ceil() * step;
                // A little more than the quotient, which rounding may leave below the last mark.
                let last = ((self.high - first) / step + 1e-9) as usize;
                (0..=last).map(|at| first + at as f64 * step).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10().round() as i32;
                // Eight marks at most, or nearly: more would overlap.
                let each = (decades / 8).max(1);
                (0..=decades / each)
                    .map(|at| self.low * 10_f64.powi(at * each))
                    .collect()
            }
        };
        let with_text = |value| (value, number(value));
        values.into_iter().map(with_text).collect()
    }
}

/// The distance between marks: 1, 2 or 5 times a power of ten, so that there are four to ten marks.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 6.0;
    let unit = 10_f64.powf(rough.log10().floor());
    let lead = rough / unit;
    let round = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|round| lead <= *round)
        .unwrap_or(10.0);
    round * unit
}

/// A number as text that fits an axis: `1200`, `3 M`, `0.05`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let short = |value: f64| {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e12).contains(&size) => format!("{value:.0e}"),
        _ if size >= 1e9 => format!("{} G", short(value / 1e9)),
        _ if size >= 1e6 => format!("{} M", short(value / 1e6)),
        _ if size >= 1e4 => format!("{} k", short(value / 1e3)),
        _ if size < 0.1 => format!("{value:.3}").trim_end_matches('0').to_owned(),
        _ => short(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within() {
        let range = Range::around(Scale::Linear, [3.0, 97.0].into_iter()).unwrap();
        let marks: Vec<String> = range.marks().into_iter().map(|mark| mark.1).collect();
        assert_eq!(marks, ["0", "20", "40", "60", "80", "100"]);
        let range = Range::around(Scale::Log, [0.02, 5e3].into_iter()).unwrap();
        let marks: Vec<String> = range.marks().into_iter().map(|mark| mark.1).collect();
        assert_eq!(marks, ["0.01", "0.1", "1", "10", "100", "1000", "10 k"]);
        assert_eq!(range.place(-1.0), None);
        assert_eq!(range.place(0.01), Some(0.0));
        assert!(Range::around(Scale::Log, [0.0, f64::NAN].into_iter()).is_none());
        assert!(
            Range::around(Scale::Linear, [5.0].into_iter())
                .unwrap()
                .place(5.0)
                .is_some()
        );
    }
}
