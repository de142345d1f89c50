//! The last decisions of a recording.

use anyhow::Result;
use host::recordings::{Notes, ReadError, Reader};
use pressure::config::Mode;
use pressure::decision::{Action, Decision, Notice, Step};
use pressure::groups::{CgroupAction, Groups};
use pressure::recording::{Entry, Header};
use pressure::sample::Sample;
use pressure::status::Past;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The last decisions of a recording.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) file: PathBuf,
    /// Oldest first.
    pub(crate) past: Vec<Past>,
    /// Flaws of the file that a reader should know of.
    pub(crate) notes: Vec<String>,
}

/// Reads the last `number` decisions in `file` that have a step or a notice.
///
/// A line that cannot be read becomes a note.
///
/// Errors: the file cannot be read.
pub(crate) fn of_recording(file: &Path, number: usize) -> Result<Recorded> {
    let mut reader = Reader::open(file)?;
    let mut last = LastDecisions::new(number);
    let mut notes = Notes::default();
    let mut is_empty = true;
    for entry in &mut reader {
        is_empty = false;
        match entry {
            Ok(entry) => last.take(entry),
            Err(error @ ReadError::Line { .. }) => notes.add(error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    notes.append(reader.notes());
    if is_empty {
        notes.add(format!(
            "{}: the recording is empty: the guard was killed before it wrote",
            file.display()
        ));
    }
    Ok(Recorded {
        file: file.to_owned(),
        past: last.end(),
        notes: notes.lines(),
    })
}

/// The last decisions while a recording is read.
#[derive(Debug)]
pub(crate) struct LastDecisions {
    /// How many are kept.
    number: usize,
    past: VecDeque<Past>,
    news: News,
}

/// Decisions that have something to say, while a recording is read.
#[derive(Debug)]
pub(crate) struct News {
    judge: Judge,
    /// The last sample.
    sample: Sample,
    /// The decision on that sample: the next sample shows whether it was carried out.
    pending: Option<Decision>,
}

/// Tells of each decision of a recording whether it was carried out, and whether it has something to say.
#[derive(Debug)]
pub(crate) struct Judge {
    mode: Mode,
    /// Steps of the decision before.
    proposed: Vec<Action>,
    /// Units are squeezed, which was news: there is a step every few seconds.
    squeezes: bool,
}

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// Whether its steps were carried out.
    pub(crate) done: bool,
    /// Whether it has steps that were not proposed the tick before, or a notice.
    pub(crate) is_news: bool,
}

impl Judge {
    pub(crate) fn new() -> Self {
        Self {
            mode: Mode::Observe,
            proposed: Vec::new(),
            squeezes: false,
        }
    }

    /// Takes the mode from a header.
    pub(crate) fn begin(&mut self, header: &Header) {
        let config = header.config.as_ref();
        self.mode = config.map_or(Mode::Observe, |config| config.mode);
    }

    /// Judges a decision on `sample`; `next` is the sample after it.
    ///
    /// In mode observe the same proposal comes at every tick; it is news once.
    pub(crate) fn judge(
        &mut self,
        decision: &Decision,
        sample: &Sample,
        next: Option<&Sample>,
    ) -> Judgement {
        let acts = self.mode != Mode::Observe && sample.circumstances.read_only != Some(1);
        let done =
            acts && next.is_none_or(|next| decision.steps.iter().any(|step| is_done(step, next)));
        let proposes: Vec<Action> = decision.steps.iter().map(|step| step.action).collect();
        let repeated = !done && targets(&proposes) == targets(&self.proposed);
        let only_squeezes = proposes
            .iter()
            .all(|action| matches!(action, Action::Squeeze { .. }));
        let squeezes_on = only_squeezes && self.squeezes;
        let has_steps = !proposes.is_empty() && !repeated && !squeezes_on;
        self.proposed = proposes;
        let has_notices = decision
            .notices
            .iter()
            .any(|notice| !matches!(notice, Notice::Considered(_) | Notice::Proposed { .. }));
        let is_news = has_steps || has_notices;
        if is_news {
            self.squeezes = has_steps && only_squeezes;
        }
        Judgement { done, is_news }
    }
}

impl LastDecisions {
    /// Keeps the last `number` decisions.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            past: VecDeque::new(),
            news: News::new(),
        }
    }

    /// Takes the next entry of the recording.
    pub(crate) fn take(&mut self, entry: Entry) {
        let news = self.news.take(entry);
        self.keep(news);
    }

    /// The decisions, oldest first.
    pub(crate) fn end(mut self) -> Vec<Past> {
        let news = self.news.end();
        self.keep(news);
        self.past.into()
    }

    fn keep(&mut self, past: Option<Past>) {
        let Some(past) = past.filter(|_| self.number > 0) else {
            return;
        };
        if self.past.len() == self.number {
            self.past.pop_front();
        }
        self.past.push_back(past);
    }
}

impl News {
    pub(crate) fn new() -> Self {
        Self {
            judge: Judge::new(),
            sample: Sample::default(),
            pending: None,
        }
    }

    /// Takes the next entry of the recording. Returns the decision before, if it has something to say.
    pub(crate) fn take(&mut self, entry: Entry) -> Option<Past> {
        match entry {
            Entry::Header(header) => {
                self.judge.begin(&header);
                None
            }
            Entry::Sample(sample) => {
                let news = self.settle(Some(&sample));
                self.sample = *sample;
                news
            }
            Entry::Decision(decision) => {
                self.pending = Some(*decision);
                None
            }
            Entry::Lost(_) => self.settle(None),
        }
    }

    /// The last decision of the recording, if it has something to say.
    pub(crate) fn end(&mut self) -> Option<Past> {
        self.settle(None)
    }

    /// The pending decision, if it has something to say; `next` is the sample after it.
    fn settle(&mut self, next: Option<&Sample>) -> Option<Past> {
        let decision = self.pending.take()?;
        let Judgement { done, is_news } = self.judge.judge(&decision, &self.sample, next);
        if !is_news {
            return None;
        }
        Some(Past {
            at: self.sample.at,
            wall: self.sample.wall,
            phase: decision.phase,
            done,
            steps: decision.steps,
            notices: decision.notices,
        })
    }
}

/// Returns true if the next sample shows that a step was carried out, and for steps that leave no trace in a sample.
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
        Action::Group(action) => is_group_action_done(&action, &next.groups),
        Action::Recall { id, .. } => next
            .groups
            .protected
            .iter()
            .any(|cgroup| cgroup.id == id && cgroup.swapped_before.is_some()),
        Action::Compact { .. }
        | Action::Reclaim { .. }
        | Action::Protect(_)
        | Action::Squeeze { .. } => true,
    }
}

fn is_group_action_done(action: &CgroupAction, groups: &Groups) -> bool {
    let id = action.id();
    let mut protected = groups.protected.iter();
    let mut throttled = groups.throttled.iter();
    let mut frozen = groups.frozen.iter();
    let is_protected = protected.any(|one| one.id == id && one.ours.is_some());
    let is_throttled = throttled.any(|one| one.id == id);
    let is_frozen = frozen.any(|one| one.id == id && one.is_frozen());
    match action {
        CgroupAction::Keep { .. } => is_protected,
        CgroupAction::Leave { .. } => !is_protected,
        CgroupAction::Throttle { .. } => is_throttled,
        CgroupAction::Free { .. } => !is_throttled,
        CgroupAction::Freeze { .. } => is_frozen,
        CgroupAction::Thaw { .. } => !is_frozen,
    }
}

/// What the actions change, without the numbers, which differ from tick to tick.
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

    fn two_last(mode: Mode) -> LastDecisions {
        let mut last = LastDecisions::new(2);
        last.news.judge.mode = mode;
        last
    }

    fn done(last: LastDecisions) -> Vec<bool> {
        last.end().iter().map(|past| past.done).collect()
    }

    #[test]
    fn the_next_sample_shows_whether_a_step_was_carried_out() {
        let mut carried_out = two_last(Mode::Tune);
        for entry in [sample(None), decision(143), sample(Some(143))] {
            carried_out.take(entry);
        }
        assert_eq!(done(carried_out), [true]);
        let mut refused = two_last(Mode::Tune);
        for entry in [sample(None), decision(143), sample(None)] {
            refused.take(entry);
        }
        assert_eq!(done(refused), [false]);
    }

    #[test]
    fn a_proposal_that_comes_at_every_tick_is_kept_once() {
        let mut last = two_last(Mode::Observe);
        for to in 100..120 {
            last.take(sample(None));
            last.take(decision(to));
        }
        assert_eq!(done(last), [false]);
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
        let mut last = two_last(Mode::Observe);
        for count in 0..5 {
            let mut decision = example::decision();
            decision.notices.push(Notice::OomKill { count });
            last.take(Entry::Decision(Box::new(decision)));
            last.take(sample(None));
        }
        let kept: Vec<_> = last.end().into_iter().map(|past| past.notices[0]).collect();
        assert_eq!(
            kept,
            [Notice::OomKill { count: 3 }, Notice::OomKill { count: 4 }]
        );
    }
}
