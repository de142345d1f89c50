//! What each tick publishes to other threads, as plain data: handing it over allocates nothing.

use host::Outcome;
use pressure::decision::{Action, Notice, Step};
use pressure::groups::CgroupAction;
use pressure::{Decision, Sample};

/// One tick of the loop, after it acted.
#[derive(Debug, Clone, Copy)]
pub struct Tick<'t> {
    /// What was sampled.
    pub sample: &'t Sample,
    /// What was decided.
    pub decision: &'t Decision,
    /// Which steps of the decision were carried out.
    pub outcome: &'t Outcome,
}

/// Something that happened in a tick.
#[derive(Debug, Clone, Copy)]
pub struct TickEvent {
    /// What happened.
    pub kind: EventKind,
    /// The user ID of the process or unit that it happened to, if known.
    pub user: Option<u32>,
}

/// What happened.
#[derive(Debug, Clone, Copy)]
pub enum EventKind {
    /// A step was carried out.
    Done(Step),
    /// The decision has a notice for people.
    Noticed(Notice),
}

impl Tick<'_> {
    /// The steps that were carried out, then the notices.
    pub fn events(&self) -> impl Iterator<Item = TickEvent> {
        let steps = self.decision.steps.iter().enumerate();
        let done_steps = steps.filter(|(place, _)| self.outcome.has_done(*place));
        let done = done_steps.map(|(_, step)| TickEvent {
            kind: EventKind::Done(*step),
            user: self.user_of(&step.action),
        });
        let notices = self.decision.notices.iter().map(|notice| TickEvent {
            kind: EventKind::Noticed(*notice),
            user: None,
        });
        done.chain(notices)
    }

    /// The user ID of the process or unit that an action concerns.
    fn user_of(&self, action: &Action) -> Option<u32> {
        match action {
            Action::Kill { identity, .. } => {
                let candidate = self.sample.scan.find(*identity)?;
                Some(candidate.user)
            }
            Action::Group(CgroupAction::Freeze { user, .. }) => Some(*user),
            Action::Group(CgroupAction::Thaw { id, .. }) => {
                let mut frozen = self.sample.groups.frozen.iter();
                frozen.find(|unit| unit.id == *id).map(|unit| unit.user)
            }
            Action::Group(other) => self.user_inside(other.id()),
            _ => None,
        }
    }

    /// The user ID of a candidate inside the cgroup with this inode number.
    fn user_inside(&self, cgroup: u64) -> Option<u32> {
        for candidate in &self.sample.scan.candidates {
            if candidate.group.is_some_and(|group| group.id == cgroup) {
                return Some(candidate.user);
            }
        }
        None
    }
}
