//! A robust slope with an interval that is checked against what comes.
//!
//! The slope is the median of the slopes of all pairs of points: a step by one exiting program, or one
//! wild reading in four, does not move it. Its interval is read off the same sorted slopes by the
//! distribution of Kendall's S. That interval describes past points. Future growth bends, and points
//! that follow each other are alike. So each interval is remembered and, six points later, compared
//! with the growth that came. Misses widen later intervals and hits narrow them, until nine in ten
//! hold.
//!
//! - Law: `slope = median{ (y_j − y_i)/(t_j − t_i) }`; bounds are the slopes of rank `(N ∓ z·σ)/2` of `N`
//!   pairs, `σ² = n(n−1)(2n+5)/18`. Both are moved away from the median to `k` times their distance, or
//!   `k` times the recent mean error if that is more; `k ← k·exp(γ·(miss − 0.1))`.
//! - Cost: O(n² log n) with n ≤ 16, about 3 µs; no allocation.
//! - Source: Theil 1950; Sen, JASA 63 (1968), §4; Gibbs and Candès, NeurIPS 2021, §2 (adaptive conformal
//!   inference).
//! - Limit: nine in ten hold in the long run, not in each minute. The first dozen intervals use the
//!   initial width.

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Span};

/// Points kept. More react later and cost n² each time; fewer make the interval wide.
pub const POINTS: usize = 16;
/// Least points for a slope: with fewer the interval spans nearly all pairs.
const LEAST: usize = 6;
/// Normal quantile of a two-sided interval of 90 %.
const Z: f64 = 1.645;
/// An interval holds if the growth over this many later points lies in it.
const AHEAD: usize = 6;
/// The share of intervals that may miss: one less the 90 % above.
const MISSES: f64 = 0.1;
/// How fast hits and misses change the width. Larger follows a new load sooner and swings more.
const GAIN: f64 = 0.25;
/// The width before anything is known, measured on recordings of the VM lab.
const FIRST_WIDTH: f64 = 7.0;
/// The weight of the last error in the mean error.
const LAST_ERROR: f64 = 0.1;
/// Bounds of the width, so that a long row of hits or misses can be made up for.
const WIDTHS: std::ops::RangeInclusive<f64> = 0.25..=64.0;
/// No interval is narrower than this share of its slope to either side, however even the points are.
const LEAST_HALF_WIDTH: f64 = 0.02;

/// The last points of a quantity over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Recorded")]
pub struct Trend {
    points: ArrayVec<(Span, Bytes), POINTS>,
    /// The slope that was given at each point.
    given: ArrayVec<Option<Slope>, POINTS>,
    width: f64,
    /// Mean distance of recent growth from the median.
    error: f64,
    kept: Kept,
}

impl Default for Trend {
    fn default() -> Self {
        Self {
            points: ArrayVec::new(),
            given: ArrayVec::new(),
            width: FIRST_WIDTH,
            error: 0.0,
            kept: Kept::default(),
        }
    }
}

/// A trend as a recording has it, which may be older than a field.
#[derive(Deserialize)]
#[serde(default)]
struct Recorded {
    points: ArrayVec<(Span, Bytes), POINTS>,
    given: ArrayVec<Option<Slope>, POINTS>,
    width: f64,
    error: f64,
    kept: Kept,
}

impl Default for Recorded {
    fn default() -> Self {
        let Trend {
            points,
            given,
            width,
            error,
            kept,
        } = Trend::default();
        Self {
            points,
            given,
            width,
            error,
            kept,
        }
    }
}

impl From<Recorded> for Trend {
    fn from(recorded: Recorded) -> Self {
        let mut given = recorded.given;
        if given.len() != recorded.points.len() {
            // Slopes were not kept then; the two lists go in step.
            given = recorded.points.iter().map(|_| None).collect();
        }
        Self {
            points: recorded.points,
            given,
            width: recorded.width,
            error: recorded.error,
            kept: recorded.kept,
        }
    }
}

/// How many intervals have been compared with what came, and how many of them held it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Compared.
    pub made: u64,
    /// Held.
    pub held: u64,
}

/// Bytes per second, negative when falling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Lower bound of the interval.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// Upper bound.
    pub high: f64,
}

impl Trend {
    /// Takes a point in, unless the last one is less than `every` old. The oldest gives way.
    pub fn push(&mut self, at: Span, value: Bytes, every: Duration) {
        let is_due = self
            .points
            .last()
            .is_none_or(|(last, _)| at.get().saturating_sub(last.get()) >= every);
        if !is_due {
            return;
        }
        if self.points.is_full() {
            self.points.remove(0);
            self.given.remove(0);
        }
        self.points.push((at, value));
        self.learn();
        let widened = slope(&self.points).map(|slope| slope.widened(self.width, self.error));
        self.given.push(widened);
    }

    /// Compares the interval that was given some points ago with the growth since.
    fn learn(&mut self) {
        let Some(then) = self.points.len().checked_sub(AHEAD + 1) else {
            return;
        };
        let Some(&(from, before)) = self.points.get(then) else {
            return;
        };
        let Some(&(at, now)) = self.points.last() else {
            return;
        };
        let Some(given) = self.given.get(then).copied().flatten() else {
            return;
        };
        let change = now.get() as f64 - before.get() as f64;
        let came = change / at.get().saturating_sub(from.get()).as_secs_f64();
        self.error += LAST_ERROR * ((came - given.middle).abs() - self.error);
        let held = (given.low..=given.high).contains(&came);
        self.kept.made += 1;
        self.kept.held += u64::from(held);
        let miss = if held { 0.0 } else { 1.0 };
        let width = self.width * exp(GAIN * (miss - MISSES));
        self.width = width.clamp(*WIDTHS.start(), *WIDTHS.end());
    }

    /// How often the interval has held what came.
    pub fn kept(&self) -> Kept {
        self.kept
    }

    /// The slope; `None` with fewer than six points.
    pub fn slope(&self) -> Option<Slope> {
        self.given.last().copied().flatten()
    }

    /// Growth since the oldest point, zero if it fell, and the time it took.
    pub fn grown(&self) -> Option<(Bytes, Duration)> {
        let (begin, before) = self.points.first()?;
        let (end, now) = self.points.last()?;
        let took = end.get().saturating_sub(begin.get());
        Some((now.less(*before), took))
    }

    /// Forgets the points, but not how wide an interval has to be.
    pub fn reset(&mut self) {
        self.points.clear();
        self.given.clear();
    }
}

impl Slope {
    /// The slope with both bounds moved away from the middle.
    fn widened(self, by: f64, error: f64) -> Self {
        let least = self.middle.abs() * LEAST_HALF_WIDTH;
        let side = |distance: f64| (distance.max(error) * by).max(least);
        Self {
            low: self.middle - side(self.middle - self.low),
            middle: self.middle,
            high: self.middle + side(self.high - self.middle),
        }
    }
}

/// eˣ for small x by its series. The library's function may differ between platforms, and then
/// decisions would, too.
fn exp(x: f64) -> f64 {
    1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)))
}

fn slope(points: &[(Span, Bytes)]) -> Option<Slope> {
    const PAIRS: usize = POINTS * (POINTS - 1) / 2;
    if points.len() < LEAST {
        return None;
    }
    let mut slopes: ArrayVec<f64, PAIRS> = ArrayVec::new();
    for (index, later) in points.iter().enumerate() {
        for earlier in &points[..index] {
            let time = later.0.get().saturating_sub(earlier.0.get()).as_secs_f64();
            if time > 0.0 {
                let change = later.1.get() as f64 - earlier.1.get() as f64;
                slopes.push(change / time);
            }
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let n = points.len() as f64;
    let pairs = slopes.len() as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    let spread = Z * variance.sqrt();
    let low_middle = of_rank(&slopes, (pairs - 1.0) / 2.0)?;
    let high_middle = of_rank(&slopes, pairs / 2.0)?;
    Some(Slope {
        low: of_rank(&slopes, (pairs - spread) / 2.0)?,
        middle: (low_middle + high_middle) / 2.0,
        high: of_rank(&slopes, (pairs + spread) / 2.0)?,
    })
}

/// The slope at a rank, rounded down; the first or last if the rank is outside.
fn of_rank(sorted: &[f64], rank: f64) -> Option<f64> {
    let last = sorted.len().saturating_sub(1);
    let index = (rank.max(0.0) as usize).min(last);
    sorted.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trend(values: impl IntoIterator<Item = u64>) -> Trend {
        let mut trend = Trend::default();
        for (second, value) in values.into_iter().enumerate() {
            trend.push(
                Span::secs(second as u64),
                Bytes::new(value),
                Duration::from_secs(1),
            );
        }
        trend
    }

    #[test]
    fn a_line_has_its_slope_and_hardly_a_spread() {
        let slope = trend((0..12).map(|second| 1000 + 7 * second))
            .slope()
            .unwrap();
        assert_eq!(slope.middle, 7.0);
        assert!(slope.low > 6.8 && slope.high < 7.2, "{slope:?}");
    }

    #[test]
    fn one_wild_point_in_four_does_not_move_it() {
        let slope = trend((0..16).map(|s| if s % 4 == 1 { 1_000_000 } else { 1000 + 7 * s }))
            .slope()
            .unwrap();
        assert!((6.0..=8.0).contains(&slope.middle), "{slope:?}");
    }

    #[test]
    fn few_points_say_nothing() {
        assert_eq!(trend([1, 2, 3, 4, 5]).slope(), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_middle(values in prop::collection::vec(0u64..1 << 40, 6..40)) {
            let slope = trend(values).slope().unwrap();
            prop_assert!(slope.low <= slope.middle && slope.middle <= slope.high, "{slope:?}");
        }
    }

    /// Noise from a generator, in 0..1.
    fn noise(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f64 / f64::from(1 << 24)
    }

    /// Whatever the growth is like, nine intervals in ten must hold what comes.
    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        type Growth = fn(&mut u64, f64) -> f64;
        let kinds: [(&str, Growth); 4] = [
            ("noise on a line", |state, second| {
                1e6 + 4e3 * second + 2e5 * noise(state)
            }),
            ("steps", |state, second| {
                1e6 + 1e5 * (second / 7.0).floor() + 1e3 * noise(state)
            }),
            ("waves", |state, second| {
                1e7 + 4e6 * (second / 9.0 % 2.0 - 1.0).abs() + 1e4 * noise(state)
            }),
            ("bursts", |state, second| {
                1e6 + 4e3 * second + if noise(state) > 0.8 { 1e6 } else { 0.0 }
            }),
        ];
        for (name, growth) in kinds {
            let mut state = 1;
            let kept =
                trend((0..3000).map(|second| growth(&mut state, f64::from(second)) as u64)).kept();
            let share = kept.held as f64 / kept.made as f64;
            assert!((0.85..=0.95).contains(&share), "{name}: {kept:?}");
        }
    }
}
