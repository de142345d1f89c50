//! The last decisions of a recording.

use anyhow::Result;
use host::recordings::{ReadError, Reader};
use pressure::config::Mode;
use pressure::decision::{Action, Decision, Notice, Step};
use pressure::groups::{CgroupAction, Protected};
use pressure::recording::Entry;
use pressure::sample::Sample;
use pressure::status::Past;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What a recording tells of the past.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) file: PathBuf,
    /// Oldest first.
    pub(crate) past: Vec<Past>,
    /// What should be known of the file.
    pub(crate) notes: Vec<String>,
}

/// The last `number` decisions in `file` that did or said something.
///
/// A line that cannot be read is a note; a file that cannot be is an error.
pub(crate) fn of_recording(file: &Path, number: usize) -> Result<Recorded> {
    let mut reader = Reader::open(file)?;
    let mut memory = Memory::new(number);
    let mut notes = Vec::new();
    let mut is_empty = true;
    for entry in &mut reader {
        is_empty = false;
        match entry {
            Ok(entry) => memory.take(entry),
            Err(error @ ReadError::Line { .. }) => notes.push(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    notes.extend_from_slice(reader.notes());
    if is_empty {
        notes.push(format!(
            "{}: nothing is in it: the guard was killed before it wrote",
            file.display()
        ));
    }
    Ok(Recorded {
        file: file.to_owned(),
        past: memory.end(),
        notes,
    })
}

/// The last entries, and a decision whose effect is not yet seen.
#[derive(Debug)]
pub(crate) struct Memory {
    number: usize,
    past: VecDeque<Past>,
    mode: Mode,
    sample: Sample,
    pending: Option<Decision>,
    /// What the last decision proposed.
    proposed: Vec<Action>,
}

impl Memory {
    pub(crate) fn new(number: usize) -> Self {
        let (past, sample) = (VecDeque::new(), Sample::default());
        Self {
            number,
            past,
            mode: Mode::Observe,
            sample,
            pending: None,
            proposed: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Header(header) => {
                self.mode = header.config.map_or(Mode::Observe, |config| config.mode);
            }
            Entry::Sample(sample) => {
                self.settle(Some(&sample));
                self.sample = *sample;
            }
            Entry::Decision(decision) => self.pending = Some(*decision),
            Entry::Lost(_) => self.settle(None),
        }
    }

    pub(crate) fn end(mut self) -> Vec<Past> {
        self.settle(None);
        self.past.into()
    }

    /// Remembers the pending decision; `next` is the sample after it.
    ///
    /// While only observing, the same proposal comes at every tick; it is remembered once.
    fn settle(&mut self, next: Option<&Sample>) {
        let Some(decision) = self.pending.take() else {
            return;
        };
        let acts = self.mode != Mode::Observe && self.sample.circumstances.read_only != Some(1);
        let done =
            acts && next.is_none_or(|next| decision.steps.iter().any(|step| is_done(step, next)));
        let proposes: Vec<Action> = decision.steps.iter().map(|step| step.action).collect();
        let repeated = !done && targets(&proposes) == targets(&self.proposed);
        let counted = |notice: &Notice| !matches!(notice, Notice::Considered(_));
        let news =
            decision.notices.iter().any(counted) || (!decision.steps.is_empty() && !repeated);
        self.proposed = proposes;
        if !news || self.number == 0 {
            return;
        }
        if self.past.len() == self.number {
            self.past.pop_front();
        }
        let Decision {
            phase,
            steps,
            notices,
            ..
        } = decision;
        self.past.push_back(Past {
            at: self.sample.at,
            wall: self.sample.wall,
            phase,
            done,
            steps,
            notices,
        });
    }
}

/// Whether the sample after a step shows that it was carried out; what leaves no trace is taken as done.
fn is_done(step: &Step, next: &Sample) -> bool {
    match step.action {
        Action::Set { knob, to, .. } => next.knobs.ours.of(knob) == Some(to),
        Action::PutBack { knob, .. } => next.knobs.ours.of(knob).is_none(),
        Action::Kill {
            identity, signal, ..
        } => next
            .scan
            .victims
            .iter()
            .any(|victim| victim.identity == identity && victim.signal == signal),
        Action::Group(cgroup_action) => {
            let groups = &next.groups;
            let (id, kept) = (cgroup_action.id(), |cgroup: &Protected| {
                cgroup.id == cgroup_action.id() && cgroup.ours.is_some()
            });
            match cgroup_action {
                CgroupAction::Keep { .. } => groups.protected.iter().any(kept),
                CgroupAction::Leave { .. } => !groups.protected.iter().any(kept),
                CgroupAction::Throttle { .. } => groups.throttled.iter().any(|one| one.id == id),
                CgroupAction::Freeze { .. } => groups
                    .frozen
                    .iter()
                    .any(|one| one.id == id && one.is_frozen()),
                CgroupAction::Thaw { .. } => groups
                    .frozen
                    .iter()
                    .all(|one| one.id != id || !one.is_frozen()),
                CgroupAction::Free { .. } => groups.throttled.iter().all(|one| one.id != id),
            }
        }
        Action::Recall { id, .. } => next
            .groups
            .protected
            .iter()
            .any(|cgroup| cgroup.id == id && cgroup.swapped_before.is_some()),
        Action::Compact { .. } | Action::Reclaim { .. } | Action::Protect(_) => true,
    }
}

/// What is changed, without the numbers, which change from tick to tick.
fn targets(actions: &[Action]) -> Vec<impl PartialEq + use<>> {
    actions.iter().map(Action::target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use pressure::decision::{Notice, Reason};
    use pressure::knob::Knob;
    use units::Span;

    const KNOB: Knob = Knob::WatermarkScaleFactor;

    fn decision(to: u64) -> Entry {
        let mut decision = example::decision();
        let action = Action::Set {
            knob: KNOB,
            from: 10,
            to,
        };
        decision.steps.push(Step {
            action,
            why: Reason::Quiet {
                calm: Span::secs(1),
            },
        });
        Entry::Decision(Box::new(decision))
    }

    fn sample(ours: Option<u64>) -> Entry {
        let mut sample = Sample::default();
        sample.knobs.ours.put(KNOB, ours);
        Entry::Sample(Box::new(sample))
    }

    fn memory(mode: Mode) -> Memory {
        Memory {
            mode,
            ..Memory::new(2)
        }
    }

    fn done(memory: Memory) -> Vec<bool> {
        memory.end().iter().map(|past| past.done).collect()
    }

    #[test]
    fn the_sample_after_tells_whether_a_step_was_carried_out() {
        let mut carried_out = memory(Mode::Tune);
        [sample(None), decision(143), sample(Some(143))]
            .into_iter()
            .for_each(|entry| carried_out.take(entry));
        assert_eq!(done(carried_out), [true]);
        let mut refused = memory(Mode::Tune);
        [sample(None), decision(143), sample(None)]
            .into_iter()
            .for_each(|entry| refused.take(entry));
        assert_eq!(done(refused), [false]);
    }

    #[test]
    fn a_proposal_that_comes_at_every_tick_is_told_once() {
        let mut memory = memory(Mode::Observe);
        for to in 100..120 {
            memory.take(sample(None));
            memory.take(decision(to));
        }
        assert_eq!(done(memory), [false]);
    }

    #[test]
    fn an_empty_recording_is_not_taken_for_a_quiet_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let recorded = of_recording(file.path(), 1).unwrap();
        assert!(recorded.past.is_empty());
        assert!(
            recorded.notes[0].ends_with("the guard was killed before it wrote"),
            "{:?}",
            recorded.notes
        );
    }

    #[test]
    fn only_the_last_are_kept_and_notices_are_always_news() {
        let mut memory = memory(Mode::Observe);
        for count in 0..5 {
            let mut decision = example::decision();
            decision.notices.push(Notice::OomKill { count });
            memory.take(Entry::Decision(Box::new(decision)));
            memory.take(sample(None));
        }
        let kept: Vec<_> = memory
            .end()
            .into_iter()
            .map(|past| past.notices[0])
            .collect();
        assert_eq!(
            kept,
            [Notice::OomKill { count: 3 }, Notice::OomKill { count: 4 }]
        );
    }
}
