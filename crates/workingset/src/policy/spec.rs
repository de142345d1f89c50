//! A policy by name: what is known of it, and how it is run.

use super::drive::{self, Score, Step};
use super::interface::{Policy, Setup};
use super::options::{OptionSpec, Options};
use crate::trace::demand_order;
use crate::{Error, Trace};
use std::fmt;

/// A function that runs a policy at several sizes in one pass.
type AllSizes = fn(&Trace, &[usize]) -> Vec<Score>;

/// A policy by name.
pub struct Spec {
    /// The name, as `--policy` takes it.
    pub name: &'static str,
    /// What the policy is, in one line.
    pub about: &'static str,
    /// The paper or program that it is from.
    pub cite: &'static str,
    /// The policy's options.
    pub options: &'static [OptionSpec],
    /// Whether its memory grows and shrinks: [`Policy::VARIABLE`].
    pub variable: bool,
    /// The option that a variable policy's mean size rises with.
    pub fitted: Option<&'static str>,
    all_sizes: Option<AllSizes>,
    run: fn(&Setup<'_>) -> Result<Score, Error>,
    steps: fn(&Setup<'_>) -> Result<Vec<Step>, Error>,
}

impl Spec {
    pub(super) const fn of<P: Policy>(
        name: &'static str,
        about: &'static str,
        cite: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            cite,
            options: &[],
            variable: P::VARIABLE,
            fitted: None,
            all_sizes: None,
            run: drive::run::<P>,
            steps: drive::steps::<P>,
        }
    }

    pub(super) const fn with(self, options: &'static [OptionSpec]) -> Self {
        Self { options, ..self }
    }

    pub(super) const fn fitted(self, option: &'static str) -> Self {
        Self {
            fitted: Some(option),
            ..self
        }
    }

    pub(super) const fn at_once(self, all_sizes: AllSizes) -> Self {
        Self {
            all_sizes: Some(all_sizes),
            ..self
        }
    }

    /// The options with the values that they have if none is given.
    pub fn defaults(&self) -> Options {
        Options::defaults(self.options)
    }

    /// Returns true if all sizes take one pass. [`Spec::run_all`] then costs no more than a run or
    /// two.
    pub fn is_at_once(&self) -> bool {
        self.all_sizes.is_some()
    }

    /// The same as [`Spec::run`] at each of these sizes, which must rise.
    pub fn run_all(
        &self,
        trace: &Trace,
        capacities: &[usize],
        options: &Options,
    ) -> Result<Vec<Score>, Error> {
        match self.all_sizes {
            Some(all_sizes) if capacities.len() > 1 => {
                self.check_order(trace)?;
                for capacity in capacities {
                    check_capacity(*capacity)?;
                }
                let mut usable: Vec<usize> = capacities
                    .iter()
                    .map(|capacity| (*capacity).min(trace.pages()))
                    .collect();
                usable.dedup();
                let scores = all_sizes(trace, &usable);
                Ok(named(&scores, &usable, capacities))
            }
            _ => {
                let mut scores = Vec::with_capacity(capacities.len());
                for capacity in capacities {
                    scores.push(self.run(trace, *capacity, options)?);
                }
                Ok(scores)
            }
        }
    }

    /// Runs the policy over the whole trace with `capacity` pages of memory.
    ///
    /// If the fitted option of a variable policy is not given, it gets the largest value at which
    /// the mean size is at most the capacity.
    ///
    /// A capacity above the footprint gives the score of the footprint, under its own name: what is more is never used.
    ///
    /// Errors: a capacity of zero, an option out of its range.
    pub fn run(&self, trace: &Trace, capacity: usize, options: &Options) -> Result<Score, Error> {
        check_capacity(capacity)?;
        self.check_order(trace)?;
        let setup = Setup {
            capacity: capacity.min(trace.pages()),
            trace,
            options,
        };
        let score = match self.fitted {
            Some(name) if !options.is_told(name) => {
                let fitted = drive::fit(self.run, name, &setup)?;
                (self.run)(&Setup {
                    options: &fitted,
                    ..setup
                })
            }
            _ => (self.run)(&setup),
        };
        Ok(Score { capacity, ..score? })
    }

    /// Errors: uses without an order, of which only the working set of a window longer than a look can be known.
    pub(crate) fn check_order(&self, trace: &Trace) -> Result<(), Error> {
        if matches!(self.name, "ws" | "vmin") {
            return Ok(());
        }
        demand_order(&trace.about, self.name)
    }

    /// By how much of the capacity the mean size that a fitted option gave misses it, if that is more than a twentieth: then the
    /// misses are those of another size. `None` where nothing was fitted.
    pub fn size_missed_by(&self, options: &Options, score: &Score) -> Option<f64> {
        const TOLERATED: f64 = 0.05;
        let name = self.fitted?;
        let usable = (score.capacity as u64).min(score.distinct);
        let missed_by = score.mean_size / usable as f64 - 1.0;
        let counts = !options.is_told(name) && missed_by.abs() > TOLERATED;
        counts.then_some(missed_by)
    }

    /// Runs the policy and returns what became of each reference. This is slower than
    /// [`Spec::run`].
    pub fn steps(
        &self,
        trace: &Trace,
        capacity: usize,
        options: &Options,
    ) -> Result<Vec<Step>, Error> {
        (self.steps)(&Setup {
            capacity,
            trace,
            options,
        })
    }
}

/// The scores of capacities that were asked for, of which those above the footprint share the last.
fn named(scores: &[Score], usable: &[usize], capacities: &[usize]) -> Vec<Score> {
    let mut all = Vec::with_capacity(capacities.len());
    for capacity in capacities {
        let at = usable.partition_point(|size| size < capacity);
        let score = &scores[at.min(scores.len() - 1)];
        all.push(Score {
            capacity: *capacity,
            ..score.clone()
        });
    }
    all
}

fn check_capacity(capacity: usize) -> Result<(), Error> {
    if capacity > 0 {
        return Ok(());
    }
    Err(Error::Unfit("a policy needs a page of memory".to_owned()))
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
