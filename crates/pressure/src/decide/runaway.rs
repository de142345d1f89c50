//! Who has to end: memory runs out within seconds, and someone makes it.
//!
//! ```text
//! Outlook ─► Rung ─► who was asked already? ─► wait, or SIGKILL
//!                 └► who makes it? ─► SIGTERM, or SIGKILL
//! ```
//!
//! One at a time: while the memory of one who was signalled is on its way back, it counts as room ([`Outlook`]), so
//! nobody else ends for it. Who does not end within [`STUCK`] after SIGKILL is given up, and the next is looked for.

use super::Draft;
use crate::decision::{Action, Attention, Notice, Reason};
use crate::distress::{
    Bench, Choice, Extent, Outlook, Pick, STUCK, Severity, choose, freezes, kernels_choice,
    largest, severity,
};
use crate::groups::Frozen;
use crate::scan::{Candidate, Signal, Victim};
use std::time::Duration;
use units::{Percent, Span};

/// No signal comes sooner after another, whatever is seen.
const APART: Duration = Duration::from_secs(1);
/// A process that heeds SIGTERM needs a moment for it.
const GRACE_AT_LEAST: Duration = Duration::from_millis(200);
/// Who was asked so long ago and lets memory run out still is killed, however much time is left.
const LONG_ASKED: Duration = Duration::from_secs(8);
/// Growth comes in fits: who holds memory is followed for so long after the last alert.
const WATCHFUL: Duration = Duration::from_secs(5);
/// Between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(10);
/// Time lost that makes a full machine a hopeless one.
const HOPELESS: Percent = Percent::new(70);

impl Draft<'_> {
    /// Ends who makes memory run out, if it does; says what to look at next.
    pub(super) fn runaway(&mut self) -> Attention {
        self.forecast.outlook = self.history.distress.outlook;
        self.tell_gone();
        let Some(outlook) = self.forecast.outlook.filter(|_| self.config.mode.guards()) else {
            self.free_all();
            return Attention::Rest;
        };
        if self.sample.circumstances.disabled == Some(1) {
            self.free_all();
            return Attention::Rest;
        }
        let severity = severity(&outlook, &self.config.guard);
        let awaited = self
            .sample
            .scan
            .victims
            .iter()
            .any(|victim| victim.gone.is_none())
            || !self.sample.groups.throttled.is_empty()
            || self.sample.groups.frozen.iter().any(Frozen::is_frozen)
            || self
                .ago(self.history.distress.alerted)
                .is_some_and(|ago| ago < WATCHFUL);
        let hopeless = self.hopeless(&outlook);
        if severity == Severity::Calm && !awaited && hopeless.is_none() {
            return Attention::Rest;
        }
        self.distressed = severity >= Severity::Warn;
        self.warn(&outlook);
        if self.sample.circumstances.rival_guard == Some(1) {
            self.free_all();
            if severity >= Severity::Term && self.history.enters_slot(WARN_EVERY) {
                self.say(Notice::LeftToRival);
            }
        } else {
            self.loosen(&outlook);
            let is_all = self.mind_the_frozen(&outlook, severity);
            if !is_all
                && !self.awaits(&outlook)
                && !self.kill_pushing(&outlook, severity)
                && !self.throttle(&outlook, severity)
            {
                match hopeless {
                    Some(reason) if severity < Severity::Term => self.end_largest(&outlook, reason),
                    _ => self.end_runaway(&outlook, severity),
                }
            }
        }
        Attention::Candidates
    }

    fn warn(&mut self, outlook: &Outlook) {
        let Some(left) = outlook.left.filter(|_| self.distressed) else {
            return;
        };
        if self.history.distress.warned == Some(self.sample.at) {
            self.say(Notice::Distress {
                headroom: outlook.headroom,
                growth: outlook.growth,
                left,
            });
        }
    }

    fn tell_gone(&mut self) {
        let before = self.history.before();
        for victim in &self.sample.scan.victims {
            if let Some(gone) = victim.gone.filter(|gone| *gone > before) {
                let after = Span::new(gone.get().saturating_sub(victim.at.get()));
                self.say(Notice::Gone {
                    name: victim.name,
                    identity: victim.identity,
                    size: victim.size,
                    after,
                });
            }
        }
    }

    /// Whether someone was signalled who may still give back enough; kills who was asked and has no more time.
    fn awaits(&mut self, outlook: &Outlook) -> bool {
        let Some(victim) = self.ending() else {
            return self.is_one_ending();
        };
        if victim.signal == Signal::Term && self.has_no_more_time(&victim, outlook) {
            let unit = self
                .sample
                .scan
                .find(victim.identity)
                .map(|candidate| candidate.unit)
                .unwrap_or_default();
            let Victim {
                identity,
                name,
                size,
                at,
                ..
            } = victim;
            let (signal, extent) = (Signal::Kill, Extent::Process);
            let asked = Span::new(self.sample.at.get().saturating_sub(at.get()));
            self.step(
                Action::Kill {
                    identity,
                    name,
                    unit,
                    signal,
                    extent,
                    size,
                },
                Reason::Deaf {
                    asked,
                    headroom: outlook.headroom,
                },
            );
        }
        true
    }

    /// Who was signalled, and may still end of it.
    fn ending(&self) -> Option<Victim> {
        let since = |victim: &Victim| self.sample.at.get().saturating_sub(victim.at.get());
        let waits = |victim: &&Victim| {
            victim.gone.is_none() && (victim.signal == Signal::Term || since(victim) < STUCK)
        };
        self.sample.scan.victims.iter().find(waits).copied()
    }

    /// Whether someone may still end, or has ended so lately that what came back is not seen yet.
    pub(super) fn is_one_ending(&self) -> bool {
        let last = self
            .sample
            .scan
            .victims
            .iter()
            .map(|victim| victim.gone.unwrap_or(victim.at))
            .max();
        let just_now = self.ago(last).is_some_and(|ago| ago < APART);
        just_now || self.ending().is_some()
    }

    /// Whether things go on as if it had not been asked to end: its own memory does not count as on its way.
    fn has_no_more_time(&self, victim: &Victim, outlook: &Outlook) -> bool {
        let guard = &self.config.guard;
        let asked = self.sample.at.get().saturating_sub(victim.at.get());
        let alone = Outlook {
            in_flight: outlook.in_flight.less(victim.size),
            ..*outlook
        };
        let alone = Outlook {
            left: alone.left_now(),
            ..alone
        };
        let patience = match severity(&alone, guard) {
            Severity::Kill => GRACE_AT_LEAST,
            Severity::Term => guard.term_grace.get(),
            Severity::Warn => LONG_ASKED,
            // It grows no more because it is contained: that it was asked stands.
            Severity::Alert | Severity::Calm if self.is_held_up(victim) => {
                2 * guard.term_grace.get()
            }
            Severity::Alert | Severity::Calm => return false,
        };
        asked >= patience
    }

    fn is_held_up(&self, victim: &Victim) -> bool {
        self.sample
            .scan
            .find(victim.identity)
            .is_some_and(|candidate| self.pushes(candidate))
    }

    pub(super) fn bench<'a>(&'a self, outlook: &'a Outlook) -> Bench<'a> {
        let distress = &self.history.distress;
        Bench {
            scan: &self.sample.scan,
            growths: &distress.growths,
            config: &self.config.guard,
            outlook,
        }
    }

    fn end_runaway(&mut self, outlook: &Outlook, severity: Severity) {
        if severity < Severity::Warn || self.sample.scan.candidates.is_empty() {
            return;
        }
        let choice = choose(self.bench(outlook));
        let Some(pick) = choice.pick else {
            if severity >= Severity::Term && self.history.enters_slot(Duration::from_secs(1)) {
                self.account(&choice);
                self.say(Notice::NoCulprit {
                    growth: outlook.growth,
                    headroom: outlook.headroom,
                });
            }
            return;
        };
        if pick
            .candidate
            .group
            .is_some_and(|group| self.is_frozen(group.id))
        {
            return;
        }
        let signal = match severity {
            Severity::Kill => Signal::Kill,
            _ if self.has_respite(&pick.candidate) => return,
            Severity::Term if self.ask(&pick, outlook) => return,
            _ if freezes(outlook, &pick) && self.ask(&pick, outlook) => return,
            // A unit is ended whole by the kernel, which knows no gentle way.
            _ if pick.extent == Extent::Unit => return,
            Severity::Term => Signal::Term,
            _ if freezes(outlook, &pick) => Signal::Term,
            _ => return,
        };
        let why = Reason::Runaway {
            growth: pick.growth.rate,
            of: outlook.growth,
            headroom: outlook.headroom,
            left: outlook.left,
            stalled: outlook.stalled,
        };
        self.account(&choice);
        self.end(&pick, signal, why);
    }

    fn end_largest(&mut self, outlook: &Outlook, why: Reason) {
        let choice = largest(self.bench(outlook));
        let Some(pick) = choice.pick else { return };
        self.account(&choice);
        self.end(&pick, Signal::Kill, why);
    }

    pub(super) fn end(&mut self, pick: &Pick, signal: Signal, why: Reason) {
        let candidate = &pick.candidate;
        let (identity, name, unit) = (candidate.identity, candidate.name, candidate.unit);
        self.step(
            Action::Kill {
                identity,
                name,
                unit,
                signal,
                extent: pick.extent,
                size: pick.size(),
            },
            why,
        );
        self.tell_what_else();
    }

    /// What would happen if nobody were signalled.
    fn tell_what_else(&mut self) {
        let sizes = self.history.latest.sizes;
        let within = self
            .history
            .distress
            .outlook
            .and_then(|outlook| outlook.left);
        if let Some(worst) = kernels_choice(&self.sample.scan, sizes.managed + sizes.swap) {
            let Candidate { name, identity, .. } = *worst;
            self.say(Notice::Otherwise {
                name,
                identity,
                size: worst.size(),
                within,
            });
        }
    }

    fn account(&mut self, choice: &Choice) {
        choice
            .considered
            .iter()
            .for_each(|considered| self.say(Notice::Considered(*considered)));
    }

    /// No room, nearly all time lost, and that for long.
    pub(super) fn hopeless(&self, outlook: &Outlook) -> Option<Reason> {
        let since = self.history.distress.full_since?;
        let since = Span::new(self.sample.at.get().saturating_sub(since.get()));
        let stalled = outlook.stalled.filter(|stalled| *stalled >= HOPELESS)?;
        (since >= self.config.guard.hopeless_after).then_some(Reason::Hopeless { since, stalled })
    }
}

#[cfg(test)]
pub(super) mod tests;
