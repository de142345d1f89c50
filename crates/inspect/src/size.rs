//! How much memory a unit needs, found by taking it away: `warmset size`.
//!
//! ```text
//! target ─► means ─┬─ group: memory.reclaim in small steps, and what the unit answers ─► controller ─► record ─► estimate
//!                  └─ accessed: accessed bits of its processes, where the first cannot be had
//! ```
//!
//! The controller is pure: what was looked at goes in, how much to take comes out. `memory.reclaim` sets no limit, so there is
//! nothing to put back, whatever ends the measurement. A unit reads again what it misses, by itself.
//!
//! Source of the method: Weiner et al., "TMO: Transparent Memory Offloading in Datacenters", ASPLOS 2022, section 3.3, and its
//! program, Senpai. Of them is the proportion: less is taken the nearer pressure is to its budget. What is here beside it: how
//! much may be taken at most, and that what comes back ends a step before pressure shows.

mod accessed;
mod controller;
mod disk_cost;
mod estimate;
mod group;
mod target;

pub use accessed::{Accessed, Window};
pub use controller::{Controller, Next, Options, Phase};
pub use disk_cost::cost_of_a_page;
pub use estimate::{Estimate, OverTime, over_time};
pub use group::Group;
pub use target::{Means, Target, means, target, unit_names};

use host::Error;
use units::{Bytes, Micros, Span};

/// What a look at a unit found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the measurement began.
    pub at: Span,
    /// All of its memory: `memory.current`.
    pub used: Bytes,
    /// Anonymous memory.
    pub anon: Bytes,
    /// Page cache, `shared` included.
    pub file: Bytes,
    /// Shared memory and tmpfs.
    pub shared: Bytes,
    /// Read again after eviction, since the unit was made.
    pub refaulted: Bytes,
    /// How long all of its tasks have waited for memory, since it was made.
    pub stalled: Micros,
    /// What it has in swap; `None` where it is not told.
    pub swapped: Option<Bytes>,
    /// The smallest limit of it and of the groups above it, `memory.high` and `memory.max`; `None` without one.
    pub limit: Option<Bytes>,
}

/// From this part of its limit on, it is at it: reclaim keeps it a little below.
const AT_LIMIT: (u64, u64) = (31, 32);

impl Sample {
    /// Returns true if it has nearly all that it may have.
    pub fn is_at_limit(&self) -> bool {
        let (part, whole) = AT_LIMIT;
        self.limit
            .is_some_and(|limit| self.used >= limit.scaled(part, whole))
    }

    /// What leaves memory for swap only.
    pub fn only_to_swap(&self) -> Bytes {
        self.anon + self.shared
    }
}

/// What a request to reclaim came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// What was asked for.
    pub asked: Bytes,
    /// What left memory.
    pub got: Bytes,
}

/// A unit that can be looked at and taken from. Tests have a model of one.
pub trait Subject {
    /// `None` if it is gone.
    ///
    /// Errors: a file that is there cannot be read.
    fn look(&mut self) -> Result<Option<Sample>, Error>;

    /// Takes this much of its memory, the coldest first. `None` if it is gone.
    ///
    /// Errors: the kernel refuses.
    fn take(&mut self, amount: Bytes) -> Result<Option<Taken>, Error>;
}

/// Why a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After the time that was asked for.
    Time,
    /// By a signal.
    Signal,
    /// The unit is gone.
    Vanished,
    /// It waits for memory, or reads again, without anything being taken.
    Short,
}

/// A measurement by reclaim, from its first look to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Each look.
    pub samples: Vec<Sample>,
    /// Taken, in all.
    pub taken: Bytes,
    /// What came back at which sizes, and what did not.
    pub events: Vec<Event>,
    /// The share of time in which it waited, at most within one window.
    pub worst: units::Percent,
    /// The same before anything was taken; `None` if it ended before.
    pub at_rest: Option<units::Percent>,
    /// Why it ended.
    pub end: End,
}

/// What a unit answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Span,
    /// Its memory then.
    pub size: Bytes,
    /// The largest step that led there.
    pub step: Bytes,
    /// What happened.
    pub kind: EventKind,
}

/// Kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Too small: at this size what had been taken came back, or it waited.
    Missed,
    /// Enough: for a whole window nothing came back.
    Quiet,
    /// The kernel found nothing more to take.
    Floor,
}

/// Measures until `wait` says that it is over. `wait` returns `None` for another look, and `tell` gets each look with what is done.
///
/// Errors: of [`Subject`], with what has been taken until then in effect.
pub fn measure(
    subject: &mut dyn Subject,
    options: Options,
    wait: &mut dyn FnMut() -> Option<End>,
    tell: &mut dyn FnMut(&Sample, &Controller),
) -> Result<Record, Error> {
    let mut controller = Controller::new(options);
    let mut samples = Vec::new();
    let end = loop {
        let Some(sample) = subject.look()? else {
            break End::Vanished;
        };
        samples.push(sample);
        let next = controller.next(&sample);
        tell(&sample, &controller);
        match next {
            Next::Wait => {}
            Next::End => break End::Short,
            Next::Take(amount) => match subject.take(amount)? {
                Some(taken) => controller.took(taken),
                None => break End::Vanished,
            },
        }
        if let Some(end) = wait() {
            break end;
        }
    };
    Ok(controller.record(samples, end))
}

#[cfg(test)]
mod tests;
