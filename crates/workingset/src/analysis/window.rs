//! The working set at one window, analysed closely.

use super::wanted::Wanted;
use crate::measure::mixture::Mixture;
use crate::measure::residence::Residence;
use crate::measure::series::{Series, Shape};
use crate::measure::timed::{residence, sizes};
use crate::measure::{Intervals, Knees, Lifetime};
use crate::trace::demand_window;
use crate::{Clock, Error, Uses};
use rayon::prelude::*;
use serde::Serialize;

/// The founding report's window, in instructions: with it the analysis can be compared with the
/// report's.
const AS_PUBLISHED: u64 = 100_000;

/// The working set at a window.
#[derive(Debug, Clone, Serialize)]
pub struct AtWindow {
    /// The window, in the trace's time.
    pub theta: u64,
    /// Mean pages of the set.
    pub size: f64,
    /// The most pages of the set.
    pub peak: u64,
    /// Pages that are enough for 95 % of the time.
    pub enough: u64,
    /// Faults.
    pub faults: u64,
    /// Sum of the sizes at faults, in pages, exactly; faults × mean size is Denning's
    /// approximation.
    pub size_at_faults: f64,
    /// The size over time.
    pub sizes: Series,
    /// The number of moments half a window apart: so many sizes are about independent.
    pub independent: usize,
    /// How sizes are spread.
    pub shape: Shape,
    /// The sizes as a mixture of normal distributions; `None` if there is only one size.
    pub mixture: Option<Mixture>,
    /// How long pages stay in the set.
    pub residence: Residence,
    /// A sentence about how pages leave the set.
    pub verdict: String,
}

/// The windows that are wanted.
///
/// If none are given, there are three: the founding report's (a thousandth of the trace if its time
/// is not instructions), the one of the greatest lifetime for each page, and a fiftieth of the
/// trace. None is shorter than the time between two looks, where the program was looked at now and then.
pub(super) fn chosen(
    uses: &Uses,
    intervals: &Intervals,
    wanted: &Wanted,
    resolution: Option<u64>,
) -> Result<Vec<u64>, Error> {
    let time = uses.time();
    for theta in &wanted.thetas {
        demand_window(*theta, resolution)?;
        if *theta == 0 || *theta > time {
            return Err(Error::Unfit(format!(
                "a window of {theta}: the trace is {time} long"
            )));
        }
    }
    if !wanted.thetas.is_empty() {
        return Ok(sorted(wanted.thetas.clone()));
    }
    let by_instructions = matches!(
        uses.about().clock,
        Clock::Instructions | Clock::InstructionBytes
    );
    let published = if by_instructions {
        AS_PUBLISHED
    } else {
        time / 1000
    };
    let knees = Lifetime::of_working_set(intervals).knees(0.0);
    let mut thetas = vec![published, time / 50];
    thetas.extend(knees.and_then(|knees| knee(&knees)));
    thetas.retain(|theta| *theta > 0 && *theta <= time / 2);
    if thetas.is_empty() {
        thetas.push((time / 2).max(1));
    }
    let least = resolution.unwrap_or(1);
    for theta in &mut thetas {
        *theta = least.max(*theta);
    }
    Ok(sorted(thetas))
}

/// The window of the knee, if there is one.
pub(super) fn knee(knees: &Knees) -> Option<u64> {
    knees.ray.map(|point| point.parameter)
}

fn sorted(mut thetas: Vec<u64>) -> Vec<u64> {
    thetas.sort_unstable();
    thetas.dedup();
    thetas
}

pub(super) fn all(
    uses: &Uses,
    intervals: &Intervals,
    thetas: &[u64],
    pixels: usize,
) -> Vec<AtWindow> {
    thetas
        .par_iter()
        .map(|theta| one(uses, intervals, *theta, pixels))
        .collect()
}

fn one(uses: &Uses, intervals: &Intervals, theta: u64, pixels: usize) -> AtWindow {
    let (sizes, residence) = rayon::join(|| sizes(uses, theta, pixels), || residence(uses, theta));
    let shape = sizes.series.shape();
    let independent = (2 * intervals.time / theta.max(1)).clamp(2, 10_000) as usize;
    AtWindow {
        theta,
        size: shape.mean,
        peak: sizes.series.sizes.len().saturating_sub(1) as u64,
        enough: quantile(&sizes.series.sizes, 0.95),
        faults: sizes.faults,
        size_at_faults: sizes.at_faults,
        mixture: Mixture::of(&sizes.series.sizes, independent),
        independent,
        sizes: sizes.series,
        shape,
        verdict: residence.verdict(),
        residence,
    }
}

/// The least size that is enough for a share of the time. `times` is the time at each size.
fn quantile(times: &[u64], share: f64) -> u64 {
    let all: f64 = times.iter().map(|time| *time as f64).sum();
    let mut passed = 0.0;
    let enough = times.iter().position(|time| {
        passed += *time as f64;
        passed >= share * all
    });
    enough.unwrap_or(0) as u64
}
