//! Demand over windows: how much memory is taken in half a second, one, two, five.
//!
//! A burst is absorbed by the gap below the low watermark, plus what kswapd frees once it runs. So the
//! trend of free memory matters less than the size of bursts on this machine, over the times in which
//! kswapd answers. Each window keeps a fading histogram of demand seen in it. Only busy time counts: a
//! night of silence does not make the morning's burst rarer.
//!
//! - Law: `D_w(t) = C(t) − C(t−w)`, `C` the running sum of gross demand, interpolated between samples.
//! - Cost: O(windows × buckets) per sample, no allocation.
//! - Source: `docs/adr/0005`; the base-stock rule of inventory theory (Arrow, Harris, Marschak 1951).
//! - Limit: where samples are further apart than `w`, demand is taken as even between them.

use crate::sketch::{Sketch, faded};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Span};

/// The windows, in milliseconds: from one in which kswapd barely starts, to one in which it frees a gap.
const WINDOWS: [u64; 4] = [500, 1000, 2000, 5000];
/// Points of the running sum kept: the longest window at ten samples a second, and some.
const POINTS: usize = 64;

/// What is remembered of demand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Demand {
    /// Running sum at past samples, oldest first.
    points: ArrayVec<Point, POINTS>,
    windows: [Sketch; WINDOWS.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Point {
    at: Span,
    sum: u64,
}

/// What a gap must cover, and in which window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Need {
    /// The window that asks for most.
    pub window: Span,
    /// Demand in such a window at the quantile.
    pub demand: Bytes,
    /// What kswapd frees meanwhile.
    pub reclaimed: Bytes,
    /// The difference.
    pub gap: Bytes,
}

impl Demand {
    /// Takes in `taken` bytes between the last sample and the one at `at`.
    ///
    /// Windows with less than `notable` are not counted: they are rest, not demand.
    pub fn push(&mut self, at: Span, taken: Bytes, notable: Bytes, half_life: Duration) {
        let Some(last) = self.points.last().copied() else {
            self.points.push(Point { at, sum: 0 });
            return;
        };
        let elapsed = at.get().saturating_sub(last.at.get());
        if self.points.is_full() {
            self.points.remove(0);
        }
        self.points.push(Point {
            at,
            sum: last.sum.saturating_add(taken.get()),
        });
        let kept = faded(elapsed, half_life);
        for index in 0..WINDOWS.len() {
            let demand = self.within(Duration::from_millis(WINDOWS[index]));
            self.windows[index].fade(kept);
            if demand >= notable {
                self.windows[index].add(demand.get(), elapsed.as_secs_f64());
            }
        }
    }

    /// Demand in the last `window`.
    pub fn within(&self, window: Duration) -> Bytes {
        let Some(last) = self.points.last() else {
            return Bytes::ZERO;
        };
        let begin = last.at.get().saturating_sub(window);
        let after = self
            .points
            .iter()
            .position(|point| point.at.get() >= begin)
            .unwrap_or(0);
        let right = self.points[after];
        let at_begin = match after.checked_sub(1) {
            None => right.sum,
            Some(before) => interpolated(self.points[before], right, begin),
        };
        Bytes::new(last.sum - at_begin)
    }

    /// The gap that covers `share` of past demand: `max over w of [ Q(D_w) − R·(w − τ)⁺ ]`.
    ///
    /// `reclaim` is what kswapd frees per second once it runs, `response` how long it takes to run.
    /// `None` while no demand has been seen.
    pub fn need(&self, share: f64, reclaim: units::Rate, response: Duration) -> Option<Need> {
        let needs = WINDOWS
            .iter()
            .zip(&self.windows)
            .filter_map(|(&millis, sketch)| {
                let window = Duration::from_millis(millis);
                let demand = Bytes::new(sketch.quantile(share)?);
                let reclaimed = reclaim.during(window.saturating_sub(response));
                Some(Need {
                    window: Span::new(window),
                    demand,
                    reclaimed,
                    gap: demand.less(reclaimed),
                })
            });
        needs.max_by_key(|need| need.gap)
    }

    /// After a change of regime, what was learnt counts an eighth, so that the new regime soon outweighs
    /// it.
    pub fn doubt(&mut self) {
        for sketch in &mut self.windows {
            sketch.fade(0.125);
        }
    }
}

/// The running sum at `time`, which lies between two points; demand is even between them.
fn interpolated(left: Point, right: Point, time: Duration) -> u64 {
    let span = right
        .at
        .get()
        .saturating_sub(left.at.get())
        .as_nanos()
        .max(1);
    let part = time.saturating_sub(left.at.get()).as_nanos();
    left.sum + (u128::from(right.sum - left.sum) * part / span) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    const HALF_LIFE: Duration = Duration::from_secs(600);

    /// 100 ms steps; a burst of `burst` MiB spread over one second, every ten.
    fn bursts(burst: u64, seconds: u64) -> Demand {
        let mut demand = Demand::default();
        for step in 0..seconds * 10 {
            let taken = if step / 10 % 10 == 9 {
                Bytes::mib(burst).scaled(1, 10)
            } else {
                Bytes::ZERO
            };
            demand.push(Span::millis(step * 100), taken, Bytes::mib(1), HALF_LIFE);
        }
        demand
    }

    #[test]
    fn the_gap_covers_a_burst_it_has_seen() {
        let need = bursts(160, 60)
            .need(0.99, Rate::ZERO, Duration::ZERO)
            .unwrap();
        assert!(
            need.gap >= Bytes::mib(155) && need.gap <= Bytes::mib(181),
            "{need:?}"
        );
    }

    #[test]
    fn what_kswapd_frees_meanwhile_is_not_needed() {
        let rate = Rate::new(Bytes::mib(40).get());
        let with = bursts(160, 60)
            .need(0.99, rate, Duration::from_millis(100))
            .unwrap();
        let without = bursts(160, 60)
            .need(0.99, Rate::ZERO, Duration::ZERO)
            .unwrap();
        assert!(with.gap < without.gap, "{with:?} {without:?}");
        assert_eq!(with.gap, with.demand.less(with.reclaimed));
    }

    #[test]
    fn silence_does_not_make_bursts_rarer() {
        let mut demand = bursts(160, 60);
        for second in 60..180 {
            demand.push(Span::secs(second), Bytes::ZERO, Bytes::mib(1), HALF_LIFE);
        }
        let need = demand.need(0.99, Rate::ZERO, Duration::ZERO).unwrap();
        assert!(need.gap >= Bytes::mib(155), "{need:?}");
    }

    #[test]
    fn no_demand_needs_no_gap() {
        assert_eq!(
            Demand::default().need(0.99, Rate::ZERO, Duration::ZERO),
            None
        );
        assert_eq!(bursts(0, 60).need(0.99, Rate::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn demand_between_distant_samples_is_even() {
        let mut demand = Demand::default();
        demand.push(Span::secs(0), Bytes::ZERO, Bytes::ZERO, HALF_LIFE);
        demand.push(Span::secs(10), Bytes::mib(100), Bytes::ZERO, HALF_LIFE);
        assert_eq!(demand.within(Duration::from_secs(1)), Bytes::mib(10));
        assert_eq!(demand.within(Duration::from_secs(100)), Bytes::mib(100));
    }
}
