//! Runs a policy over a trace and counts.

use super::{Access, Gone, Options, Policy, Room, Spec};
use crate::{Error, Op, Page, Trace};
use serde::{Deserialize, Serialize};

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Pages of memory.
    pub capacity: usize,
    /// References.
    pub references: u64,
    /// Different pages among them.
    pub distinct: u64,
    /// References whose page was not in memory.
    pub misses: u64,
    /// Pages that left memory changed; `None` where the trace does not tell what was written.
    pub writebacks: Option<u64>,
    /// Mean of the pages in memory after each reference, from the empty memory on.
    pub mean_size: f64,
    /// Options that were told, or fitted.
    pub options: String,
}

impl Score {
    /// Misses for each reference.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.references.max(1) as f64
    }
}

/// What became of one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whether its page was there.
    pub access: Access,
    /// Pages that left for it.
    pub gone: Vec<Page>,
    /// Pages in memory then.
    pub resident: usize,
}

struct Unheard;

impl Gone for Unheard {
    #[inline]
    fn gone(&mut self, _: Page) {}
}

struct Dirty {
    dirty: Vec<bool>,
    writebacks: u64,
}

impl Gone for Dirty {
    #[inline]
    fn gone(&mut self, page: Page) {
        self.writebacks += u64::from(std::mem::take(&mut self.dirty[page as usize]));
    }
}

impl Gone for Vec<Page> {
    fn gone(&mut self, page: Page) {
        self.push(page);
    }
}

pub(super) fn run<P: Policy>(room: &Room<'_>) -> Result<Score, Error> {
    let mut policy = P::new(room)?;
    let (misses, sum, writebacks) = match room.trace.op() {
        None => {
            let (misses, sum) = count(&mut policy, room.trace, room.capacity);
            (misses, sum, None)
        }
        Some(op) => {
            let mut dirty = Dirty {
                dirty: vec![false; room.pages()],
                writebacks: 0,
            };
            let (misses, sum) = count_writing(&mut policy, room.trace, op, &mut dirty);
            (misses, sum, Some(dirty.writebacks))
        }
    };
    Ok(Score {
        capacity: room.capacity,
        references: room.trace.len() as u64,
        distinct: room.pages() as u64,
        misses,
        writebacks,
        mean_size: sum as f64 / room.trace.len() as f64,
        options: room.options.told(),
    })
}

/// Misses, and the sum of sizes. A policy that stays full once it is needs no look at its size.
fn count<P: Policy>(policy: &mut P, trace: &Trace, capacity: usize) -> (u64, u128) {
    let mut misses = 0_u64;
    let mut sum = 0_u128;
    let mut at = 0;
    while at < trace.len() && (P::VARIABLE || policy.resident() < capacity) {
        misses += u64::from(
            policy.access(trace.refs()[at], now(trace, at), &mut Unheard) == Access::Miss,
        );
        sum += policy.resident() as u128;
        at += 1;
    }
    sum += (trace.len() - at) as u128 * capacity as u128;
    match trace.time() {
        None => {
            for (page, now) in trace.refs()[at..].iter().zip(at as u64..) {
                misses += u64::from(policy.access(*page, now, &mut Unheard) == Access::Miss);
            }
        }
        Some(time) => {
            for (page, now) in trace.refs()[at..].iter().zip(&time[at..]) {
                misses += u64::from(policy.access(*page, *now, &mut Unheard) == Access::Miss);
            }
        }
    }
    (misses, sum)
}

fn count_writing<P: Policy>(
    policy: &mut P,
    trace: &Trace,
    op: &[Op],
    dirty: &mut Dirty,
) -> (u64, u128) {
    let mut misses = 0_u64;
    let mut sum = 0_u128;
    for (at, (page, op)) in trace.refs().iter().zip(op).enumerate() {
        misses += u64::from(policy.access(*page, now(trace, at), dirty) == Access::Miss);
        if op.writes() {
            dirty.dirty[*page as usize] = true;
        }
        sum += policy.resident() as u128;
    }
    (misses, sum)
}

#[inline]
fn now(trace: &Trace, at: usize) -> u64 {
    trace.time().map_or(at as u64, |time| time[at])
}

pub(super) fn steps<P: Policy>(room: &Room<'_>) -> Result<Vec<Step>, Error> {
    let mut policy = P::new(room)?;
    let step = |(at, page): (usize, &Page)| {
        let mut gone = Vec::new();
        let access = policy.access(*page, now(room.trace, at), &mut gone);
        Step {
            access,
            gone,
            resident: policy.resident(),
        }
    };
    Ok(room.trace.refs().iter().enumerate().map(step).collect())
}

/// The largest value of an option, in steps of 1 %, at which the mean size is no more than the capacity: the mean rises
/// with it. Where the smallest is too much already, the smallest.
pub(super) fn fit(
    spec: &Spec,
    name: &'static str,
    trace: &Trace,
    capacity: usize,
    own: &Options,
) -> Result<Options, Error> {
    let span = match trace.time() {
        Some(time) => time[time.len() - 1].saturating_sub(time[0]) as f64 + 1.0,
        None => trace.len() as f64,
    };
    let mean = |value: f64| -> Result<f64, Error> {
        let options = own.with(name, value);
        Ok((spec.run)(&Room {
            capacity,
            trace,
            options: &options,
        })?
        .mean_size)
    };
    let mut low = 1.0_f64;
    let mut high = span;
    if mean(high)? <= capacity as f64 {
        return Ok(own.with(name, high));
    }
    while high / low > 1.01 && high - low > 1.0 {
        let middle = (low * high)
            .sqrt()
            .round()
            .clamp(low + 1.0, (high - 1.0).max(low + 1.0));
        if mean(middle)? <= capacity as f64 {
            low = middle;
        } else {
            high = middle;
        }
        if middle >= high && high - low <= 1.0 {
            break;
        }
    }
    Ok(own.with(name, low))
}
