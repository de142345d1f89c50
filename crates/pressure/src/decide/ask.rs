//! Who would have to end is stopped instead, and the person whose it is asked, where one can answer.
//!
//! ```text
//! SIGTERM is due ─► a unit of its own, nobody spared in it, its user can be asked ─► stopped (`cgroup.freeze`)
//! stopped ─► end ───────────────────────────────────────► SIGKILL
//!         ├► go on ─────────────────────────────────────► as it was, and not asked about again for a while
//!         ├► wait, or nothing said when time is over ───► room again? as it was : waits on, or SIGKILL
//!         └► memory runs out all the same ──────────────► SIGKILL at once
//! ```
//!
//! - Law: it is time when [`Severity::Term`] is reached or a contained one has pushed long enough; at [`Severity::Kill`] nobody is
//!   asked. The answer is a part of the sample, so a decision is made again from a recording as any other.
//! - Who stands still takes no more, so memory runs out by someone else then: the stopped one gives back the most.
//! - SIGKILL, as who stands still cannot do what SIGTERM asks for.
//! - Limit: a process of a session scope has no unit of its own, and is not asked about.

use super::Draft;
use super::throttle::in_ram;
use crate::decision::{Action, Reason};
use crate::distress::{Growth, Outlook, Pick, Severity, extent, reserve};
use crate::groups::{Answer, CgroupAction, Frozen, MAX_FROZEN};
use crate::scan::{Candidate, Group, Signal};
use std::time::Duration;
use units::Span;

/// Growth is measured over two seconds, so for so long it still shows who was stopped.
const SETTLED: Duration = Duration::from_millis(2500);

impl Draft<'_> {
    /// Stops the unit of who would have to end, if the person whose it is can answer and was not asked just now.
    pub(super) fn ask(&mut self, pick: &Pick, outlook: &Outlook) -> bool {
        let (groups, wait) = (&self.sample.groups, self.config.guard.ask_for);
        let (candidate, is_hopeless) = (&pick.candidate, self.hopeless(outlook).is_some());
        let heard = groups.users.contains(&candidate.user);
        if wait == Span::default() || !heard || is_hopeless || groups.frozen.len() == MAX_FROZEN {
            return false;
        }
        let Some(Group { id, used, .. }) = self.containable(candidate) else {
            return false;
        };
        if groups.frozen.iter().any(|one| one.id == id) {
            return false;
        }
        let (unit, user, headroom) = (candidate.unit, candidate.user, in_ram(outlook));
        let why = Reason::Ask {
            growth: pick.growth.rate,
            headroom: outlook.headroom,
        };
        self.step(
            Action::Group(CgroupAction::Freeze {
                id,
                unit,
                user,
                used,
                headroom,
                wait,
            }),
            why,
        );
        true
    }

    /// Ends who is stopped, or lets it go on, if it is time for either. One ends at a time: first whom a person gave up, and
    /// others only while nobody else is on the way out. Whether that is all for now: someone ends, or was stopped so lately
    /// that what is seen to grow is what was stopped.
    pub(super) fn mind_the_frozen(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let sample = self.sample;
        let is_given_up = |why: &Reason| matches!(why, Reason::Answered { .. });
        let (mut is_all, mut due) = (false, None);
        for one in sample.groups.frozen.iter().filter(|one| one.is_frozen()) {
            match self.fate(one, outlook, severity) {
                Some((Fate::GoesOn, why)) => self.thaw(one, why),
                Some((Fate::Ends, why)) => {
                    let is_first = due
                        .as_ref()
                        .is_none_or(|(_, other)| is_given_up(&why) && !is_given_up(other));
                    due = if is_first { Some((one, why)) } else { due };
                }
                None => is_all |= sample.at.get().saturating_sub(one.since.get()) < SETTLED,
            }
        }
        match due {
            Some((one, why)) if is_given_up(&why) || !self.is_one_ending() => {
                is_all | self.kill_frozen(one, outlook, why)
            }
            _ => is_all,
        }
    }

    /// Lets everyone go on.
    pub(super) fn let_all_go_on(&mut self) {
        let sample = self.sample;
        sample
            .groups
            .frozen
            .iter()
            .filter(|one| one.is_frozen())
            .for_each(|one| self.thaw(one, Reason::Stop));
    }

    /// Whether a unit stands still until a person has answered.
    pub(super) fn is_frozen(&self, id: u64) -> bool {
        self.sample
            .groups
            .frozen
            .iter()
            .any(|one| one.id == id && one.is_frozen())
    }

    fn fate(&self, one: &Frozen, outlook: &Outlook, severity: Severity) -> Option<(Fate, Reason)> {
        let since = Span::new(self.sample.at.get().saturating_sub(one.since.get()));
        let headroom = outlook.headroom;
        let short =
            severity >= Severity::Kill || (severity >= Severity::Term && since.get() >= SETTLED);
        let enough = reserve(outlook, &self.config.guard)
            .max(one.headroom)
            .scaled(2, 1);
        let ample = in_ram(outlook) >= enough;
        let answered = |answer| Reason::Answered {
            answer,
            after: since,
        };
        let over = since >= self.config.guard.ask_for;
        match one.answer {
            Some(Answer::End) => Some((Fate::Ends, answered(Answer::End))),
            Some(Answer::GoOn) => Some((Fate::GoesOn, answered(Answer::GoOn))),
            _ if short || self.hopeless(outlook).is_some() => {
                Some((Fate::Ends, Reason::StillShort { since, headroom }))
            }
            Some(Answer::Keep) if ample => Some((Fate::GoesOn, Reason::Eased { headroom })),
            None if over && ample => Some((Fate::GoesOn, Reason::Eased { headroom })),
            None if over => Some((Fate::Ends, Reason::Unanswered { since, headroom })),
            Some(Answer::Keep) | None => None,
        }
    }

    /// Kills what holds the most in it, or all of it, and lets the rest go on.
    fn kill_frozen(&mut self, one: &Frozen, outlook: &Outlook, why: Reason) -> bool {
        let is_inside =
            |candidate: &Candidate| candidate.group.is_some_and(|group| group.id == one.id);
        // Nobody of it was looked at, so nobody can be ended; it stands still until someone is, or there is room.
        if !self.sample.scan.candidates.iter().any(is_inside) {
            return false;
        }
        let candidate = self.largest_in(one.id).copied();
        if let Some(candidate) = candidate {
            let extent = extent(self.bench(outlook), &candidate);
            self.end(
                &Pick {
                    candidate,
                    extent,
                    growth: Growth::default(),
                },
                Signal::Kill,
                why,
            );
        }
        self.thaw(one, why);
        candidate.is_some()
    }

    fn thaw(&mut self, one: &Frozen, why: Reason) {
        self.step(
            Action::Group(CgroupAction::Thaw {
                id: one.id,
                unit: one.unit,
            }),
            why,
        );
    }
}

/// What becomes of who is stopped.
enum Fate {
    Ends,
    GoesOn,
}
