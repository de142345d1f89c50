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
use crate::decision::{Action, Reason};
use crate::distress::{
    Extent, Growth, Outlook, Pick, Severity, choose, exemption, extent, reserve,
};
use crate::groups::{CgroupAction, MAX_THROTTLED, Throttled};
use crate::scan::{Candidate, Group, Signal};
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
    pub(super) fn throttle(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let ahead = self.config.guard.throttle_ahead;
        let headroom = in_ram(outlook);
        let left = outlook
            .growth
            .time_for(headroom)
            .map(Span::new)
            .filter(|left| *left <= ahead);
        let costly =
            outlook.swap == Bytes::ZERO || outlook.stalled.is_some_and(|stalled| stalled >= LOST);
        let (Some(left), true) = (
            left,
            costly && severity < Severity::Kill && headroom <= NEAR.of(outlook.managed),
        ) else {
            return false;
        };
        let Some(pick) = choose(self.bench(outlook)).pick else {
            return false;
        };
        let reserve = reserve(outlook, &self.config.guard);
        let Some(Group { id, used, anon, .. }) = self.containable(&pick.candidate) else {
            return false;
        };
        let memory_high = used.max(anon + headroom.less(reserve));
        let limited = pick
            .candidate
            .group
            .and_then(|group| group.high)
            .is_some_and(|high| high <= memory_high);
        if limited
            || self.throttled(&pick.candidate).is_some()
            || self.sample.groups.throttled.len() == MAX_THROTTLED
        {
            return false;
        }
        let cgroup_action = CgroupAction::Throttle {
            id,
            unit: pick.candidate.unit,
            used,
            memory_high,
            reserve,
        };
        let why = Reason::Fills {
            growth: pick.growth.rate,
            headroom,
            reserve,
            left,
        };
        self.step(Action::Group(cgroup_action), why);
        true
    }

    /// Frees who need not be contained any longer.
    pub(super) fn loosen(&mut self, outlook: &Outlook) {
        let sample = self.sample;
        let headroom = in_ram(outlook);
        let grows_near = outlook
            .growth
            .time_for(headroom)
            .is_some_and(|left| left <= 2 * self.config.guard.throttle_ahead.get());
        // Who stands still does not push, and would go on without a ceiling.
        for one in &sample.groups.throttled {
            if self.is_frozen(one.id) {
                continue;
            }
            let age = sample.at.get().saturating_sub(one.since.get());
            let pushes = self
                .history
                .distress
                .pushing
                .since(one.id, sample.at)
                .is_some();
            let ample = headroom >= one.reserve.scaled(2, 1) && !grows_near;
            let reads = self.pushes_long(one).is_some() && self.grows(one).is_none();
            if age >= AT_LEAST && (ample || reads || (age >= STILL && !pushes)) {
                self.free(one, Reason::Eased { headroom });
            } else if headroom > one.reserve.scaled(5, 4) {
                self.give_more(one, headroom);
            }
        }
    }

    /// Gives who pushes what there still is, so that it shows whether it fits.
    fn give_more(&mut self, one: &Throttled, headroom: Bytes) {
        let Some((since, _)) = self.pushes_long(one).zip(self.grows(one)) else {
            return;
        };
        let Throttled {
            id,
            unit,
            used,
            reserve,
            ..
        } = *one;
        let memory_high = used + headroom.less(reserve);
        if memory_high >= one.memory_high + LEAST_RAISE {
            self.step(
                Action::Group(CgroupAction::Throttle {
                    id,
                    unit,
                    used,
                    memory_high,
                    reserve,
                }),
                Reason::Pushes { since, headroom },
            );
        }
    }

    /// Frees everyone.
    pub(super) fn free_all(&mut self) {
        let sample = self.sample;
        sample
            .groups
            .throttled
            .iter()
            .for_each(|one| self.free(one, Reason::Stop));
        self.let_all_go_on();
    }

    fn free(&mut self, one: &Throttled, why: Reason) {
        self.step(
            Action::Group(CgroupAction::Free {
                id: one.id,
                unit: one.unit,
            }),
            why,
        );
    }

    /// Ends who has pushed against its ceiling for too long, with no room to raise it.
    pub(super) fn kill_pushing(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let sample = self.sample;
        let full = |one: &&Throttled| outlook.expected_headroom() <= one.reserve.scaled(5, 4);
        for one in sample
            .groups
            .throttled
            .iter()
            .filter(full)
            .filter(|one| !self.is_frozen(one.id))
        {
            let Some((since, growth)) = self.pushes_long(one).zip(self.grows(one)) else {
                continue;
            };
            let Some(candidate) = self
                .largest_in(one.id)
                .filter(|candidate| is_all_its_own(candidate))
            else {
                continue;
            };
            let extent = extent(self.bench(outlook), candidate);
            // A unit is ended whole by the kernel, which knows no gentle way.
            let gentle =
                extent == Extent::Process && self.config.guard.term_ahead > Span::default();
            let signal = if gentle { Signal::Term } else { Signal::Kill };
            let pick = Pick {
                candidate: *candidate,
                extent,
                growth,
            };
            if severity < Severity::Kill && self.ask(&pick, outlook) {
                return true;
            }
            self.end(
                &pick,
                signal,
                Reason::Pushes {
                    since,
                    headroom: outlook.headroom,
                },
            );
            return true;
        }
        false
    }

    /// For how long it has pushed, if that is long enough.
    fn pushes_long(&self, one: &Throttled) -> Option<Span> {
        let since = self
            .history
            .distress
            .pushing
            .since(one.id, self.sample.at)?;
        (since >= self.config.guard.throttle_for).then_some(since)
    }

    /// How what it cannot give back grows, if it has for that long. A ceiling slows that down, and never stops it.
    fn grows(&self, one: &Throttled) -> Option<Growth> {
        let growth = self
            .largest_in(one.id)
            .and_then(|candidate| self.history.distress.growths.of_unit(candidate));
        growth.filter(|growth| {
            growth.rate > Rate::ZERO && growth.rising >= self.config.guard.throttle_for
        })
    }

    /// Whether it is contained and has not yet had the time that this is to give it.
    pub(super) fn has_respite(&self, candidate: &Candidate) -> bool {
        let Some(one) = self.throttled(candidate) else {
            return false;
        };
        let age = Span::new(self.sample.at.get().saturating_sub(one.since.get()));
        let pushing = self.history.distress.pushing.since(one.id, self.sample.at);
        pushing.unwrap_or(age) < self.config.guard.throttle_for
    }

    /// Whether it pushes against a ceiling.
    pub(super) fn pushes(&self, candidate: &Candidate) -> bool {
        let pushing = &self.history.distress.pushing;
        self.throttled(candidate)
            .is_some_and(|one| pushing.since(one.id, self.sample.at).is_some())
    }

    fn throttled(&self, candidate: &Candidate) -> Option<&Throttled> {
        let id = candidate.group?.id;
        self.sample.groups.throttled.iter().find(|one| one.id == id)
    }

    /// The largest of a unit that may end.
    pub(super) fn largest_in(&self, id: u64) -> Option<&Candidate> {
        let inside = |candidate: &&Candidate| candidate.group.is_some_and(|group| group.id == id);
        let may_end = |candidate: &&Candidate| exemption(candidate, &self.config.guard).is_none();
        let mine = self
            .sample
            .scan
            .candidates
            .iter()
            .filter(inside)
            .filter(may_end);
        mine.max_by_key(|candidate| candidate.size())
    }

    /// The unit of its own that a suspect lives in, if nobody in it is spared, among the suspects or beside them.
    pub(super) fn containable(&self, candidate: &Candidate) -> Option<Group> {
        let group = candidate
            .group
            .filter(|_| candidate.place.is_of_its_own())?;
        let inside = |other: &&Candidate| other.group.is_some_and(|it| it.id == group.id);
        let exempt = self.sample.scan.candidates.iter().filter(inside);
        let exempt = exempt
            .filter(|other| exemption(other, &self.config.guard).is_some())
            .count();
        (exempt == 0 && group.exempt == 0 && group.used > Bytes::ZERO).then_some(group)
    }
}

/// Whether hardly anything in its unit is cache, which it would give up before it takes more.
fn is_all_its_own(candidate: &Candidate) -> bool {
    candidate
        .group
        .is_some_and(|group| group.used.less(group.anon) <= group.used.scaled(1, 8))
}

/// Room in memory itself, and what comes back.
pub(super) fn in_ram(outlook: &Outlook) -> Bytes {
    outlook.expected_headroom().less(outlook.swap)
}
