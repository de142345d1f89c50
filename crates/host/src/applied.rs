//! What came of the steps of a decision.

use arrayvec::ArrayVec;
use pressure::Decision;
use pressure::decision::{Action, MAX_STEPS};
use rustix::io::Errno;
use std::fmt;

/// What came of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// A knob was set.
    Written,
    /// It came too late: another program changed the knob between the sample and the write, or the process had ended by
    /// itself.
    Overtaken,
    /// A knob was put back, or was not held any more.
    PutBack,
    /// A limit of a control group was set or put back.
    Limited,
    /// A signal was sent.
    Signalled,
    /// A signal could not be sent.
    Missed(Missed),
    /// The worker has the request; it carries it out in its own time.
    HandedToWorker,
    /// `warmset-hold` has the order.
    HandedToHolder,
    /// The request was dropped: the worker's queue is full, its cgroup is not protected any more, or `warmset-hold` does
    /// not run. A later decision asks again if it still matters.
    Dropped,
    /// The kernel, or a check before the write, refused.
    Refused {
        /// One line that names the file.
        why: String,
    },
}

impl Applied {
    pub(crate) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused {
            why: why.to_string(),
        }
    }
}

/// Why a process was not signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// It is no candidate of the last scan.
    Unknown,
    /// It ended by itself, or its number has passed to another.
    Gone,
    /// The kernel has no pidfd (before 5.3), or this is a recorded machine.
    NoMeans,
    /// The kernel refused.
    Refused(Errno),
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("it is no candidate of the last process scan"),
            Self::Gone => f.write_str("it has ended by itself"),
            Self::NoMeans => f.write_str("there is no pidfd: the kernel is older than 5.3"),
            Self::Refused(errno) => write!(f, "the kernel refuses: {errno}"),
        }
    }
}

/// What came of each step of a decision, in the order of its steps; empty if this run may only observe.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outcome {
    steps: ArrayVec<Applied, MAX_STEPS>,
}

impl Outcome {
    /// One [`Applied`] for each step.
    pub fn steps(&self) -> &[Applied] {
        &self.steps
    }

    /// Nothing was carried out yet of so many steps.
    pub(crate) fn of(steps: usize) -> Self {
        let steps = std::iter::repeat_n(Applied::Dropped, steps);
        Self {
            steps: steps.collect(),
        }
    }

    pub(crate) fn set(&mut self, step: usize, applied: Applied) {
        if let Some(place) = self.steps.get_mut(step) {
            *place = applied;
        }
    }

    /// Returns true if the step at this place sent a signal or changed a limit of a control group.
    pub fn has_done(&self, step: usize) -> bool {
        matches!(
            self.steps.get(step),
            Some(Applied::Signalled | Applied::Limited)
        )
    }

    /// Returns true unless the step at this place is a signal or a limit that was not carried out.
    ///
    /// Other steps count as done: what was refused is among the warnings.
    pub fn seems_done(&self, decision: &Decision, step: usize) -> bool {
        let must_have_done = decision
            .steps
            .get(step)
            .is_some_and(|step| matches!(step.action, Action::Kill { .. } | Action::Group(_)));
        !must_have_done || self.has_done(step)
    }

    /// How many steps had this outcome.
    pub fn count(&self, applied: &Applied) -> u64 {
        self.steps.iter().filter(|one| *one == applied).count() as u64
    }
}

impl FromIterator<Applied> for Outcome {
    /// Takes as many as a decision may have steps.
    fn from_iter<I: IntoIterator<Item = Applied>>(steps: I) -> Self {
        Self {
            steps: steps.into_iter().take(MAX_STEPS).collect(),
        }
    }
}
