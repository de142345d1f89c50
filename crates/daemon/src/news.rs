//! What a turn of the loop has to tell, as data that can be handed to another thread without taking memory.

use host::Outcome;
use pressure::decision::{Action, Notice, Step};
use pressure::groups::CgroupAction;
use pressure::{Decision, Sample};

/// One turn of the loop.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'t> {
    /// What was seen.
    pub sample: &'t Sample,
    /// What was decided.
    pub decision: &'t Decision,
    /// What came of it.
    pub outcome: &'t Outcome,
}

/// Something that happened, and to whom.
#[derive(Debug, Clone, Copy)]
pub struct News {
    /// What.
    pub what: What,
    /// The user whose it is, if it is one's and that is known.
    pub user: Option<u32>,
}

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// A step was carried out.
    Done(Step),
    /// Something people should know was seen.
    Seen(Notice),
}

impl Turn<'_> {
    /// What was seen, and what was done of what was decided.
    pub fn news(&self) -> impl Iterator<Item = News> {
        let steps = self
            .decision
            .steps
            .iter()
            .enumerate()
            .filter(|(place, _)| self.outcome.has_done(*place));
        let done = steps.map(|(_, step)| News {
            what: What::Done(*step),
            user: self.user(&step.action),
        });
        done.chain(self.decision.notices.iter().map(|notice| News {
            what: What::Seen(*notice),
            user: None,
        }))
    }

    fn user(&self, action: &Action) -> Option<u32> {
        let (candidates, frozen) = (&self.sample.scan.candidates, &self.sample.groups.frozen);
        match action {
            Action::Kill { identity, .. } => self
                .sample
                .scan
                .find(*identity)
                .map(|candidate| candidate.user),
            Action::Group(CgroupAction::Freeze { user, .. }) => Some(*user),
            Action::Group(CgroupAction::Thaw { id, .. }) => {
                frozen.iter().find(|one| one.id == *id).map(|one| one.user)
            }
            Action::Group(cgroup_action) => {
                let inside = candidates.iter().find(|candidate| {
                    candidate
                        .group
                        .is_some_and(|group| group.id == cgroup_action.id())
                });
                inside.map(|candidate| candidate.user)
            }
            _ => None,
        }
    }
}
