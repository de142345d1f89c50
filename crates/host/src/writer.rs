//! Writing: the only place that changes the machine.
//!
//! A knob is set in this order: it is in range, it still is what the decision saw, the undo log has it on
//! the medium, it is written. A knob that refuses is reported once and given up; the rest goes on. On
//! drop, everything that is still ours is put back.

use crate::error::Error;
use crate::groups::Groups;
use crate::procs::Directory;
use crate::undo::{Change, Held, Places, Restored, UndoLog, boot_id, read_number, write_number};
use crate::users::Said;
use crate::worker::{Job, Worker};
use pressure::Sample;
use pressure::decision::{Action, Decision, MAX_STEPS, Step};
use pressure::knob::{COUNT, KNOBS, Knob, KnobStates, KnobValues};

/// What this run may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// Only look; the text says why.
    Observe(String),
    /// Drive knobs too.
    Act,
}

/// What came of a decision's steps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Knobs set.
    pub written: u64,
    /// Knobs put back.
    pub put_back: u64,
    /// Steps that could not be carried out.
    pub refused: u64,
    /// Compactions handed to the worker.
    pub compactions: u64,
    /// Reclaims handed to the worker.
    pub reclaims: u64,
    /// Processes asked to end.
    pub asked: u64,
    /// Processes killed.
    pub killed: u64,
    /// Signals that could not be sent.
    pub missed: u64,
    /// Acts of protection handed to the process that locks.
    pub protected: u64,
    /// Limits of control groups set or put back.
    pub cgroup_actions: u64,
    /// Which ends and grips were carried out: a bit for each step of the decision.
    pub done: u16,
}

impl Outcome {
    /// Whether the step at this place, an end or a grip, was carried out.
    pub fn has_done(&self, step: usize) -> bool {
        self.done & (1 << step) != 0
    }

    /// Whether the step at this place was carried out, as far as is known: of other than ends and grips it is not told.
    pub fn seems_done(&self, decision: &Decision, step: usize) -> bool {
        let is_told = |step: &Step| matches!(step.action, Action::Kill { .. } | Action::Group(_));
        !decision.steps.get(step).is_some_and(is_told) || self.has_done(step)
    }

    /// With this step carried out.
    #[must_use]
    pub fn doing(self, step: usize) -> Self {
        Self {
            done: self.done | 1 << step,
            ..self
        }
    }
}

const _: () = assert!(MAX_STEPS <= u16::BITS as usize);

/// The hands of a guard that may act.
#[derive(Debug)]
pub(crate) struct KnobWriter {
    places: Places,
    log: UndoLog,
    given_up: [bool; COUNT],
    /// Knobs that someone else set after us: theirs, and shown as such until we end.
    yielded: KnobValues,
    found: KnobValues,
    warnings: Vec<String>,
    groups: Groups,
}

impl KnobWriter {
    pub(crate) fn open(places: &Places) -> Result<Self, Error> {
        let log = UndoLog::open(places, &boot_id(&places.root)?)?;
        let (found, yielded) = (KnobValues::default(), KnobValues::default());
        let groups = Groups::at(&places.root);
        Ok(Self {
            places: places.clone(),
            log,
            given_up: [false; COUNT],
            yielded,
            found,
            warnings: Vec::new(),
            groups,
        })
    }

    /// Fills in what was found and what is ours, hides knobs that were given up, and lets go of those that
    /// someone else has set.
    pub(crate) fn note(&mut self, knobs: &mut KnobStates) {
        for spec in KNOBS {
            let knob = spec.knob;
            let now = knobs.now.of(knob);
            match self.log.held(knob) {
                Some(held) => {
                    knobs.ours.put(knob, Some(held.ours));
                    if now.is_some_and(|now| now != held.ours) {
                        self.yielded.put(knob, Some(held.ours));
                        self.forget(knob);
                    }
                }
                None => {
                    knobs.ours.put(knob, self.yielded.of(knob));
                    self.found.put(knob, now);
                }
            }
            knobs.found.put(knob, self.found.of(knob));
            if self.given_up[knob as usize] {
                knobs.now.put(knob, None);
            }
        }
    }

    /// Whose memory is to stay, from the next sample on.
    pub(crate) fn cgroup(&mut self, units: &[String]) {
        self.groups.cgroup(units);
    }

    /// Takes what a person has said about a unit that was stopped.
    pub(crate) fn answered(&mut self, said: Said) {
        self.groups.answered(said.id, said.user, said.answer);
    }

    /// Reads the control groups that we look after into the sample.
    pub(crate) fn look(&mut self, sample: &mut Sample) {
        self.groups.look(sample, &mut self.log);
    }

    /// Sets limits of control groups, and puts them back; `unit` finds the folder of a suspect's unit.
    pub(crate) fn cgroup_action(
        &mut self,
        decision: &Decision,
        mut outcome: Outcome,
        unit: &dyn Fn(u64) -> Option<Directory>,
    ) -> Outcome {
        for (place, step) in decision.steps.iter().enumerate() {
            let Action::Group(cgroup_action) = &step.action else {
                continue;
            };
            match self
                .groups
                .cgroup_action(cgroup_action, &mut self.log, unit)
            {
                Ok(()) => {
                    outcome = Outcome {
                        cgroup_actions: outcome.cgroup_actions + 1,
                        ..outcome.doing(place)
                    }
                }
                Err(error) => {
                    outcome.refused += 1;
                    self.give_up(None, &error);
                }
            }
        }
        outcome
    }

    /// Carries out the steps of a decision.
    pub(crate) fn act(
        &mut self,
        decision: &Decision,
        mut outcome: Outcome,
        worker: &Worker,
    ) -> Outcome {
        for step in &decision.steps {
            let done = match step.action {
                Action::Set { knob, from, to } => {
                    self.set(knob, from, to).map(|()| outcome.written += 1)
                }
                Action::PutBack { knob, .. } => self.put_back(knob).map(|_| outcome.put_back += 1),
                Action::Compact { node } => {
                    outcome.compactions += u64::from(worker.ask(Job::Compact(node)));
                    Ok(())
                }
                Action::Reclaim { node, amount } => {
                    outcome.reclaims += u64::from(worker.ask(Job::Reclaim(node, amount)));
                    Ok(())
                }
                Action::Recall { id, amount, .. } => {
                    let job = self
                        .groups
                        .directory(id)
                        .map(|group| Job::Recall(group.to_owned(), amount));
                    if job.is_some_and(|job| worker.ask(job)) {
                        self.groups.recalled(id);
                    }
                    Ok(())
                }
                // No file's affair: the machine sees to it, or the process that locks.
                Action::Kill { .. } | Action::Protect(_) | Action::Group(_) => Ok(()),
            };
            if let Err((knob, error)) = done.map_err(|error| (step.action.knob(), error)) {
                outcome.refused += 1;
                self.give_up(knob, &error);
            }
        }
        outcome
    }

    fn set(&mut self, knob: Knob, from: u64, to: u64) -> Result<(), Error> {
        let path = self.places.knob(knob);
        let other = |why: String| Error::unreadable(&path, std::io::Error::other(why));
        if !knob.spec().range.contains(&to) {
            return Err(other(format!("{to} is out of bounds")));
        }
        match read_number(&path)? {
            None => return Err(other("it is gone".to_owned())),
            // Someone was faster; the next sample shows whose it is.
            Some(now) if now != from => return Ok(()),
            Some(_) => {}
        }
        let before = self.log.held(knob);
        let found = before.map_or(from, |held| held.found);
        self.log.set(
            knob,
            Some(Held {
                found,
                ours: to,
                before: before.map_or(from, |held| held.ours),
            }),
        )?;
        write_number(&path, to).inspect_err(|_| {
            // The write did not happen, so the log goes back to what it said.
            let _ = self.log.set(knob, before);
        })
    }

    /// Puts one knob back if it is still ours; says what was done.
    fn put_back(&mut self, knob: Knob) -> Result<Option<Change>, Error> {
        let Some(held) = self.log.held(knob) else {
            return Ok(None);
        };
        let path = self.places.knob(knob);
        let now = read_number(&path)?;
        if now == Some(held.ours) {
            write_number(&path, held.found)?;
        }
        self.forget(knob);
        Ok(now.map(|now| Change {
            knob: knob.spec().name.to_owned(),
            from: now,
            to: held.found,
        }))
    }

    /// Puts back everything that is still ours, and tells.
    pub(crate) fn put_everything_back(&mut self) -> Restored {
        let mut restored = Restored::default();
        self.groups
            .put_everything_back(&mut self.log, &mut restored);
        for knob in KNOBS.iter().map(|spec| spec.knob) {
            let held = self.log.held(knob);
            match (held, self.put_back(knob)) {
                (Some(held), Ok(Some(change))) if change.from == held.ours => {
                    restored.back.push(change);
                }
                (Some(held), Ok(Some(change))) => {
                    restored.left_alone.push(Change {
                        from: held.ours,
                        to: change.from,
                        ..change
                    });
                }
                (_, Err(error)) => restored.notes.push(format!("not put back: {error}")),
                _ => {}
            }
            if let Some((ours, now)) = self
                .yielded
                .of(knob)
                .zip(read_number(&self.places.knob(knob)).ok().flatten())
            {
                restored.left_alone.push(Change {
                    knob: knob.spec().name.to_owned(),
                    from: ours,
                    to: now,
                });
                self.yielded.put(knob, None);
            }
        }
        restored
    }

    fn forget(&mut self, knob: Knob) {
        if let Err(error) = self.log.set(knob, None) {
            self.warnings.push(error.to_string());
        }
    }

    fn give_up(&mut self, knob: Option<Knob>, error: &Error) {
        if let Some(knob) = knob {
            self.given_up[knob as usize] = true;
        }
        self.warnings.push(format!("given up: {error}"));
    }

    /// What went wrong since the last call.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

impl Drop for KnobWriter {
    fn drop(&mut self) {
        self.put_everything_back();
    }
}
