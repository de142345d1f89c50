//! Knobs: settings of the kernel that the guard drives, and programs that drive the same ones.
//!
//! A knob is set in this order: the value is in its range, the knob still is what the decision saw, the undo log is on
//! the medium, the value is written. A knob that refuses is reported once and given up; the rest goes on.

pub(crate) mod rivals;

use crate::applied::Applied;
use crate::error::Error;
use crate::undo::{Change, Held, Places, Restored, UndoLog, read_number, write_number};
use pressure::decision::Action;
use pressure::knob::{COUNT, KNOBS, Knob, KnobStates, KnobValues};

/// The knobs of a guard that may act.
#[derive(Debug)]
pub(crate) struct Knobs {
    places: Places,
    given_up: [bool; COUNT],
    /// Knobs that another program has set after us, with what we had set: that program's until the guard ends.
    yielded: KnobValues,
    found: KnobValues,
    warnings: Vec<String>,
}

impl Knobs {
    pub(crate) fn at(places: &Places) -> Self {
        Self {
            places: places.clone(),
            given_up: [false; COUNT],
            yielded: KnobValues::default(),
            found: KnobValues::default(),
            warnings: Vec::new(),
        }
    }

    /// Fills in what was found and what is ours, hides knobs that were given up, and lets go of those that another
    /// program has set.
    pub(crate) fn observe(&mut self, knobs: &mut KnobStates, log: &mut UndoLog) {
        for spec in KNOBS {
            let knob = spec.knob;
            let now = knobs.now.of(knob);
            match log.held(knob) {
                Some(held) => {
                    knobs.ours.put(knob, Some(held.ours));
                    if now.is_some_and(|now| now != held.ours) {
                        self.yielded.put(knob, Some(held.ours));
                        self.leave_to_others(knob, log);
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

    /// Sets a knob or puts it back. A knob that refuses is given up.
    pub(crate) fn apply(&mut self, action: &Action, log: &mut UndoLog) -> Applied {
        let done = match *action {
            Action::Set { knob, from, to } => self.set(knob, from, to, log),
            Action::PutBack { knob, .. } => self.put_back(knob, log).map(|_| Applied::PutBack),
            _ => return Applied::Dropped,
        };
        done.unwrap_or_else(|error| {
            if let Some(knob) = action.knob() {
                self.given_up[knob as usize] = true;
            }
            Applied::refused(error)
        })
    }

    fn set(&mut self, knob: Knob, from: u64, to: u64, log: &mut UndoLog) -> Result<Applied, Error> {
        let path = self.places.knob(knob);
        let range = &knob.spec().range;
        if !range.contains(&to) {
            let why = format!(
                "{to} is out of bounds ({} to {})",
                range.start(),
                range.end()
            );
            return Err(Error::refused(&path, why));
        }
        match read_number(&path)? {
            None => return Err(Error::refused(&path, "it is gone")),
            // The next sample shows that it is another program's.
            Some(now) if now != from => return Ok(Applied::Overtaken),
            Some(_) => {}
        }
        let before = log.held(knob);
        let held = Held {
            found: before.map_or(from, |held| held.found),
            ours: to,
            before: before.map_or(from, |held| held.ours),
        };
        log.set(knob, Some(held))?;
        match write_number(&self.places, knob, to) {
            Ok(()) => Ok(Applied::Written),
            Err(error) => {
                // The write did not happen, so the log goes back to what it said.
                let _ = log.set(knob, before);
                Err(error)
            }
        }
    }

    /// Puts one knob back if it is still ours. Returns its value before and the one that was found, if it was held.
    fn put_back(&mut self, knob: Knob, log: &mut UndoLog) -> Result<Option<Change>, Error> {
        let Some(held) = log.held(knob) else {
            return Ok(None);
        };
        let now = read_number(&self.places.knob(knob))?;
        if now == Some(held.ours) {
            write_number(&self.places, knob, held.found)?;
        }
        if now.is_some_and(|now| now != held.ours && now != held.found) {
            self.leave_to_others(knob, log);
        } else {
            self.forget(knob, log);
        }
        let name = knob.spec().name.to_owned();
        Ok(now.map(|now| Change::back(name, now, held.found)))
    }

    /// Puts back every knob that is still ours, and says what became of each. Those that another program has set stay in
    /// the log.
    pub(crate) fn restore(&mut self, log: &mut UndoLog, restored: &mut Restored) {
        for knob in KNOBS.iter().map(|spec| spec.knob) {
            let held = log.held(knob);
            match (held, self.put_back(knob, log)) {
                (Some(held), Ok(Some(change))) if change.from == held.ours => {
                    restored.back.push(change);
                }
                (_, Err(error)) => restored.failed.push(error.to_string()),
                _ => {}
            }
        }
        self.yielded = KnobValues::default();
    }

    fn leave_to_others(&mut self, knob: Knob, log: &mut UndoLog) {
        if let Err(error) = log.yield_knob(knob) {
            self.warnings.push(error.to_string());
        }
    }

    fn forget(&mut self, knob: Knob, log: &mut UndoLog) {
        if let Err(error) = log.set(knob, None) {
            self.warnings.push(error.to_string());
        }
    }

    /// What went wrong with the undo log since the last call.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
