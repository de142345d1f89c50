//! A process that fills memory and has a unit of its own is throttled first: the unit may have all but
//! the reserve, and the kernel slows it down where it takes more (`memory.high`). So it harms itself
//! instead of all others, and there is time for SIGTERM.
//!
//! - Law: `memory.high = max(used, anonymous + (headroom in RAM − reserve)⁺)`, for the unit's cache is a
//!   part of the headroom. The reserve is the headroom at which SIGTERM would be sent. A unit that has
//!   been at its limit for `throttle-for` and grows gets the headroom that there is by then. SIGTERM is
//!   sent when the unit has been at its limit for `throttle-for`, memory that it cannot free has grown
//!   all that time, there is hardly any cache in it, and headroom is within a quarter of the reserve.
//! - Undone: when there is twice the reserve, when the unit is at its limit without growth (it reads
//!   files), or has not been at its limit for [`IDLE`].
//! - Source: `memory.high` alone protects all other working sets, but a runaway never ends by it. So it
//!   gains time and does not replace the kill.
//! - Limit: a process of a session scope has no unit of its own, and is killed without this.

use super::draft::Draft;
use crate::decision::{Action, Reason};
use crate::distress::{
    Extent, Growth, Outlook, Pick, Severity, choose, exemption, extent, reserve,
};
use crate::groups::{CgroupAction, MAX_THROTTLED, Throttled};
use crate::scan::{Candidate, Group, Signal};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// A limit stands at least this long: it shows after a second or so whether the unit meets it.
const AT_LEAST: Duration = Duration::from_secs(3);
/// A unit that has not been at its limit for this long has what it wants.
const IDLE: Duration = Duration::from_secs(30);
/// A smaller raise is not worth a write.
const LEAST_RAISE: Bytes = Bytes::mib(1);
/// A forecast of seconds means nothing while half of memory is left: few loads grow that far.
const NEAR: Percent = Percent::new(50);
/// With swap, no unit is throttled while less time than this is lost: idle pages may be swapped out.
const LOST: Percent = Percent::new(10);

impl Draft<'_> {
    /// Throttles the unit of the process that fills memory, if that is possible and was not done.
    /// Returns whether it did.
    pub(super) fn throttle(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let Some(left) = self.time_to_throttle(outlook, severity) else {
            return false;
        };
        let Some(pick) = choose(self.inputs(outlook)).pick else {
            return false;
        };
        let headroom = outlook.headroom_in_ram();
        let reserve = reserve(outlook, &self.config.guard);
        let Some(group) = self.limitable_unit(&pick.candidate) else {
            return false;
        };
        let memory_high = group.used.max(group.anon + headroom.less(reserve));
        let is_limited = group.high.is_some_and(|high| high <= memory_high);
        if is_limited
            || self.throttled(&pick.candidate).is_some()
            || self.sample.groups.throttled.len() == MAX_THROTTLED
        {
            return false;
        }
        let action = CgroupAction::Throttle {
            id: group.id,
            unit: pick.candidate.unit,
            used: group.used,
            memory_high,
            reserve,
        };
        let why = Reason::Fills {
            growth: pick.growth.rate,
            headroom,
            reserve,
            left,
        };
        self.step(Action::Group(action), why);
        true
    }

    /// Time until memory is full, if it is time to throttle.
    fn time_to_throttle(&self, outlook: &Outlook, severity: Severity) -> Option<Span> {
        let headroom = outlook.headroom_in_ram();
        let left = Span::new(outlook.growth.time_for(headroom)?);
        let is_costly =
            outlook.swap == Bytes::ZERO || outlook.stalled.is_some_and(|stalled| stalled >= LOST);
        let is_time = left <= self.config.guard.throttle_ahead
            && is_costly
            && severity < Severity::Kill
            && headroom <= NEAR.of(outlook.managed);
        if is_time { Some(left) } else { None }
    }

    /// Undoes limits that are no longer needed, and raises others to the headroom that there is.
    pub(super) fn relax_limits(&mut self, outlook: &Outlook) {
        let sample = self.sample;
        let headroom = outlook.headroom_in_ram();
        for cgroup in &sample.groups.throttled {
            // A frozen unit takes nothing, so it would lose its limit and thaw without one.
            if self.is_frozen(cgroup.id) {
                continue;
            }
            if self.needs_no_limit(cgroup, outlook) {
                self.unthrottle(cgroup, Reason::Eased { headroom });
            } else if headroom > cgroup.reserve.scaled(5, 4) {
                self.raise_limit(cgroup, headroom);
            }
        }
    }

    fn needs_no_limit(&self, cgroup: &Throttled, outlook: &Outlook) -> bool {
        let age = self.since(cgroup.since);
        if age < AT_LEAST {
            return false;
        }
        let headroom = outlook.headroom_in_ram();
        let fills_soon = outlook
            .growth
            .time_for(headroom)
            .is_some_and(|left| left <= 2 * self.config.guard.throttle_ahead.get());
        let is_ample = headroom >= cgroup.reserve.scaled(2, 1) && !fills_soon;
        let only_reads =
            self.at_limit_long(cgroup).is_some() && self.growing_long(cgroup).is_none();
        let is_idle = age >= IDLE && self.at_limit(cgroup.id).is_none();
        is_ample || only_reads || is_idle
    }

    /// Raises `memory.high` to the remaining headroom, to see whether the job fits.
    fn raise_limit(&mut self, cgroup: &Throttled, headroom: Bytes) {
        let Some(since) = self.at_limit_long(cgroup) else {
            return;
        };
        if self.growing_long(cgroup).is_none() {
            return;
        }
        let memory_high = cgroup.used + headroom.less(cgroup.reserve);
        if memory_high < cgroup.memory_high + LEAST_RAISE {
            return;
        }
        let action = CgroupAction::Throttle {
            id: cgroup.id,
            unit: cgroup.unit,
            used: cgroup.used,
            memory_high,
            reserve: cgroup.reserve,
        };
        self.step(Action::Group(action), Reason::AtLimit { since, headroom });
    }

    /// Undoes every limit and thaws every frozen unit.
    pub(super) fn release_limits(&mut self) {
        let sample = self.sample;
        for cgroup in &sample.groups.throttled {
            self.unthrottle(cgroup, Reason::Stop);
        }
        self.thaw_all();
    }

    fn unthrottle(&mut self, cgroup: &Throttled, why: Reason) {
        let action = CgroupAction::Free {
            id: cgroup.id,
            unit: cgroup.unit,
        };
        self.step(Action::Group(action), why);
    }

    /// Freezes or kills a unit that has been at its limit for too long, with no headroom to raise it.
    /// Returns whether it did.
    pub(super) fn kill_at_limit(&mut self, outlook: &Outlook, severity: Severity) -> bool {
        let sample = self.sample;
        for cgroup in &sample.groups.throttled {
            let is_full = outlook.expected_headroom() <= cgroup.reserve.scaled(5, 4);
            if !is_full || self.is_frozen(cgroup.id) {
                continue;
            }
            let Some(since) = self.at_limit_long(cgroup) else {
                continue;
            };
            let Some(pick) = self.pick_in(cgroup, outlook) else {
                continue;
            };
            if severity < Severity::Kill && self.freeze(&pick, outlook) {
                return true;
            }
            // `cgroup.kill` kills a whole unit at once and knows no SIGTERM.
            let signal = if pick.extent == Extent::Process
                && self.config.guard.term_ahead > Span::default()
            {
                Signal::Term
            } else {
                Signal::Kill
            };
            let why = Reason::AtLimit {
                since,
                headroom: outlook.headroom,
            };
            self.kill(&pick, signal, why);
            return true;
        }
        false
    }

    /// The process to kill in a throttled unit that keeps growing and holds hardly any cache.
    fn pick_in(&self, cgroup: &Throttled, outlook: &Outlook) -> Option<Pick> {
        let growth = self.growing_long(cgroup)?;
        let candidate = self.largest_in(cgroup.id)?;
        if !has_hardly_any_cache(candidate) {
            return None;
        }
        Some(Pick {
            candidate: *candidate,
            extent: extent(self.inputs(outlook), candidate),
            growth,
        })
    }

    /// For how long a throttled cgroup has been at its limit; `None` if it is not.
    fn at_limit(&self, id: u64) -> Option<Span> {
        self.history.distress.at_limits.since(id, self.sample.at)
    }

    /// For how long it has been at its limit, if that is at least `throttle-for`.
    fn at_limit_long(&self, cgroup: &Throttled) -> Option<Span> {
        self.at_limit(cgroup.id)
            .filter(|since| *since >= self.config.guard.throttle_for)
    }

    /// How memory that it cannot free grows, if it has for at least `throttle-for`. A limit slows growth
    /// down and never stops it.
    fn growing_long(&self, cgroup: &Throttled) -> Option<Growth> {
        let candidate = self.largest_in(cgroup.id)?;
        let growth = self.history.distress.growths.of_unit(candidate)?;
        let is_long = growth.rising >= self.config.guard.throttle_for;
        if growth.rate > Rate::ZERO && is_long {
            Some(growth)
        } else {
            None
        }
    }

    /// Whether it is throttled and has not had `throttle-for` yet.
    pub(super) fn has_respite(&self, candidate: &Candidate) -> bool {
        let Some(cgroup) = self.throttled(candidate) else {
            return false;
        };
        let age = Span::new(self.since(cgroup.since));
        self.at_limit(cgroup.id).unwrap_or(age) < self.config.guard.throttle_for
    }

    /// Whether its unit is throttled and at its limit.
    pub(super) fn is_at_limit(&self, candidate: &Candidate) -> bool {
        self.throttled(candidate)
            .is_some_and(|cgroup| self.at_limit(cgroup.id).is_some())
    }

    fn throttled(&self, candidate: &Candidate) -> Option<&Throttled> {
        let id = candidate.group?.id;
        self.sample
            .groups
            .throttled
            .iter()
            .find(|cgroup| cgroup.id == id)
    }

    /// The largest process of a unit that may be killed.
    pub(super) fn largest_in(&self, id: u64) -> Option<&Candidate> {
        self.sample
            .scan
            .candidates
            .iter()
            .filter(|candidate| candidate.group.is_some_and(|group| group.id == id))
            .filter(|candidate| exemption(candidate, &self.config.guard).is_none())
            .max_by_key(|candidate| candidate.size())
    }

    /// The unit of a candidate, if it is one application or service without any exempt process.
    pub(super) fn limitable_unit(&self, candidate: &Candidate) -> Option<Group> {
        if !candidate.place.is_of_its_own() {
            return None;
        }
        let group = candidate.group?;
        let mut inside = self
            .sample
            .scan
            .candidates
            .iter()
            .filter(|other| other.group.is_some_and(|it| it.id == group.id));
        let has_exempt =
            group.exempt > 0 || inside.any(|other| exemption(other, &self.config.guard).is_some());
        if has_exempt || group.used == Bytes::ZERO {
            return None;
        }
        Some(group)
    }
}

/// Whether hardly any of its unit's memory is cache, which it would give up before it takes more.
fn has_hardly_any_cache(candidate: &Candidate) -> bool {
    candidate
        .group
        .is_some_and(|group| group.used.less(group.anon) <= group.used.scaled(1, 8))
}
