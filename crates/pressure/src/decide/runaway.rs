//! The kill: memory runs out within seconds, and a process causes it.
//!
//! ```text
//! Outlook ─► Severity ─► was a process signalled already? ─► wait, or SIGKILL
//!                     └► which process causes it? ─────────► SIGTERM, or SIGKILL
//! ```
//!
//! One kill at a time: while the memory of a signalled process is on its way back it counts as headroom
//! ([`Outlook`]), so no other process is killed for it. A process that outlives SIGKILL by [`STUCK`] is
//! given up, and the next one is chosen.

use super::draft::Draft;
use crate::decision::{Action, Attention, Notice, Reason};
use crate::distress::{
    Choice, Extent, Inputs, Outlook, Pick, STUCK, Severity, choose, kernels_choice, largest,
    severity, thrashes,
};
use crate::groups::Frozen;
use crate::scan::{Signal, Victim};
use std::time::Duration;
use units::{Percent, Span};

/// Minimum time between kills: freed memory takes a moment to show in the counters.
const APART: Duration = Duration::from_secs(1);
/// A process that handles SIGTERM needs at least this long for it.
const GRACE_AT_LEAST: Duration = Duration::from_millis(200);
/// SIGKILL if memory is still running out this long after SIGTERM, however much time is left.
const SIGTERM_WAIT: Duration = Duration::from_secs(8);
/// Growth comes in bursts, so processes are scanned for this long after the last alert.
const WATCHFUL: Duration = Duration::from_secs(5);
/// Minimum time between two notices that the kill is left to another guard.
const WARN_EVERY: Duration = Duration::from_secs(10);
/// Minimum time between two notices that no process may be killed.
const NO_CULPRIT_EVERY: Duration = Duration::from_secs(1);
/// Share of time lost that makes a full machine a hopeless one: hardly any task gets on.
const HOPELESS: Percent = Percent::new(70);

impl Draft<'_> {
    /// Throttles, freezes or kills the process that makes memory run out, if one does. Returns what the
    /// next sample has to hold.
    pub(super) fn runaway(&mut self) -> Attention {
        self.forecast.outlook = self.history.distress.outlook;
        self.report_gone();
        let is_disabled = self.sample.circumstances.disabled == Some(1);
        let may_kill = self.config.mode.guards() && !is_disabled;
        let Some(outlook) = self.forecast.outlook.filter(|_| may_kill) else {
            self.release_limits();
            return Attention::Rest;
        };
        let severity = severity(&outlook, &self.config.guard);
        let hopeless = self.hopeless(&outlook);
        if severity == Severity::Calm && !self.is_attentive() && hopeless.is_none() {
            return Attention::Rest;
        }
        self.distressed = severity >= Severity::Warn;
        self.warn(&outlook);
        if self.sample.circumstances.rival_guard == Some(1) {
            self.release_limits();
            if severity >= Severity::Term && self.history.enters_slot(WARN_EVERY) {
                self.notify(Notice::LeftToRival);
            }
        } else {
            self.act(&outlook, severity, hopeless);
        }
        Attention::Candidates
    }

    /// Whether processes are scanned even without an alert: one was signalled, throttled or frozen, or
    /// the last alert was a moment ago.
    fn is_attentive(&self) -> bool {
        let groups = &self.sample.groups;
        let mut victims = self.sample.scan.victims.iter();
        victims.any(|victim| victim.gone.is_none())
            || !groups.throttled.is_empty()
            || groups.frozen.iter().any(Frozen::is_frozen)
            || self
                .ago(self.history.distress.alerted)
                .is_some_and(|ago| ago < WATCHFUL)
    }

    /// Takes the gentlest action that applies, one at a time.
    fn act(&mut self, outlook: &Outlook, severity: Severity, hopeless: Option<Reason>) {
        self.relax_limits(outlook);
        if self.settle_frozen(outlook, severity)
            || self.waits_for_victim(outlook)
            || self.kill_at_limit(outlook, severity)
            || self.throttle(outlook, severity)
        {
            return;
        }
        match hopeless {
            Some(reason) if severity < Severity::Term => self.kill_largest(outlook, reason),
            _ => self.kill_runaway(outlook, severity),
        }
    }

    fn warn(&mut self, outlook: &Outlook) {
        let Some(left) = outlook.left.filter(|_| self.distressed) else {
            return;
        };
        if self.history.distress.warned == Some(self.sample.at) {
            self.notify(Notice::Distress {
                headroom: outlook.headroom,
                growth: outlook.growth,
                left,
            });
        }
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

    /// Whether a signalled process may still free enough. Sends SIGKILL to one that ignored SIGTERM and
    /// has no more time.
    fn waits_for_victim(&mut self, outlook: &Outlook) -> bool {
        let Some(victim) = self.pending_victim() else {
            return self.is_kill_pending();
        };
        if victim.signal == Signal::Term && self.is_overdue(&victim, outlook) {
            let candidate = self.sample.scan.find(victim.identity);
            let unit = candidate.map(|candidate| candidate.unit);
            let action = Action::Kill {
                identity: victim.identity,
                name: victim.name,
                unit: unit.unwrap_or_default(),
                signal: Signal::Kill,
                extent: Extent::Process,
                size: victim.size,
            };
            let why = Reason::SigtermIgnored {
                asked: Span::new(self.since(victim.at)),
                headroom: outlook.headroom,
            };
            self.step(action, why);
        }
        true
    }

    /// Time from `then` to the sample.
    pub(super) fn since(&self, then: Span) -> Duration {
        self.sample.at.get().saturating_sub(then.get())
    }

    /// A process that was signalled and may still exit for it.
    fn pending_victim(&self) -> Option<Victim> {
        let may_exit = |victim: &&Victim| {
            victim.gone.is_none()
                && (victim.signal == Signal::Term || self.since(victim.at) < STUCK)
        };
        self.sample.scan.victims.iter().find(may_exit).copied()
    }

    /// Whether a signalled process may still exit, or did so a moment ago and its memory does not show
    /// yet.
    pub(super) fn is_kill_pending(&self) -> bool {
        let last = self
            .sample
            .scan
            .victims
            .iter()
            .map(|victim| victim.gone.unwrap_or(victim.at))
            .max();
        let just_now = self.ago(last).is_some_and(|ago| ago < APART);
        just_now || self.pending_victim().is_some()
    }

    /// Whether SIGTERM has had its time. The severity is judged without the victim's own memory in
    /// flight, for it seems not to come.
    fn is_overdue(&self, victim: &Victim, outlook: &Outlook) -> bool {
        let guard = &self.config.guard;
        let without_it = outlook.without_in_flight(victim.size);
        let patience = match severity(&without_it, guard) {
            Severity::Kill => GRACE_AT_LEAST,
            Severity::Term => guard.term_grace.get(),
            Severity::Warn => SIGTERM_WAIT,
            // It grows no more only because it is throttled, so it still has to exit.
            Severity::Alert | Severity::Calm if self.is_victim_at_limit(victim) => {
                2 * guard.term_grace.get()
            }
            Severity::Alert | Severity::Calm => return false,
        };
        self.since(victim.at) >= patience
    }

    fn is_victim_at_limit(&self, victim: &Victim) -> bool {
        self.sample
            .scan
            .find(victim.identity)
            .is_some_and(|candidate| self.is_at_limit(candidate))
    }

    /// What a choice of a process is made from.
    pub(super) fn inputs<'a>(&'a self, outlook: &'a Outlook) -> Inputs<'a> {
        Inputs {
            scan: &self.sample.scan,
            growths: &self.history.distress.growths,
            config: &self.config.guard,
            outlook,
        }
    }

    fn kill_runaway(&mut self, outlook: &Outlook, severity: Severity) {
        if severity < Severity::Warn || self.sample.scan.candidates.is_empty() {
            return;
        }
        let choice = choose(self.inputs(outlook));
        let Some(pick) = choice.pick else {
            self.report_no_culprit(&choice, outlook, severity);
            return;
        };
        let group = pick.candidate.group;
        if group.is_some_and(|group| self.is_frozen(group.id)) {
            return;
        }
        let Some(signal) = self.signal_for(&pick, outlook, severity) else {
            return;
        };
        let why = Reason::Runaway {
            growth: pick.growth.rate,
            of: outlook.growth,
            headroom: outlook.headroom,
            left: outlook.left,
            stalled: outlook.stalled,
        };
        self.report_considered(&choice);
        self.kill(&pick, signal, why);
    }

    /// The signal that it is time for, if any. Where SIGTERM is due, the unit is frozen instead if its
    /// user can be asked.
    fn signal_for(&mut self, pick: &Pick, outlook: &Outlook, severity: Severity) -> Option<Signal> {
        if severity == Severity::Kill {
            return Some(Signal::Kill);
        }
        if self.has_respite(&pick.candidate) {
            return None;
        }
        let is_due = severity == Severity::Term || thrashes(outlook, pick);
        if is_due && self.freeze(pick, outlook) {
            return None;
        }
        // `cgroup.kill` kills a whole unit at once and knows no SIGTERM.
        if pick.extent == Extent::Unit || !is_due {
            return None;
        }
        Some(Signal::Term)
    }

    fn kill_largest(&mut self, outlook: &Outlook, why: Reason) {
        let choice = largest(self.inputs(outlook));
        let Some(pick) = choice.pick else { return };
        self.report_considered(&choice);
        self.kill(&pick, Signal::Kill, why);
    }

    /// Signals the picked process or unit.
    pub(super) fn kill(&mut self, pick: &Pick, signal: Signal, why: Reason) {
        let candidate = &pick.candidate;
        let action = Action::Kill {
            identity: candidate.identity,
            name: candidate.name,
            unit: candidate.unit,
            signal,
            extent: pick.extent,
            size: pick.size(),
        };
        self.step(action, why);
        self.report_kernels_choice();
    }

    /// Reports the process that the kernel would OOM-kill otherwise.
    fn report_kernels_choice(&mut self) {
        let sizes = self.history.latest.sizes;
        let outlook = self.history.distress.outlook;
        let choice = kernels_choice(&self.sample.scan, sizes.managed + sizes.swap);
        if let Some(candidate) = choice {
            self.notify(Notice::Otherwise {
                name: candidate.name,
                identity: candidate.identity,
                size: candidate.size(),
                within: outlook.and_then(|outlook| outlook.left),
            });
        }
    }

    fn report_no_culprit(&mut self, choice: &Choice, outlook: &Outlook, severity: Severity) {
        if severity >= Severity::Term && self.history.enters_slot(NO_CULPRIT_EVERY) {
            self.report_considered(choice);
            self.notify(Notice::NoCulprit {
                growth: outlook.growth,
                headroom: outlook.headroom,
            });
        }
    }

    fn report_considered(&mut self, choice: &Choice) {
        for considered in &choice.considered {
            self.notify(Notice::Considered(*considered));
        }
    }

    /// Why the machine is hopeless: it has had no headroom and lost nearly all time, for long.
    pub(super) fn hopeless(&self, outlook: &Outlook) -> Option<Reason> {
        let full_since = self.history.distress.full_since?;
        let since = Span::new(self.since(full_since));
        let stalled = outlook.stalled.filter(|stalled| *stalled >= HOPELESS)?;
        if since < self.config.guard.hopeless_after {
            return None;
        }
        Some(Reason::Hopeless { since, stalled })
    }
}

#[cfg(test)]
pub(super) mod tests;
