//! Lifetime curves: mean time between faults against mean size of memory, for every policy on one
//! scale; their knees; and the space-time product.
//!
//! - Rule: g = K / misses, in the trace's time. The x axis is the mean size in memory, cold start
//!   included, and never the limit: only so can a policy of variable size be compared with one of
//!   fixed size.
//! - Space-time: ST = K·s, and with a fault's service time D: ST = K·s + D·Σ s(t at a fault). For
//!   LRU the second sum is exact once memory is full (c each). For the working set it is `misses ·
//!   s`, Denning's approximation, or exact by [`space_at_faults`].
//! - Knees: where g/s is greatest, and where ST is least. At the first the ray from the origin
//!   touches the curve; the second tends to it as D grows.
//! - Source: Denning, Kahn, ACM Sigmetrics 1975; Denning, IEEE TSE SE-6(1), 1980; the founding
//!   report.

use super::interval::{Intervals, Window};
use super::sample::Sampled;
use super::stack::MissCurve;
use crate::policy::{Choice, Options};
use crate::{Access, Error, Trace};
use rayon::prelude::*;
use serde::Serialize;

/// One setting of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// The policy's parameter: pages of memory, or a window in the trace's time.
    pub parameter: u64,
    /// Mean pages in memory.
    pub size: f64,
    /// Faults.
    pub misses: f64,
    /// Mean time between faults.
    pub lifetime: f64,
}

/// A policy's curve, by rising parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lifetime {
    /// The policy.
    pub policy: String,
    /// References, or the trace's time.
    pub time: u64,
    /// The points of the curve.
    pub points: Vec<Point>,
}

/// The points of a curve at which memory is well used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Knees {
    /// The greatest lifetime for each page, where that rises and falls again; `None` if it does so nowhere. The first and
    /// the last point are none: there the program has next to nothing, or all.
    pub ray: Option<Point>,
    /// The least space-time, at a given service time.
    pub space_time: Point,
    /// That least value, in pages times the trace's time.
    pub least: f64,
}

impl Lifetime {
    /// A curve from parameters, mean sizes and misses, by rising parameter.
    pub fn new(policy: &str, time: u64, points: impl Iterator<Item = (u64, f64, f64)>) -> Self {
        let mut curve = Vec::with_capacity(points.size_hint().0);
        for (parameter, size, misses) in points {
            curve.push(Point {
                parameter,
                size,
                misses,
                lifetime: time as f64 / misses,
            });
        }
        Self {
            policy: policy.to_owned(),
            time,
            points: curve,
        }
    }

    /// The curve of the working set, at every window.
    pub fn of_working_set(intervals: &Intervals) -> Self {
        Self::of_windows("ws", intervals.time, &intervals.windows(), |window| {
            window.size
        })
    }

    /// The curve of VMIN, at every window.
    pub fn of_vmin(intervals: &Intervals) -> Self {
        Self::of_windows("vmin", intervals.time, &intervals.windows(), |window| {
            window.vmin
        })
    }

    /// The same of a trace, from its resolution on.
    fn of_known(policy: &str, trace: &Trace, timed: bool, size: fn(&Window) -> f64) -> Self {
        let intervals = Intervals::of(trace, timed);
        let known = known_windows(&intervals, trace.resolution(timed));
        Self::of_windows(policy, intervals.time, &known, size)
    }

    fn of_windows(policy: &str, time: u64, windows: &[Window], size: fn(&Window) -> f64) -> Self {
        let points = windows
            .iter()
            .map(|window| (window.theta, size(window), window.misses as f64));
        Self::new(policy, time, points)
    }

    /// The curve of LRU, at every size. `time` is that of the other curves.
    pub fn of_lru(curve: &MissCurve, time: u64) -> Self {
        let points = curve.points().skip(1);
        Self::new(
            "lru",
            time,
            points.map(|point| (point.size as u64, point.mean_size, point.misses)),
        )
    }

    /// The curve of LRU from a part of the pages. It has a point wherever it changes, from the sample's resolution on.
    pub fn of_sample(sampled: &Sampled, time: u64) -> Self {
        let steps = sampled.curve.steps().into_iter();
        let steps = steps.filter(|(size, _)| *size >= sampled.sample.resolution);
        Self::new(
            "lru",
            time,
            steps.map(|(size, misses)| (size as u64, size as f64, misses)),
        )
    }

    /// The curve of a policy: in the trace's own time if it has one and `timed` is true, else in
    /// references.
    ///
    /// LRU has a point at every size. The working set and VMIN have one at every window from the trace's resolution on, unless
    /// an option is given. Any other policy is run at `points` sizes, at least two.
    pub fn of(trace: &Trace, timed: bool, choice: &Choice, points: usize) -> Result<Self, Error> {
        choice.spec.check_order(trace)?;
        let told = !choice.options.told().is_empty();
        match choice.spec.name {
            "lru" => Ok(Self::of_lru(&MissCurve::of(trace), trace.span(timed))),
            "ws" if !told => Ok(Self::of_known("ws", trace, timed, |window| window.size)),
            "vmin" if !told => Ok(Self::of_known("vmin", trace, timed, |window| window.vmin)),
            _ if points < 2 => Err(Error::Unfit(format!(
                "--points {points}: two or more make a curve"
            ))),
            _ => Self::of_policy(
                trace,
                choice,
                &sizes(trace.pages(), points),
                trace.span(timed),
            ),
        }
    }

    /// The curve of any policy, by one run for each capacity, in parallel.
    pub fn of_policy(
        trace: &Trace,
        choice: &Choice,
        capacities: &[usize],
        time: u64,
    ) -> Result<Self, Error> {
        let run = |capacity: &usize| -> Result<(u64, f64, f64), Error> {
            let score = choice.spec.run(trace, *capacity, &choice.options)?;
            Ok((*capacity as u64, score.mean_size, score.misses as f64))
        };
        let points: Result<Vec<_>, _> = capacities.par_iter().map(run).collect();
        Ok(Self::new(&choice.label(), time, points?.into_iter()))
    }

    /// The space-time of a point, if a fault is served in `service` of the trace's time.
    pub fn space_time(&self, point: &Point, service: f64) -> f64 {
        point.size * (self.time as f64 + service * point.misses)
    }

    /// The knees; `None` of a curve without points.
    pub fn knees(&self, service: f64) -> Option<Knees> {
        let ray = self.bend();
        let space_time = self.least_by(|point| self.space_time(point, service))?;
        Some(Knees {
            ray,
            space_time,
            least: self.space_time(&space_time, service),
        })
    }

    /// The point between the first and the last at which the lifetime for each page is greatest, of those to which it rises.
    fn bend(&self) -> Option<Point> {
        /// Less of a rise is noise: curves of samples and of few references go up and down.
        const RISE: f64 = 1.01;
        let sized: Vec<&Point> = self
            .points
            .iter()
            .filter(|point| point.size > 0.0)
            .collect();
        let value = |at: usize| sized[at].lifetime / sized[at].size;
        let mut best: Option<usize> = None;
        let mut least = f64::INFINITY;
        for at in 1..sized.len().saturating_sub(1) {
            least = least.min(value(at - 1));
            let rises = value(at) >= RISE * least && value(at) >= value(at - 1);
            let falls = value(at) >= value(at + 1);
            if rises && falls && best.is_none_or(|best| value(at) > value(best)) {
                best = Some(at);
            }
        }
        best.map(|at| *sized[at])
    }

    /// The point of the least value, of those with a size.
    fn least_by(&self, value: impl Fn(&Point) -> f64) -> Option<Point> {
        let sized = self.points.iter().filter(|point| point.size > 0.0);
        let least = sized.min_by(|one, other| value(one).total_cmp(&value(other)));
        least.copied()
    }

    /// The faults at a mean size, interpolated between the points around it; `None` outside of the
    /// curve.
    pub fn misses_at(&self, size: f64) -> Option<f64> {
        let after = self.points.iter().position(|point| point.size >= size)?;
        let right = self.points[after];
        let left = self.points[after.checked_sub(1)?];
        let share = if right.size > left.size {
            (size - left.size) / (right.size - left.size)
        } else {
            0.0
        };
        Some(left.misses + share * (right.misses - left.misses))
    }
}

/// Σ of the working set's size over its own faults, exactly, in one pass.
pub fn space_at_faults(trace: &Trace, theta: u64) -> Result<f64, Error> {
    let choice = Choice::parse("ws")?;
    let options: Options = choice.options.with("theta", theta as f64);
    let steps = choice.spec.steps(trace, 1, &options)?;
    let misses = steps.iter().filter(|step| step.access == Access::Miss);
    Ok(misses.map(|step| step.resident as f64).sum())
}

/// So many sizes from 1 to all pages, even on a logarithmic scale.
pub fn sizes(pages: usize, count: usize) -> Vec<usize> {
    let step = (pages as f64).ln() / count.saturating_sub(1).max(1) as f64;
    let mut sizes = Vec::with_capacity(count);
    for at in 0..count {
        let size = (at as f64 * step).exp().round() as usize;
        sizes.push(size.clamp(1, pages));
    }
    sizes.dedup();
    sizes
}

/// The windows at which the curve changes, from the resolution on: of shorter ones nothing is known.
fn known_windows(intervals: &Intervals, resolution: Option<u64>) -> Vec<Window> {
    let Some(least) = resolution else {
        return intervals.windows();
    };
    let mut first = intervals.at(least);
    // It is the last of the windows if nothing changes from there on.
    first.theta = first.theta.max(least);
    let mut known = intervals.windows();
    known.retain(|window| window.theta > first.theta);
    known.insert(0, first);
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::sample::{Sampling, sampled};

    fn phased() -> Trace {
        let mut rng = crate::rng::Rng::new(9);
        // A small and a large locality alternate, so no fixed size is right for both.
        let page = |at: u64, rng: &mut crate::rng::Rng| {
            if at / 5000 % 2 == 0 {
                rng.below(10)
            } else {
                10 + rng.below(50)
            }
        };
        let pages: Vec<u64> = (0..60_000).map(|at| page(at, &mut rng)).collect();
        Trace::of(&pages).unwrap()
    }

    #[test]
    fn in_phases_the_working_set_outlives_lru_and_nothing_outlives_vmin() {
        let trace = phased();
        let intervals = Intervals::of(&trace, false);
        let ws = Lifetime::of_working_set(&intervals);
        let vmin = Lifetime::of_vmin(&intervals);
        let lru = Lifetime::of_lru(&MissCurve::of(&trace), intervals.time);
        let at = 35.0;
        let [ws, vmin, lru] = [ws, vmin, lru].map(|curve| curve.misses_at(at).unwrap());
        assert!(vmin <= ws && ws < lru / 2.0, "{vmin} {ws} {lru}");
    }

    #[test]
    fn a_sample_has_the_points_at_which_its_curve_changes() {
        let trace = phased();
        let sampled = sampled(&trace, Sampling::Rate(0.3)).unwrap();
        let few = Lifetime::of_sample(&sampled, 1);
        let all = Lifetime::of_lru(&sampled.curve, 1);
        // The smallest size takes what the sample has too few or too many.
        let least = sampled.sample.resolution;
        assert!(
            few.points.len() <= sampled.sample.pages + 1 && few.points.len() < all.points.len()
        );
        assert!(few.points[0].size >= least as f64 && least == 3);
        assert!(few.points.iter().all(|point| all.points.contains(point)));
        assert_eq!(
            few.points.last().unwrap().misses,
            all.points.last().unwrap().misses
        );
    }

    #[test]
    fn a_run_of_lru_is_a_point_of_its_curve() {
        let trace = phased();
        let lru = Choice::parse("lru").unwrap();
        let curve = MissCurve::of(&trace);
        let runs = Lifetime::of_policy(&trace, &lru, &sizes(trace.pages(), 9), trace.len() as u64)
            .unwrap();
        let whole = Lifetime::of_lru(&curve, trace.len() as u64);
        for point in &runs.points {
            let same = whole
                .points
                .iter()
                .find(|other| other.parameter == point.parameter)
                .unwrap();
            assert_eq!(point.misses, same.misses);
            assert!((point.size - same.size).abs() < 1e-9);
        }
        assert!(
            whole.knees(1e5).unwrap().space_time.size >= whole.knees(0.0).unwrap().space_time.size
        );
    }

    fn curve(values: &[f64]) -> Lifetime {
        // Lifetime is the time, 1000, by misses: so these are lifetimes for each page.
        let points = values.iter().enumerate().map(|(at, value)| {
            let size = (at + 1) as f64;
            (at as u64, size, 1000.0 / (value * size))
        });
        Lifetime::new("x", 1000, points)
    }

    fn knee_of(values: &[f64]) -> Option<f64> {
        curve(values).knees(0.0)?.ray.map(|point| point.size)
    }

    #[test]
    fn a_knee_is_neither_the_first_point_nor_the_last() {
        assert_eq!(knee_of(&[9.0, 2.0, 3.0, 4.0, 3.0]), Some(4.0));
        assert_eq!(
            knee_of(&[9.0, 5.0, 4.0, 3.0]),
            None,
            "it falls from the first on"
        );
        assert_eq!(knee_of(&[1.0, 2.0, 3.0, 4.0]), None, "it rises to the last");
        assert_eq!(knee_of(&[9.0, 5.0, 5.01, 4.0]), None, "noise");
        assert_eq!(
            knee_of(&[9.0, 1.0, 3.0, 1.0, 5.0, 1.0]),
            Some(5.0),
            "the greatest of two"
        );
        assert_eq!(knee_of(&[1.0]), None);
    }
}
