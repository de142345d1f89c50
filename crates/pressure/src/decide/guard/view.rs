//! What the rules read: one sample with what is remembered and what follows from both.

use crate::config::Guard;
use crate::decision::Reason;
use crate::distress::{
    Bounds, Choice, Exemptions, Growth, Inputs, Outlook, Pick, STUCK, Severity, choose, largest,
    limitable_unit, reserve, severity,
};
use crate::groups::{CgroupAction, Frozen, MAX_FROZEN, MAX_THROTTLED, Throttled};
use crate::history::History;
use crate::sample::Sample;
use crate::scan::{Candidate, Group, Signal, UnitName, Victim};
use std::time::Duration;
use units::{Bytes, Percent, Rate, Span};

/// Minimum time between kills: freed memory takes a moment to show in the counters.
const APART: Duration = Duration::from_secs(1);
/// Growth that uses headroom up within this time is what makes a machine thrash. Slower growth may be
/// pages that come back from swap.
const SOON: Span = Span::secs(60);
/// Share of time lost that makes a full machine a hopeless one: hardly any task gets on.
const HOPELESS: Percent = Percent::new(70);
/// After a signal, a unit is throttled before the next one, for this long. Longer than a person needs to
/// see what was ended and to close something; a job that comes again does so within a minute.
const WARY: Duration = Duration::from_secs(600);

/// What the rules read. Nothing in it changes while they are asked.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) config: &'a Guard,
    pub(super) history: &'a History,
    pub(super) sample: &'a Sample,
    pub(super) outlook: Outlook,
    pub(super) severity: Severity,
    /// Times and headroom at which it is time to act.
    bounds: Bounds,
    /// Why each candidate of the scan is exempt.
    exemptions: Exemptions,
    /// What makes memory run out; empty while memory lasts.
    pub(super) choice: Choice,
    /// What holds the most, in a machine that thrashes.
    pub(super) largest: Choice,
}

/// All tasks stall for memory, or all of a protected unit, and memory is what they lack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thrash {
    pub(super) since: Span,
    /// Share of the last seconds in which they did.
    pub(super) stalled: Percent,
    /// The unit; `None` for the whole machine.
    pub(super) unit: Option<UnitName>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        config: &'a Guard,
        history: &'a History,
        sample: &'a Sample,
        outlook: Outlook,
    ) -> Self {
        let bounds = Bounds::of(config);
        let mut view = Self {
            config,
            history,
            sample,
            outlook,
            severity: severity(&outlook, &bounds),
            bounds,
            exemptions: Exemptions::of(&sample.scan, config),
            choice: Choice::default(),
            largest: Choice::default(),
        };
        let is_thrashing = view.thrash().is_some() || view.hopeless().is_some();
        if view.severity >= Severity::Warn || view.may_throttle_soon() || is_thrashing {
            view.choice = choose(view.inputs());
        }
        if is_thrashing {
            view.largest = largest(view.inputs());
        }
        view
    }

    /// What a choice of a process is made from.
    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            scan: &self.sample.scan,
            growths: &self.history.distress.growths,
            ended: &self.history.distress.ended,
            config: self.config,
            outlook: &self.outlook,
            exemptions: &self.exemptions,
            shmem: self.sample.memory.shmem.unwrap_or_default(),
        }
    }

    /// Headroom that is left when SIGTERM comes, and that a throttled unit leaves to all others.
    pub(super) fn reserve(&self) -> Bytes {
        reserve(&self.outlook, &self.bounds)
    }

    /// The severity of another outlook, by the same bounds.
    pub(super) fn severity_of(&self, outlook: &Outlook) -> Severity {
        severity(outlook, &self.bounds)
    }

    /// Why what grows by itself is signalled.
    pub(super) fn runs_away(&self, pick: &Pick) -> Reason {
        Reason::Runaway {
            growth: pick.growth.rate,
            of: self.outlook.growth,
            headroom: self.outlook.headroom,
            left: self.outlook.left,
            stalled: self.outlook.stalled,
        }
    }

    /// The limit of a candidate's unit, if it has none of ours and none that is as low.
    pub(super) fn limit(
        &self,
        candidate: &Candidate,
        group: &Group,
        memory_high: Bytes,
    ) -> Option<CgroupAction> {
        let is_limited = group.high.is_some_and(|high| high <= memory_high);
        let is_full = self.sample.groups.throttled.len() == MAX_THROTTLED;
        if is_limited || is_full || self.throttled(candidate).is_some() {
            return None;
        }
        Some(CgroupAction::Throttle {
            id: group.id,
            unit: candidate.unit,
            used: group.used,
            memory_high,
            reserve: self.reserve(),
        })
    }

    /// Time from `then` to the sample.
    pub(super) fn since(&self, then: Span) -> Duration {
        self.sample.at.get().saturating_sub(then.get())
    }

    /// Time since `when`; `None` if it never was.
    pub(super) fn ago(&self, when: Option<Span>) -> Option<Duration> {
        when.map(|when| self.since(when))
    }

    fn may_throttle_soon(&self) -> bool {
        let headroom = self.outlook.headroom_in_ram();
        let left = self.outlook.pace().time_for(headroom);
        left.is_some_and(|left| left <= self.config.throttle_ahead.get())
    }

    /// For how long the machine has been thrashing; `None` if it does not at this moment.
    pub(super) fn thrash(&self) -> Option<Thrash> {
        let distress = &self.history.distress;
        let since = distress.thrashing_since?;
        if distress.thrashed != Some(self.sample.at) {
            return None;
        }
        let unit = distress.stalled_unit;
        let stalled = unit.map(|one| one.stalled).or(self.outlook.stalled)?;
        Some(Thrash {
            since: Span::new(self.since(since)),
            stalled,
            unit: unit.map(|one| one.unit),
        })
    }

    /// Whether this is the first sample at which something has gone on for `after`: it has for `since`.
    pub(super) fn is_first_since(&self, after: Span, since: Span) -> bool {
        let elapsed = self.history.latest.elapsed.get();
        since.get().saturating_sub(elapsed) < after.get()
    }

    /// What contributes most to thrash: what grows, if that uses headroom up soon, and else what holds the
    /// most.
    pub(super) fn contributor(&self) -> Option<Pick> {
        let grows = self.outlook.left.is_some_and(|left| left <= SOON);
        let grower = self.choice.pick.filter(|_| grows);
        grower.or(self.largest.pick)
    }

    /// Why the machine is hopeless: it has had no headroom and lost nearly all time, for long.
    pub(super) fn hopeless(&self) -> Option<Reason> {
        let full_since = self.history.distress.full_since?;
        let since = Span::new(self.since(full_since));
        let stalled = self
            .outlook
            .stalled
            .filter(|stalled| *stalled >= HOPELESS)?;
        if since < self.config.hopeless_after {
            return None;
        }
        Some(Reason::Hopeless { since, stalled })
    }

    /// A process that was signalled and may still exit for it.
    pub(super) fn pending_victim(&self) -> Option<Victim> {
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

    /// Whether the cgroup of this inode is frozen.
    pub(super) fn is_frozen(&self, id: u64) -> bool {
        self.sample
            .groups
            .frozen
            .iter()
            .any(|frozen| frozen.id == id && frozen.is_frozen())
    }

    /// The question to its user, if the unit of the picked process may be frozen: it is one application
    /// or service, its user can answer, and was not asked just now.
    pub(super) fn question(&self, pick: &Pick) -> Option<(CgroupAction, Reason)> {
        let groups = &self.sample.groups;
        let candidate = &pick.candidate;
        let wait = self.config.ask_for;
        let can_answer = groups.users.contains(&candidate.user);
        if wait == Span::default()
            || !can_answer
            || self.hopeless().is_some()
            || groups.frozen.len() == MAX_FROZEN
        {
            return None;
        }
        let group = self.limitable_unit(candidate)?;
        if groups.frozen.iter().any(|frozen| frozen.id == group.id) {
            return None;
        }
        let action = CgroupAction::Freeze {
            id: group.id,
            unit: candidate.unit,
            user: candidate.user,
            used: group.used,
            headroom: self.outlook.headroom_in_ram(),
            wait,
        };
        let why = Reason::AskUser {
            growth: pick.growth.rate,
            headroom: self.outlook.headroom,
        };
        Some((action, why))
    }

    /// The unit of a candidate, if it may be limited as a whole.
    pub(super) fn limitable_unit(&self, candidate: &Candidate) -> Option<Group> {
        limitable_unit(self.inputs(), candidate).filter(|group| group.used > Bytes::ZERO)
    }

    /// The throttled cgroup of a candidate.
    pub(super) fn throttled(&self, candidate: &Candidate) -> Option<&'a Throttled> {
        let id = candidate.group?.id;
        self.sample
            .groups
            .throttled
            .iter()
            .find(|cgroup| cgroup.id == id)
    }

    /// For how long a throttled cgroup has been at its limit; `None` if it is not.
    pub(super) fn at_limit(&self, id: u64) -> Option<Span> {
        self.history.distress.at_limits.since(id, self.sample.at)
    }

    /// For how long it has been at its limit, if that is at least `throttle-for`.
    pub(super) fn at_limit_long(&self, cgroup: &Throttled) -> Option<Span> {
        self.at_limit(cgroup.id)
            .filter(|since| *since >= self.config.throttle_for)
    }

    /// How memory that it cannot free grows, if it has for at least `throttle-for`. A limit slows growth
    /// down and never stops it.
    pub(super) fn growing_long(&self, cgroup: &Throttled) -> Option<Growth> {
        let candidate = self.largest_in(cgroup.id)?;
        let growth = self.history.distress.growths.of_unit(candidate)?;
        let is_long = growth.rising >= self.config.throttle_for;
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
        self.at_limit(cgroup.id).unwrap_or(age) < self.config.throttle_for
    }

    /// Whether a process was signalled so lately that the next one is slowed down before, if it can be.
    pub(super) fn is_wary(&self) -> bool {
        let ago = self.ago(self.history.distress.signalled);
        ago.is_some_and(|ago| ago < WARY)
    }

    /// Whether its unit is throttled and at its limit.
    pub(super) fn is_at_limit(&self, candidate: &Candidate) -> bool {
        self.throttled(candidate)
            .is_some_and(|cgroup| self.at_limit(cgroup.id).is_some())
    }

    /// The largest process of a unit that may be killed.
    pub(super) fn largest_in(&self, id: u64) -> Option<&Candidate> {
        let inputs = self.inputs();
        let inside = inputs.judged().filter(|(candidate, exemption)| {
            exemption.is_none() && candidate.group.is_some_and(|group| group.id == id)
        });
        inside
            .map(|(candidate, _)| candidate)
            .max_by_key(|candidate| candidate.size())
    }

    /// The frozen units.
    pub(super) fn frozen(&self) -> impl Iterator<Item = &'a Frozen> {
        let all = self.sample.groups.frozen.iter();
        all.filter(|one| one.is_frozen())
    }
}
