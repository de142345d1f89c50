//! What a turn of the loop has to tell, as data that can be handed to another thread without taking memory.

use host::Outcome;
use pressure::decision::{Action, Notice, Step};
use pressure::groups::Grip;
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
        let (suspects, stopped) = (&self.sample.census.suspects, &self.sample.groups.stopped);
        match action {
            Action::End { who, .. } => self.sample.census.find(*who).map(|suspect| suspect.user),
            Action::Group(Grip::Freeze { user, .. }) => Some(*user),
            Action::Group(Grip::Thaw { id, .. }) => {
                stopped.iter().find(|one| one.id == *id).map(|one| one.user)
            }
            Action::Group(grip) => {
                let inside = suspects
                    .iter()
                    .find(|suspect| suspect.group.is_some_and(|group| group.id == grip.id()));
                inside.map(|suspect| suspect.user)
            }
            _ => None,
        }
    }
}
