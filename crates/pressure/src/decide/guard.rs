//! The guard: what is done when memory runs out, to which process, or to none.
//!
//! ```text
//!            ┌─ tells ────── warns · names_shared · says_thrash · says_nobody ─┐
//! View ──────┼─ limits ───── eases · thaws · throttles ────────────────────────┼─► arbiter ─► steps, notices
//!            └─ signals ──── answers · waits · at_limit · runaway · thrash ────┘
//!                            hopeless · last_resort
//! ```
//!
//! Each rule is a function `(&View) -> Proposal` in a file of its own, and none calls another. The
//! [`arbiter`] takes all that may be done beside anything else, and of the rest the first in its order.
//!
//! One kill at a time: while the memory of a signalled process is on its way back it counts as headroom
//! (`Outlook`), so no other process is killed for it. A process that outlives SIGKILL by `STUCK` is given
//! up, and the next one is chosen.

mod arbiter;
mod proposal;
mod rules;
mod view;

use super::draft::Draft;
use crate::decision::{Action, Reason};
use crate::decision::{Attention, Notice};
use crate::distress::Severity;
use crate::groups::Frozen;
use std::time::Duration;
use units::Span;
use view::View;

/// Growth comes in bursts, so processes are scanned for this long after the last alert.
const WATCHFUL: Duration = Duration::from_secs(5);

impl Draft<'_> {
    /// Throttles, freezes or kills what makes memory run out, if anything does. Returns what the next
    /// sample has to hold.
    pub(super) fn guard(&mut self) -> Attention {
        self.forecast.outlook = self.history.distress.outlook;
        self.report_gone();
        let is_disabled = self.sample.circumstances.disabled == Some(1);
        let may_act = self.config.mode.guards() && !is_disabled;
        let Some(outlook) = self.forecast.outlook.filter(|_| may_act) else {
            self.release_limits();
            return Attention::Rest;
        };
        let view = View::new(&self.config.guard, self.history, self.sample, outlook);
        if view.severity == Severity::Calm && !self.is_attentive() {
            return Attention::Rest;
        }
        self.distressed = view.severity >= Severity::Warn;
        arbiter::settle(self, &view);
        Attention::Candidates
    }

    /// Whether processes are scanned even without an alert: one was signalled, throttled or frozen, the
    /// machine thrashes, or the last alert was a moment ago.
    fn is_attentive(&self) -> bool {
        let groups = &self.sample.groups;
        let distress = &self.history.distress;
        let mut victims = self.sample.scan.victims.iter();
        victims.any(|victim| victim.gone.is_none())
            || !groups.throttled.is_empty()
            || groups.frozen.iter().any(Frozen::is_frozen)
            || distress.thrashing_since.is_some()
            || self.ago(distress.alerted).is_some_and(|ago| ago < WATCHFUL)
    }

    /// Reports the signalled processes that are gone since the sample before.
    fn report_gone(&mut self) {
        let before = self.history.before();
        for victim in &self.sample.scan.victims {
            if let Some(gone) = victim.gone.filter(|gone| *gone > before) {
                let after = Span::new(gone.get().saturating_sub(victim.at.get()));
                self.notify(Notice::Gone {
                    name: victim.name,
                    identity: victim.identity,
                    size: victim.size,
                    after,
                });
            }
        }
    }

    /// Undoes every limit and thaws every frozen unit.
    fn release_limits(&mut self) {
        let sample = self.sample;
        for cgroup in &sample.groups.throttled {
            self.step(Action::Group(cgroup.free()), Reason::Stop);
        }
        for frozen in sample.groups.frozen.iter().filter(|one| one.is_frozen()) {
            self.step(Action::Group(frozen.thaw()), Reason::Stop);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
