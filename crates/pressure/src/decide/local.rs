//! Local replacement, if it is asked for: at a watermark, pressure on the clock of one process.
//!
//! A watermark was reached if kswapd has freed memory since the sample before: it is woken at low. At most one process in
//! each `local.every`, and none of more than [`LARGEST`], whose page tables would be walked for too long.

use super::Draft;
use crate::decision::{Action, Attention, Reason};
use crate::local::{Policy, Push, Whom};
use crate::scan::Candidate;
use std::time::Duration;
use units::Bytes;

/// Taking accessed bits back holds up the page faults of a process for about 5 ms a GiB.
const LARGEST: Bytes = Bytes::mib(4096);
/// Who runs is looked at for so long after memory was last short.
const WATCHFUL: Duration = Duration::from_secs(5);

impl Draft<'_> {
    /// What to look at next for it, if anything beyond what is looked at already.
    pub(super) fn attends_to_runners(&self, otherwise: Attention) -> Attention {
        let short = self
            .history
            .calm(self.sample.at)
            .is_some_and(|calm| calm < WATCHFUL);
        let wanted = self.config.local.policy != Policy::Off && short && self.outranked().is_none();
        if wanted {
            Attention::Runners
        } else {
            otherwise
        }
    }

    /// Presses, if a watermark was reached.
    pub(super) fn local(&mut self) {
        let Some((way, whom)) = self.config.local.policy.parts() else {
            return;
        };
        let due = self.history.latest.kswapd_ran
            && self.history.enters_slot(self.config.local.every.get());
        let Some(free) = self.history.free(self.sample).filter(|_| due) else {
            return;
        };
        let scan = &self.sample.scan;
        let whole = |candidate: &Candidate| candidate.mapped.unwrap_or(candidate.resident);
        let largest = || {
            scan.candidates
                .iter()
                .max_by_key(|candidate| whole(candidate))
        };
        let runners = &scan.runners;
        let chosen = match whom {
            Whom::Largest => {
                largest().map(|candidate| (candidate.identity, candidate.name, whole(candidate)))
            }
            Whom::Next => runners
                .first()
                .map(|runner| (runner.identity, runner.name, runner.resident)),
            Whom::Last => runners
                .last()
                .map(|runner| (runner.identity, runner.name, runner.resident)),
        };
        let Some((identity, name, size)) = chosen.filter(|chosen| chosen.2 <= LARGEST) else {
            return;
        };
        self.step(
            Action::Local(Push {
                way,
                identity,
                name,
                size,
            }),
            Reason::Watermark { free },
        );
    }
}
