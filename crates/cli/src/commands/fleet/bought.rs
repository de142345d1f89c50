//! What withheld memory bought: the recorded demand under the gap that was, that was found, and that would have been.
//!
//! Counted is what the kernel says; the rest is the model of `warmset replay --compare`, of which the docs say what it leaves out.
//! Files are modelled one by one and added up, so that a host of many files takes the memory of one.

use pressure::recording::Entry;
use pressure::replay::{Arm, Outcome, Plan, ReplayError, compare};
use serde::Serialize;
use units::{Bytes, Span};

/// What an arm came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Stalls {
    /// Times in which allocations stalled.
    pub(super) episodes: u64,
    /// Memory that allocations had to reclaim for themselves.
    pub(super) memory: Bytes,
    /// Time in which they had to.
    pub(super) time: Span,
    /// Memory kept free above the gap that was found, summed over time.
    pub(super) byte_seconds: u64,
}

/// The same demand, three times.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Bought {
    /// As the knobs were.
    pub(super) as_recorded: Stalls,
    /// With the gap that was found.
    pub(super) without: Stalls,
    /// As this version would decide by the recorded configuration.
    pub(super) by_this_version: Stalls,
}

impl Stalls {
    fn add(&mut self, outcome: &Outcome) {
        self.episodes += outcome.episodes;
        self.memory = Bytes::new(self.memory.get().saturating_add(outcome.stalled.get()));
        self.time = Span::new(self.time.get() + outcome.stalled_time.get());
        self.byte_seconds = self.byte_seconds.saturating_add(outcome.gap_seconds);
    }
}

impl Bought {
    /// Adds a file. Cost: that of deciding again, and three runs of the model.
    pub(super) fn add(&mut self, entries: &[Entry]) -> Result<(), ReplayError> {
        let comparison = compare(
            entries,
            &Plan::of(&[Arm::Recorded, Arm::Nothing, Arm::Warmset]),
        )?;
        if let [recorded, nothing, ours] = comparison.arms.as_slice() {
            self.as_recorded.add(recorded);
            self.without.add(nothing);
            self.by_this_version.add(ours);
        }
        Ok(())
    }
}
