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
            user: user_named(notice, self.sample),
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

/// The user ID of the process that a notice names, if no process of another user has that name.
fn user_named(notice: &Notice, sample: &Sample) -> Option<u32> {
    let Notice::Thrashing { largest, .. } = notice else {
        return None;
    };
    let named = (*largest)?;
    let mut users = sample
        .scan
        .candidates
        .iter()
        .filter(|candidate| candidate.name == named)
        .map(|candidate| candidate.user);
    let user = users.next()?;
    if users.all(|other| other == user) {
        Some(user)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pressure::scan::{Candidate, Name};
    use units::{Bytes, Percent, Span};

    #[test]
    fn a_notice_is_of_the_user_whose_process_it_names_unless_there_are_two() {
        let named = |name: &str, user| Candidate {
            name: Name::from(name).unwrap(),
            user,
            ..Candidate::default()
        };
        let mut sample = Sample::default();
        sample.scan.candidates.push(named("hog", 1000));
        sample.scan.candidates.push(named("hog", 1000));
        sample.scan.candidates.push(named("other", 1001));
        let notice = |name: &str| Notice::Thrashing {
            since: Span::secs(5),
            stalled: Percent::new(60),
            unit: None,
            headroom: Bytes::mib(9),
            largest: Name::from(name).ok(),
        };
        let user = |sample: &Sample, name: &str| user_named(&notice(name), sample);
        assert_eq!(user(&sample, "hog"), Some(1000));
        assert_eq!(user(&sample, "gone"), None);
        sample.scan.candidates.push(named("hog", 1001));
        assert_eq!(user(&sample, "hog"), None);
    }
}
