//! Replacement policies: one file each, one line in [`POLICIES`].
//!
//! A policy answers whether a page was there, and tells which pages it let go. It does not count: [`Spec::run`] does,
//! the same way for all, compiled for each so that nothing is dispatched at a reference.

mod arc;
mod car;
mod clock;
mod clock_pro;
mod drive;
mod fifo;
mod gclock;
mod half_life;
mod le9;
mod lfu;
mod linux;
mod lirs;
mod lru;
mod lru_k;
mod lru_sizes;
mod mglru;
mod mq;
mod nfu;
mod opt;
mod options;
mod pff;
mod random;
mod s3fifo;
mod sieve;
mod tinylfu;
mod two_q;
mod vmin;
mod working_set;
mod ws_clock;

pub use drive::{Score, Step};
pub use opt::{NEVER, next_uses};
pub use options::{Choice, Options};

use crate::{Error, Page, Trace};
use std::fmt;

/// What became of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The page was in memory.
    Hit,
    /// It had to be brought.
    Miss,
}

/// Hears which pages leave memory.
pub trait Gone {
    /// This page has left.
    fn gone(&mut self, page: Page);
}

/// What a policy is made for.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// Pages of memory, at least one.
    pub capacity: usize,
    /// What is to come; only the policies that know the future look at its references.
    pub trace: &'a Trace,
    /// What its options are.
    pub options: &'a Options,
}

impl Room<'_> {
    /// An option's value.
    pub fn option(&self, name: &str) -> f64 {
        self.options.get(name)
    }

    /// Different pages in the trace.
    pub fn pages(&self) -> usize {
        self.trace.pages()
    }
}

/// A replacement policy.
pub trait Policy: Sized {
    /// Whether its memory grows and shrinks with what is in use, instead of being full once it has been filled. The
    /// capacity is then the mean that its parameter is chosen for.
    const VARIABLE: bool = false;

    /// With no page in memory.
    fn new(room: &Room<'_>) -> Result<Self, Error>;

    /// Uses a page at a time of the trace.
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access;

    /// Pages in memory.
    fn resident(&self) -> usize;
}

/// What a policy comes to at several sizes.
type Sizes = fn(&Trace, &[usize]) -> Vec<Score>;

/// A policy by name.
pub struct Spec {
    /// As `--policy` takes it.
    pub name: &'static str,
    /// In one line.
    pub about: &'static str,
    /// Where it is from.
    pub cite: &'static str,
    /// Its options: name, value if not told, meaning.
    pub options: &'static [(&'static str, f64, &'static str)],
    /// Whether [`Policy::VARIABLE`].
    pub variable: bool,
    /// The option that a variable policy's mean size rises with.
    pub fitted: Option<&'static str>,
    sizes: Option<Sizes>,
    run: fn(&Room<'_>) -> Result<Score, Error>,
    steps: fn(&Room<'_>) -> Result<Vec<Step>, Error>,
}

impl Spec {
    const fn of<P: Policy>(name: &'static str, about: &'static str, cite: &'static str) -> Self {
        Self {
            name,
            about,
            cite,
            options: &[],
            variable: P::VARIABLE,
            fitted: None,
            sizes: None,
            run: drive::run::<P>,
            steps: drive::steps::<P>,
        }
    }

    const fn with(self, options: &'static [(&'static str, f64, &'static str)]) -> Self {
        Self { options, ..self }
    }

    const fn fitted(self, option: &'static str) -> Self {
        Self {
            fitted: Some(option),
            ..self
        }
    }

    const fn at_once(self, sizes: Sizes) -> Self {
        Self {
            sizes: Some(sizes),
            ..self
        }
    }

    /// Whether all sizes are one pass: [`Spec::run_all`] is then no more work than a run or two.
    pub fn is_at_once(&self) -> bool {
        self.sizes.is_some()
    }

    /// As [`Spec::run`] at each of these sizes, which must rise.
    pub fn run_all(
        &self,
        trace: &Trace,
        capacities: &[usize],
        options: &Options,
    ) -> Result<Vec<Score>, Error> {
        match self.sizes {
            Some(sizes) if capacities.len() > 1 => {
                capacities
                    .iter()
                    .try_for_each(|capacity| fits(trace, *capacity))?;
                Ok(sizes(trace, capacities))
            }
            _ => capacities
                .iter()
                .map(|capacity| self.run(trace, *capacity, options))
                .collect(),
        }
    }

    /// The whole trace at this many pages of memory; a variable policy whose fitted option was not told gets the
    /// largest value at which its mean size is no more.
    ///
    /// Errors: a capacity of zero or above the footprint's, an option out of range.
    pub fn run(&self, trace: &Trace, capacity: usize, options: &Options) -> Result<Score, Error> {
        fits(trace, capacity)?;
        let fitted = self.fitted.filter(|name| !options.is_told(name));
        let options = match fitted {
            Some(name) => &drive::fit(self, name, trace, capacity, options)?,
            None => options,
        };
        (self.run)(&Room {
            capacity,
            trace,
            options,
        })
    }

    /// What becomes of each reference: slower, and for those who want to look.
    pub fn steps(
        &self,
        trace: &Trace,
        capacity: usize,
        options: &Options,
    ) -> Result<Vec<Step>, Error> {
        (self.steps)(&Room {
            capacity,
            trace,
            options,
        })
    }
}

fn fits(trace: &Trace, capacity: usize) -> Result<(), Error> {
    if (1..=trace.pages()).contains(&capacity) {
        return Ok(());
    }
    Err(Error::Unfit(format!(
        "{capacity} pages of memory: the trace has {} different ones, and what is more would never be used",
        trace.pages()
    )))
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// All policies. To add one: a file, a `mod`, a line here.
pub const POLICIES: &[Spec] = &[
    fifo::SPEC,
    half_life::SPEC,
    random::SPEC,
    lru::SPEC,
    clock::SPEC,
    gclock::SPEC,
    nfu::SPEC,
    lfu::SPEC,
    lru_k::SPEC,
    two_q::SPEC,
    mq::SPEC,
    arc::REAL,
    arc::INTEGER,
    car::SPEC,
    lirs::SPEC,
    clock_pro::SPEC,
    sieve::SPEC,
    s3fifo::SPEC,
    tinylfu::SPEC,
    opt::SPEC,
    working_set::SPEC,
    pff::SPEC,
    vmin::SPEC,
    ws_clock::SPEC,
    linux::SPEC,
    mglru::SPEC,
    le9::FIXED,
    le9::ADAPTIVE,
];
