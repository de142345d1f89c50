//! The working set at one window, looked at closely.

use super::wanted::Wanted;
use crate::measure::mixture::Mixture;
use crate::measure::residence::Residence;
use crate::measure::series::{Series, Shape};
use crate::measure::timed::{residence, sizes};
use crate::measure::{Intervals, Knees, Lifetime};
use crate::{Clock, Error, Uses};
use rayon::prelude::*;
use serde::Serialize;

/// The founding report's window, in instructions.
const AS_PUBLISHED: u64 = 100_000;

/// The working set at a window.
#[derive(Debug, Clone, Serialize)]
pub struct AtWindow {
    /// The window, in the trace's time.
    pub theta: u64,
    /// Mean pages.
    pub size: f64,
    /// Most pages.
    pub peak: u64,
    /// Pages that are enough for 95 % of the time.
    pub enough: u64,
    /// Faults.
    pub faults: u64,
    /// Sum of the sizes at faults, in pages, exactly; faults × mean size is Denning's
    /// approximation.
    pub size_at_faults: f64,
    /// Over time.
    pub sizes: Series,
    /// Moments half a window apart: so many sizes have little in common.
    pub independent: usize,
    /// How sizes are spread.
    pub shape: Shape,
    /// As a mixture of normal distributions; `None` if there is one size.
    pub mixture: Option<Mixture>,
    /// How long pages stay.
    pub residence: Residence,
    /// What that says.
    pub verdict: String,
}

/// The windows asked for, or: the founding report's, where time is instructions; where the lifetime
/// for each page is greatest; and a fiftieth of the trace.
pub(super) fn chosen(
    uses: &Uses,
    intervals: &Intervals,
    wanted: &Wanted,
) -> Result<Vec<u64>, Error> {
    let time = uses.time();
    if let Some(theta) = wanted
        .thetas
        .iter()
        .find(|theta| **theta == 0 || **theta > time)
    {
        return Err(Error::Unfit(format!(
            "a window of {theta}: the trace is {time} long"
        )));
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
    let knee = Lifetime::of_working_set(intervals)
        .knees(0.0)
        .and_then(|knees| knee(&knees));
    let mut thetas: Vec<u64> = [Some(published), knee, Some(time / 50)]
        .into_iter()
        .flatten()
        .collect();
    thetas.retain(|theta| *theta > 0 && *theta <= time / 2);
    if thetas.is_empty() {
        thetas.push((time / 2).max(1));
    }
    Ok(sorted(thetas))
}

/// The window where the lifetime for each page is greatest; `None` where that is a single page:
/// nothing is used again.
pub(super) fn knee(knees: &Knees) -> Option<u64> {
    (knees.ray.size >= 2.0).then_some(knees.ray.parameter)
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

/// The least size that is enough for a share of the time.
fn quantile(times: &[u64], share: f64) -> u64 {
    let all: f64 = times.iter().map(|time| *time as f64).sum();
    let mut passed = 0.0;
    let enough = times.iter().position(|time| {
        passed += *time as f64;
        passed >= share * all
    });
    enough.unwrap_or(0) as u64
}
