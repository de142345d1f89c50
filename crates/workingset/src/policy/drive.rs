//! Runs a policy over a trace, and counts.

use super::interface::{Access, Evictions, Policy, Setup};
use super::options::Options;
use crate::{Error, Op, Page, Trace, ahead};
use serde::{Deserialize, Serialize};

/// The counts of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Pages of memory.
    pub capacity: usize,
    /// References of the trace.
    pub references: u64,
    /// Different pages among the references.
    pub distinct: u64,
    /// References to a page that was not in memory.
    pub misses: u64,
    /// Evictions of pages that were written to. `None` if the trace has no operations.
    pub writebacks: Option<u64>,
    /// Mean number of pages in memory after each reference, from the empty memory on.
    pub mean_size: f64,
    /// The options that were given or fitted, as `name=value`.
    pub options: String,
}

impl Score {
    /// Misses per reference.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.references.max(1) as f64
    }
}

/// What became of one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whether it was a hit.
    pub access: Access,
    /// Pages that were evicted for it.
    pub evicted: Vec<Page>,
    /// Pages in memory afterwards.
    pub resident: usize,
}

/// Ignores evictions.
struct Ignored;

impl Evictions for Ignored {
    #[inline]
    fn note(&mut self, _: Page) {}
}

/// Counts the evictions of pages that were written to.
struct WriteBacks {
    /// For each page, whether it was written to since it was loaded.
    dirty: Vec<bool>,
    count: u64,
}

impl Evictions for WriteBacks {
    #[inline]
    fn note(&mut self, page: Page) {
        let was_dirty = std::mem::take(&mut self.dirty[page as usize]);
        self.count += u64::from(was_dirty);
    }
}

impl Evictions for Vec<Page> {
    fn note(&mut self, page: Page) {
        self.push(page);
    }
}

pub(super) fn run<P: Policy>(setup: &Setup<'_>) -> Result<Score, Error> {
    let mut policy = P::new(setup)?;
    Ok(run_made(&mut policy, setup))
}

/// Runs a policy that was made elsewhere, with no page in memory. What it does is counted as of any other.
pub fn run_made<P: Policy>(policy: &mut P, setup: &Setup<'_>) -> Score {
    let trace = setup.trace;
    let counts;
    let writebacks;
    match trace.op() {
        None => {
            counts = count(policy, trace, setup.capacity);
            writebacks = None;
        }
        Some(op) => {
            let mut written = WriteBacks {
                dirty: vec![false; setup.pages()],
                count: 0,
            };
            counts = count_writing(policy, trace, op, &mut written);
            writebacks = Some(written.count);
        }
    }
    Score {
        capacity: setup.capacity,
        references: trace.len() as u64,
        distinct: setup.pages() as u64,
        misses: counts.misses,
        writebacks,
        mean_size: counts.sizes as f64 / trace.len() as f64,
        options: setup.options.told(),
    }
}

struct Counts {
    misses: u64,
    /// The sum of the pages in memory after each reference.
    sizes: u128,
}

/// Counts a run without write-backs.
///
/// A policy of fixed memory stays full once it is full, so its size is looked at only until then.
fn count<P: Policy>(policy: &mut P, trace: &Trace, capacity: usize) -> Counts {
    let mut misses = 0_u64;
    let mut sizes = 0_u128;
    let mut at = 0;
    while at < trace.len() && (P::VARIABLE || policy.resident() < capacity) {
        let access = policy.access(trace.refs()[at], now(trace, at), &mut Ignored);
        misses += u64::from(access == Access::Miss);
        sizes += policy.resident() as u128;
        at += 1;
    }
    sizes += (trace.len() - at) as u128 * capacity as u128;
    let refs = &trace.refs()[at..];
    let is_far = ahead::pays(trace.pages() * P::ENTRY);
    // A loop for each case, so that nothing is chosen at each reference.
    misses += match (trace.time(), is_far) {
        (None, false) => misses_of::<P, false>(policy, refs, at as u64..),
        (None, true) => misses_of::<P, true>(policy, refs, at as u64..),
        (Some(time), false) => misses_of::<P, false>(policy, refs, time[at..].iter().copied()),
        (Some(time), true) => misses_of::<P, true>(policy, refs, time[at..].iter().copied()),
    };
    Counts { misses, sizes }
}

fn misses_of<P: Policy, const FAR: bool>(
    policy: &mut P,
    refs: &[Page],
    times: impl Iterator<Item = u64>,
) -> u64 {
    let mut misses = 0;
    for (at, (page, now)) in refs.iter().zip(times).enumerate() {
        if FAR {
            if let Some(soon) = refs.get(at + ahead::STEPS) {
                policy.fetch(*soon);
            }
        }
        let access = policy.access(*page, now, &mut Ignored);
        misses += u64::from(access == Access::Miss);
    }
    misses
}

fn count_writing<P: Policy>(
    policy: &mut P,
    trace: &Trace,
    op: &[Op],
    written: &mut WriteBacks,
) -> Counts {
    let mut misses = 0_u64;
    let mut sizes = 0_u128;
    for (at, (page, op)) in trace.refs().iter().zip(op).enumerate() {
        let access = policy.access(*page, now(trace, at), written);
        misses += u64::from(access == Access::Miss);
        if op.writes() {
            written.dirty[*page as usize] = true;
        }
        sizes += policy.resident() as u128;
    }
    Counts { misses, sizes }
}

#[inline]
fn now(trace: &Trace, at: usize) -> u64 {
    trace.time().map_or(at as u64, |time| time[at])
}

pub(super) fn steps<P: Policy>(setup: &Setup<'_>) -> Result<Vec<Step>, Error> {
    let trace = setup.trace;
    let mut policy = P::new(setup)?;
    let mut steps = Vec::with_capacity(trace.len());
    for (at, page) in trace.refs().iter().enumerate() {
        let mut evicted = Vec::new();
        let access = policy.access(*page, now(trace, at), &mut evicted);
        steps.push(Step {
            access,
            evicted,
            resident: policy.resident(),
        });
    }
    Ok(steps)
}

/// How precisely an option is fitted, as a ratio of two values. Each halving of the distance is one
/// more run of the policy: from 1 to a million, 1 % takes 11 runs.
const PRECISION: f64 = 1.01;

/// The largest value of an option at which the mean size is at most the capacity, in steps of 1 %.
///
/// The mean size rises with the value. If even the value 1 gives too large a mean, the result is 1.
pub(super) fn fit(
    run: fn(&Setup<'_>) -> Result<Score, Error>,
    name: &'static str,
    setup: &Setup<'_>,
) -> Result<Options, Error> {
    let given = setup.options;
    let capacity = setup.capacity as f64;
    let mean = |value: f64| -> Result<f64, Error> {
        let options = given.with(name, value);
        let score = run(&Setup {
            options: &options,
            ..*setup
        })?;
        Ok(score.mean_size)
    };
    let mut low = 1.0_f64;
    let mut high = span(setup.trace);
    if mean(high)? <= capacity {
        return Ok(given.with(name, high));
    }
    while high / low > PRECISION && high - low > 1.0 {
        let middle = between(low, high);
        if mean(middle)? <= capacity {
            low = middle;
        } else {
            high = middle;
        }
        if middle >= high && high - low <= 1.0 {
            break;
        }
    }
    Ok(given.with(name, low))
}

/// How long a trace is, in its own time or in references.
fn span(trace: &Trace) -> f64 {
    match trace.time() {
        Some(time) => time[time.len() - 1].saturating_sub(time[0]) as f64 + 1.0,
        None => trace.len() as f64,
    }
}

/// A whole number between two values, in the middle by their logarithms.
fn between(low: f64, high: f64) -> f64 {
    let middle = (low * high).sqrt().round();
    middle.clamp(low + 1.0, (high - 1.0).max(low + 1.0))
}
