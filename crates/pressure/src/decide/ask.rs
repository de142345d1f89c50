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
//! - Law: it is time when [`Rung::Term`] is reached or a contained one has pushed long enough; at [`Rung::Kill`] nobody is
//!   asked. The answer is a part of the sample, so a decision is made again from a recording as any other.
//! - Who stands still takes no more, so memory runs out by someone else then: the stopped one gives back the most.
//! - SIGKILL, as who stands still cannot do what SIGTERM asks for.
//! - Limit: a process of a session scope has no unit of its own, and is not asked about.

use super::Draft;
use super::contain::in_ram;
use crate::census::{Group, Signal, Suspect};
use crate::decision::{Action, Reason};
use crate::distress::{Growth, Outlook, Pick, Rung, extent, reserve};
use crate::groups::{Answer, Grip, MAX_STOPPED, Stopped};
use std::time::Duration;
use units::Span;

/// Growth is measured over two seconds, so for so long it still shows who was stopped.
const SETTLED: Duration = Duration::from_millis(2500);

impl Draft<'_> {
    /// Stops the unit of who would have to end, if the person whose it is can answer and was not asked just now.
    pub(super) fn ask(&mut self, pick: &Pick, outlook: &Outlook) -> bool {
        let (groups, wait) = (&self.sample.groups, self.config.guard.ask_for);
        let (suspect, is_hopeless) = (&pick.suspect, self.hopeless(outlook).is_some());
        let heard = groups.people.contains(&suspect.user);
        if wait == Span::default() || !heard || is_hopeless || groups.stopped.len() == MAX_STOPPED {
            return false;
        }
        let Some(Group { id, used, .. }) = self.containable(suspect) else {
            return false;
        };
        if groups.stopped.iter().any(|one| one.id == id) {
            return false;
        }
        let (unit, user, room) = (suspect.unit, suspect.user, in_ram(outlook));
        let why = Reason::Ask {
            growth: pick.growth.rate,
            room: outlook.room,
        };
        self.step(
            Action::Group(Grip::Freeze {
                id,
                unit,
                user,
                used,
                room,
                wait,
            }),
            why,
        );
        true
    }

    /// Ends who is stopped, or lets it go on, if it is time for either. One ends at a time: first whom a person gave up, and
    /// others only while nobody else is on the way out. Whether that is all for now: someone ends, or was stopped so lately
    /// that what is seen to grow is what was stopped.
    pub(super) fn mind_the_stopped(&mut self, outlook: &Outlook, rung: Rung) -> bool {
        let sample = self.sample;
        let is_given_up = |why: &Reason| matches!(why, Reason::Answered { .. });
        let (mut is_all, mut due) = (false, None);
        for one in sample.groups.stopped.iter().filter(|one| one.is_still()) {
            match self.fate(one, outlook, rung) {
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
                is_all | self.end_stopped(one, outlook, why)
            }
            _ => is_all,
        }
    }

    /// Lets everyone go on.
    pub(super) fn let_all_go_on(&mut self) {
        let sample = self.sample;
        sample
            .groups
            .stopped
            .iter()
            .filter(|one| one.is_still())
            .for_each(|one| self.thaw(one, Reason::Stop));
    }

    /// Whether a unit stands still until a person has answered.
    pub(super) fn is_still(&self, id: u64) -> bool {
        self.sample
            .groups
            .stopped
            .iter()
            .any(|one| one.id == id && one.is_still())
    }

    fn fate(&self, one: &Stopped, outlook: &Outlook, rung: Rung) -> Option<(Fate, Reason)> {
        let since = Span::new(self.sample.at.get().saturating_sub(one.since.get()));
        let room = outlook.room;
        let short = rung >= Rung::Kill || (rung >= Rung::Term && since.get() >= SETTLED);
        let enough = reserve(outlook, &self.config.guard)
            .max(one.room)
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
                Some((Fate::Ends, Reason::StillShort { since, room }))
            }
            Some(Answer::Keep) if ample => Some((Fate::GoesOn, Reason::Eased { room })),
            None if over && ample => Some((Fate::GoesOn, Reason::Eased { room })),
            None if over => Some((Fate::Ends, Reason::Unanswered { since, room })),
            Some(Answer::Keep) | None => None,
        }
    }

    /// Kills what holds the most in it, or all of it, and lets the rest go on.
    fn end_stopped(&mut self, one: &Stopped, outlook: &Outlook, why: Reason) -> bool {
        let is_inside = |suspect: &Suspect| suspect.group.is_some_and(|group| group.id == one.id);
        // Nobody of it was looked at, so nobody can be ended; it stands still until someone is, or there is room.
        if !self.sample.census.suspects.iter().any(is_inside) {
            return false;
        }
        let suspect = self.largest_in(one.id).copied();
        if let Some(suspect) = suspect {
            let extent = extent(self.bench(outlook), &suspect);
            self.end(
                &Pick {
                    suspect,
                    extent,
                    growth: Growth::default(),
                },
                Signal::Kill,
                why,
            );
        }
        self.thaw(one, why);
        suspect.is_some()
    }

    fn thaw(&mut self, one: &Stopped, why: Reason) {
        self.step(
            Action::Group(Grip::Thaw {
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
