//! A unit that would be killed is frozen instead, and its user asked, where one can answer.
//!
//! ```text
//! SIGTERM is due ─► one application, no exempt process in it, its user can be asked ─► frozen (`cgroup.freeze`)
//! frozen ─► kill ───────────────────────────────► SIGKILL
//!        ├► go on ──────────────────────────────► thawed, and not asked about again for a while
//!        ├► keep, or no answer in time ─────────► headroom again? thawed : stays frozen, or SIGKILL
//!        └► memory still runs out ──────────────► SIGKILL at once
//! ```
//!
//! - Law: a unit is frozen when [`Severity::Term`] is reached, or it has been throttled at its limit for
//!   long enough; at [`Severity::Kill`] no user is asked. The answer is a part of the sample, so a
//!   decision is made again from a recording as any other.
//! - A frozen unit takes no more, so another process makes memory run out then. The frozen one still
//!   frees the most.
//! - A frozen process cannot handle SIGTERM, so it gets SIGKILL.
//! - Limit: a process of a session scope has no unit of its own, and its user is not asked.

use super::draft::Draft;
use crate::decision::{Action, Reason};
use crate::distress::{Growth, Outlook, Pick, Severity, extent, reserve};
use crate::groups::{Answer, CgroupAction, Frozen, MAX_FROZEN};
use crate::scan::{Candidate, Signal};
use std::time::Duration;
use units::Span;

/// Growth is measured over two seconds, so for this long it still shows what is frozen now.
const SETTLED: Duration = Duration::from_millis(2500);

impl Draft<'_> {
    /// Freezes the unit of the picked process, if its user can answer and was not asked just now.
    /// Returns whether it did.
    pub(super) fn freeze(&mut self, pick: &Pick, outlook: &Outlook) -> bool {
        let groups = &self.sample.groups;
        let wait = self.config.guard.ask_for;
        let candidate = &pick.candidate;
        let can_answer = groups.users.contains(&candidate.user);
        if wait == Span::default()
            || !can_answer
            || self.hopeless(outlook).is_some()
            || groups.frozen.len() == MAX_FROZEN
        {
            return false;
        }
        let Some(group) = self.limitable_unit(candidate) else {
            return false;
        };
        if groups.frozen.iter().any(|frozen| frozen.id == group.id) {
            return false;
        }
        let action = CgroupAction::Freeze {
            id: group.id,
            unit: candidate.unit,
            user: candidate.user,
            used: group.used,
            headroom: outlook.headroom_in_ram(),
            wait,
        };
        let why = Reason::AskUser {
            growth: pick.growth.rate,
            headroom: outlook.headroom,
        };
        self.step(Action::Group(action), why);
        true
    }

    /// Kills or thaws what is frozen, if it is time for either. One unit is killed at a time: first one
    /// that its user gave up, and others only while no other kill is pending.
    ///
    /// Returns whether that is all for now: a unit is killed, or was frozen so lately that the measured
    /// growth is its own.
    pub(super) fn settle_frozen(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let sample = self.sample;
        let mut is_all = false;
        let mut due: Option<(&Frozen, Reason)> = None;
        for frozen in sample.groups.frozen.iter().filter(|one| one.is_frozen()) {
            match self.fate(frozen, outlook, severity) {
                Some((Fate::Thaw, why)) => self.thaw(frozen, why),
                Some((Fate::Kill, why)) => {
                    let comes_first = match &due {
                        None => true,
                        Some((_, other)) => is_given_up(&why) && !is_given_up(other),
                    };
                    if comes_first {
                        due = Some((frozen, why));
                    }
                }
                None => is_all |= self.since(frozen.since) < SETTLED,
            }
        }
        let Some((frozen, why)) = due else {
            return is_all;
        };
        if !is_given_up(&why) && self.is_kill_pending() {
            return is_all;
        }
        self.kill_frozen(frozen, outlook, why) || is_all
    }

    /// Thaws every frozen unit.
    pub(super) fn thaw_all(&mut self) {
        let sample = self.sample;
        for frozen in sample.groups.frozen.iter().filter(|one| one.is_frozen()) {
            self.thaw(frozen, Reason::Stop);
        }
    }

    /// Whether the cgroup of this inode is frozen.
    pub(super) fn is_frozen(&self, id: u64) -> bool {
        self.sample
            .groups
            .frozen
            .iter()
            .any(|frozen| frozen.id == id && frozen.is_frozen())
    }

    /// What to do with a frozen unit now; `None` if it stays frozen.
    fn fate(
        &self,
        frozen: &Frozen,
        outlook: &Outlook,
        severity: Severity,
    ) -> Option<(Fate, Reason)> {
        let since = Span::new(self.since(frozen.since));
        let headroom = outlook.headroom;
        let is_short =
            severity >= Severity::Kill || (severity >= Severity::Term && since.get() >= SETTLED);
        let enough = reserve(outlook, &self.config.guard)
            .max(frozen.headroom)
            .scaled(2, 1);
        let is_ample = outlook.headroom_in_ram() >= enough;
        let is_over = since >= self.config.guard.ask_for;
        let answered = |answer| Reason::Answered {
            answer,
            after: since,
        };
        match frozen.answer {
            Some(Answer::Kill) => Some((Fate::Kill, answered(Answer::Kill))),
            Some(Answer::GoOn) => Some((Fate::Thaw, answered(Answer::GoOn))),
            _ if is_short || self.hopeless(outlook).is_some() => {
                Some((Fate::Kill, Reason::StillShort { since, headroom }))
            }
            Some(Answer::Keep) if is_ample => Some((Fate::Thaw, Reason::Eased { headroom })),
            None if is_over && is_ample => Some((Fate::Thaw, Reason::Eased { headroom })),
            None if is_over => Some((Fate::Kill, Reason::Unanswered { since, headroom })),
            Some(Answer::Keep) | None => None,
        }
    }

    /// Kills the process of the unit that holds the most, or the whole unit, and thaws the rest.
    fn kill_frozen(&mut self, frozen: &Frozen, outlook: &Outlook, why: Reason) -> bool {
        let is_inside =
            |candidate: &Candidate| candidate.group.is_some_and(|group| group.id == frozen.id);
        // No process of it was scanned, so none can be killed: it stays frozen until one is, or there
        // is headroom.
        if !self.sample.scan.candidates.iter().any(is_inside) {
            return false;
        }
        let largest = self.largest_in(frozen.id).copied();
        if let Some(candidate) = largest {
            let pick = Pick {
                candidate,
                extent: extent(self.inputs(outlook), &candidate),
                growth: Growth::default(),
            };
            self.kill(&pick, Signal::Kill, why);
        }
        self.thaw(frozen, why);
        largest.is_some()
    }

    fn thaw(&mut self, frozen: &Frozen, why: Reason) {
        let action = CgroupAction::Thaw {
            id: frozen.id,
            unit: frozen.unit,
        };
        self.step(Action::Group(action), why);
    }
}

/// What becomes of a frozen unit.
enum Fate {
    Kill,
    Thaw,
}

/// Whether the unit's user said what to do with it.
fn is_given_up(why: &Reason) -> bool {
    matches!(why, Reason::Answered { .. })
}
