//! Who fills memory and has a unit of its own is contained first: it may have all but the reserve, and is slowed down by
//! the kernel where it takes more (`memory.high`). What it would have done to everyone it then does to itself, and there
//! is time to ask it to end.
//!
//! - Law: `ceiling = max(used, anonymous + (room in RAM − reserve)⁺)`, for its cache is a part of the room, with the reserve at
//!   which the ladder would send SIGTERM; never below what the unit has. Who pushes against that for `contain-for` and grows
//!   gets what room there is by then. It ends when it has pushed for `contain-for`, what it cannot give back has grown all that
//!   time, there is hardly anything else in it, and the room is within a quarter of the reserve.
//! - Undone: when there is twice the reserve, when it pushes and does not grow (it reads files), or has not pushed for
//!   [`STILL`].
//! - Source: `memory.high` on a runaway alone saves every warm set, and never ends it; so it is a respite, not an end.
//! - Limit: a process of a session scope has no unit of its own, and goes the old way.

use super::Draft;
use crate::census::{Group, Signal, Suspect};
use crate::decision::{Action, Reason};
use crate::distress::{Extent, Growth, Outlook, Pick, Rung, choose, extent, reserve, shield};
use crate::groups::{Contained, Grip, MAX_CONTAINED};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// A ceiling stands at least so long.
const AT_LEAST: Duration = Duration::from_secs(3);
/// Who has not pushed for so long has what it wants.
const STILL: Duration = Duration::from_secs(30);
/// Less is not worth a write.
const LEAST_RAISE: Bytes = Bytes::mib(1);
/// A forecast of seconds means nothing while half of memory is left.
const NEAR: Percent = Percent::new(50);
/// With swap, nobody is contained while hardly any time is lost: what is idle may go there.
const LOST: Percent = Percent::new(10);

impl Draft<'_> {
    /// Contains who fills memory, if that is possible and was not done.
    pub(super) fn contain(&mut self, outlook: &Outlook, rung: Rung) -> bool {
        let ahead = self.config.guard.contain_ahead;
        let room = in_ram(outlook);
        let left = outlook
            .growth
            .time_for(room)
            .map(Span::new)
            .filter(|left| *left <= ahead);
        let costly =
            outlook.swap == Bytes::ZERO || outlook.stalled.is_some_and(|stalled| stalled >= LOST);
        let (Some(left), true) = (
            left,
            costly && rung < Rung::Kill && room <= NEAR.of(outlook.managed),
        ) else {
            return false;
        };
        let Some(pick) = choose(self.bench(outlook)).pick else {
            return false;
        };
        let reserve = reserve(outlook, &self.config.guard);
        let Some(Group { id, used, anon, .. }) = self.containable(&pick.suspect) else {
            return false;
        };
        let ceiling = used.max(anon + room.less(reserve));
        let limited = pick
            .suspect
            .group
            .and_then(|group| group.high)
            .is_some_and(|high| high <= ceiling);
        if limited
            || self.contained(&pick.suspect).is_some()
            || self.sample.groups.contained.len() == MAX_CONTAINED
        {
            return false;
        }
        let grip = Grip::Contain {
            id,
            unit: pick.suspect.unit,
            used,
            ceiling,
            reserve,
        };
        let why = Reason::Fills {
            growth: pick.growth.rate,
            room,
            reserve,
            left,
        };
        self.step(Action::Group(grip), why);
        true
    }

    /// Frees who need not be contained any longer.
    pub(super) fn loosen(&mut self, outlook: &Outlook) {
        let sample = self.sample;
        let room = in_ram(outlook);
        let grows_near = outlook
            .growth
            .time_for(room)
            .is_some_and(|left| left <= 2 * self.config.guard.contain_ahead.get());
        // Who stands still does not push, and would go on without a ceiling.
        for one in &sample.groups.contained {
            if self.is_still(one.id) {
                continue;
            }
            let age = sample.at.get().saturating_sub(one.since.get());
            let pushes = self
                .history
                .distress
                .pushing
                .since(one.id, sample.at)
                .is_some();
            let ample = room >= one.reserve.scaled(2, 1) && !grows_near;
            let reads = self.pushes_long(one).is_some() && self.grows(one).is_none();
            if age >= AT_LEAST && (ample || reads || (age >= STILL && !pushes)) {
                self.free(one, Reason::Eased { room });
            } else if room > one.reserve.scaled(5, 4) {
                self.give_more(one, room);
            }
        }
    }

    /// Gives who pushes what there still is, so that it shows whether it fits.
    fn give_more(&mut self, one: &Contained, room: Bytes) {
        let Some((since, _)) = self.pushes_long(one).zip(self.grows(one)) else {
            return;
        };
        let Contained {
            id,
            unit,
            used,
            reserve,
            ..
        } = *one;
        let ceiling = used + room.less(reserve);
        if ceiling >= one.ceiling + LEAST_RAISE {
            self.step(
                Action::Group(Grip::Contain {
                    id,
                    unit,
                    used,
                    ceiling,
                    reserve,
                }),
                Reason::Pushes { since, room },
            );
        }
    }

    /// Frees everyone.
    pub(super) fn free_all(&mut self) {
        let sample = self.sample;
        sample
            .groups
            .contained
            .iter()
            .for_each(|one| self.free(one, Reason::Stop));
        self.let_all_go_on();
    }

    fn free(&mut self, one: &Contained, why: Reason) {
        self.step(
            Action::Group(Grip::Free {
                id: one.id,
                unit: one.unit,
            }),
            why,
        );
    }

    /// Ends who has pushed against its ceiling for too long, with no room to raise it.
    pub(super) fn end_who_pushes(&mut self, outlook: &Outlook, rung: Rung) -> bool {
        let sample = self.sample;
        let full = |one: &&Contained| outlook.expected_room() <= one.reserve.scaled(5, 4);
        for one in sample
            .groups
            .contained
            .iter()
            .filter(full)
            .filter(|one| !self.is_still(one.id))
        {
            let Some((since, growth)) = self.pushes_long(one).zip(self.grows(one)) else {
                continue;
            };
            let Some(suspect) = self
                .largest_in(one.id)
                .filter(|suspect| is_all_its_own(suspect))
            else {
                continue;
            };
            let extent = extent(self.bench(outlook), suspect);
            // A unit is ended whole by the kernel, which knows no gentle way.
            let gentle =
                extent == Extent::Process && self.config.guard.term_ahead > Span::default();
            let signal = if gentle { Signal::Term } else { Signal::Kill };
            let pick = Pick {
                suspect: *suspect,
                extent,
                growth,
            };
            if rung < Rung::Kill && self.ask(&pick, outlook) {
                return true;
            }
            self.end(
                &pick,
                signal,
                Reason::Pushes {
                    since,
                    room: outlook.room,
                },
            );
            return true;
        }
        false
    }

    /// For how long it has pushed, if that is long enough.
    fn pushes_long(&self, one: &Contained) -> Option<Span> {
        let since = self
            .history
            .distress
            .pushing
            .since(one.id, self.sample.at)?;
        (since >= self.config.guard.contain_for).then_some(since)
    }

    /// How what it cannot give back grows, if it has for that long. A ceiling slows that down, and never stops it.
    fn grows(&self, one: &Contained) -> Option<Growth> {
        let growth = self
            .largest_in(one.id)
            .and_then(|suspect| self.history.distress.growths.of_unit(suspect));
        growth.filter(|growth| {
            growth.rate > Rate::ZERO && growth.rising >= self.config.guard.contain_for
        })
    }

    /// Whether it is contained and has not yet had the time that this is to give it.
    pub(super) fn has_respite(&self, suspect: &Suspect) -> bool {
        let Some(one) = self.contained(suspect) else {
            return false;
        };
        let age = Span::new(self.sample.at.get().saturating_sub(one.since.get()));
        let pushing = self.history.distress.pushing.since(one.id, self.sample.at);
        pushing.unwrap_or(age) < self.config.guard.contain_for
    }

    /// Whether it pushes against a ceiling.
    pub(super) fn pushes(&self, suspect: &Suspect) -> bool {
        let pushing = &self.history.distress.pushing;
        self.contained(suspect)
            .is_some_and(|one| pushing.since(one.id, self.sample.at).is_some())
    }

    fn contained(&self, suspect: &Suspect) -> Option<&Contained> {
        let id = suspect.group?.id;
        self.sample.groups.contained.iter().find(|one| one.id == id)
    }

    /// The largest of a unit that may end.
    pub(super) fn largest_in(&self, id: u64) -> Option<&Suspect> {
        let inside = |suspect: &&Suspect| suspect.group.is_some_and(|group| group.id == id);
        let may_end = |suspect: &&Suspect| shield(suspect, &self.config.guard).is_none();
        let mine = self
            .sample
            .census
            .suspects
            .iter()
            .filter(inside)
            .filter(may_end);
        mine.max_by_key(|suspect| suspect.size())
    }

    /// The unit of its own that a suspect lives in, if nobody in it is spared, among the suspects or beside them.
    pub(super) fn containable(&self, suspect: &Suspect) -> Option<Group> {
        let group = suspect.group.filter(|_| suspect.place.is_of_its_own())?;
        let inside = |other: &&Suspect| other.group.is_some_and(|it| it.id == group.id);
        let spared = self.sample.census.suspects.iter().filter(inside);
        let spared = spared
            .filter(|other| shield(other, &self.config.guard).is_some())
            .count();
        (spared == 0 && group.spared == 0 && group.used > Bytes::ZERO).then_some(group)
    }
}

/// Whether hardly anything in its unit is cache, which it would give up before it takes more.
fn is_all_its_own(suspect: &Suspect) -> bool {
    suspect
        .group
        .is_some_and(|group| group.used.less(group.anon) <= group.used.scaled(1, 8))
}

/// Room in memory itself, and what comes back.
pub(super) fn in_ram(outlook: &Outlook) -> Bytes {
    outlook.expected_room().less(outlook.swap)
}
