//! What withheld memory gained: a model runs the recorded demand with three gaps.
//!
//! The gaps are the recorded one, the one found before the guard changed it, and the one that this version would set. The
//! model is that of `warmset replay --compare`; its documentation says what it leaves out. Files are modelled one by one
//! and added up.

use host::recordings::{ReadError, Reader};
use pressure::replay::{Arm, Outcome, Plan, ReplayError, Survey};
use serde::Serialize;
use std::path::Path;
use units::{Bytes, Span};

/// The stalls of one arm.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Stalls {
    /// Number of episodes in which allocations stalled.
    pub(super) episodes: u64,
    /// Memory that allocations had to reclaim for themselves.
    pub(super) memory: Bytes,
    /// Time in which allocations had to reclaim for themselves.
    pub(super) time: Span,
    /// Memory kept free above the gap that was found, in bytes × seconds.
    pub(super) byte_seconds: u64,
}

/// The same demand with three gaps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Bought {
    /// With the recorded gap.
    pub(super) as_recorded: Stalls,
    /// With the gap that was found.
    pub(super) without: Stalls,
    /// With the gap that this version sets by the recorded configuration.
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
    /// Adds a file that was surveyed. Takes as long as three runs of the model.
    ///
    /// Errors: the file cannot be read again. The inner error: it says too little for the model.
    pub(super) fn add(
        &mut self,
        survey: &Survey,
        path: &Path,
    ) -> Result<Result<(), ReplayError>, ReadError> {
        let plan = Plan::of(&[Arm::Recorded, Arm::Nothing, Arm::Warmset]);
        let mut modelling = match survey.model(&plan) {
            Ok(modelling) => modelling,
            Err(error) => return Ok(Err(error)),
        };
        for entry in Reader::open(path)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(ReadError::Line { .. }) => continue,
                Err(error) => return Err(error),
            };
            if let Err(error) = modelling.take(&entry) {
                return Ok(Err(error));
            }
        }
        if let [recorded, nothing, ours] = modelling.end().arms.as_slice() {
            self.as_recorded.add(recorded);
            self.without.add(nothing);
            self.by_this_version.add(ours);
        }
        Ok(Ok(()))
    }
}
