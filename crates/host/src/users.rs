//! Questions to users about frozen units, between the loop and the thread that talks to the users.
//!
//! The loop never waits for that thread: while it holds the lock, what was known stays.

mod subordinate;
mod thawer;

pub use subordinate::owner;

use crate::holder;
use arrayvec::ArrayVec;
use pressure::groups::{Answer, MAX_FROZEN, MAX_USERS};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use thawer::Thawer;

/// Answers between two samples: for each frozen unit that of its user and that of root.
const MOST_ANSWERS: usize = 2 * MAX_FROZEN;
/// A thawer that dies is replaced so often. If more die, something kills them, and nothing is frozen any more.
const MOST_THAWERS: u32 = 4;

/// Which users can be asked, and what was answered.
#[derive(Debug, Default)]
pub struct Users {
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    users: ArrayVec<u32, MAX_USERS>,
    answers: ArrayVec<Said, MOST_ANSWERS>,
}

/// What a user has said about a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    /// The inode of the unit's cgroup.
    pub(crate) id: u64,
    pub(crate) user: u32,
    pub(crate) answer: Answer,
}

impl Users {
    /// These users can be asked from now on, and no others; those beyond [`MAX_USERS`] cannot.
    pub fn are(&self, users: impl IntoIterator<Item = u32>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.users = users.into_iter().take(MAX_USERS).collect();
    }

    /// Takes a user's answer about the unit with this cgroup inode. Whether the user may answer is checked where the unit
    /// is known.
    pub fn answer(&self, id: u64, user: u32, answer: Answer) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard
            .answers
            .retain(|said| (said.id, said.user) != (id, user));
        if heard.answers.is_full() {
            // The oldest is of a question long ago.
            heard.answers.remove(0);
        }
        heard.answers.push(Said { id, user, answer });
    }

    /// Puts the users that can be asked into `users`, and takes the answers. Nothing changes while the other thread has
    /// the lock.
    fn take(&self, users: &mut Vec<u32>) -> ArrayVec<Said, MOST_ANSWERS> {
        let Ok(mut heard) = self.heard.try_lock() else {
            return ArrayVec::new();
        };
        users.clear();
        users.extend(heard.users.iter().copied());
        std::mem::take(&mut heard.answers)
    }
}

/// The loop's part: the users, and the process that thaws their units if the guard dies.
#[derive(Debug)]
pub(crate) struct Consultation {
    users: Option<Arc<Users>>,
    thawer: Option<Thawer>,
    /// How many were started.
    thawers: u32,
    run: PathBuf,
    warning: Option<String>,
}

impl Consultation {
    /// Nobody is asked yet.
    pub(crate) fn at(run: &Path) -> Self {
        Self {
            users: None,
            thawer: None,
            thawers: 0,
            run: run.to_owned(),
            warning: None,
        }
    }

    pub(crate) fn ask(&mut self, users: Option<Arc<Users>>) {
        self.users = users;
    }

    /// Puts the users that can be asked into `users`, and returns the answers since the last sample.
    pub(crate) fn observe(&mut self, users: &mut Vec<u32>) -> ArrayVec<Said, MOST_ANSWERS> {
        let answers = match &self.users {
            Some(heard) => heard.take(users),
            None => ArrayVec::new(),
        };
        if self.users.is_some() && !users.is_empty() {
            if let Err(why) = self.see_to_thawing() {
                self.users = None;
                users.clear();
                self.warning = Some(format!("no user is asked: {why}"));
            }
        }
        answers
    }

    /// Starts the process that thaws unless it runs. Without it a unit would stay frozen if the guard died, so nobody is
    /// asked and nothing is frozen then.
    fn see_to_thawing(&mut self) -> Result<(), String> {
        if self.thawer.as_ref().is_some_and(Thawer::is_there) {
            return Ok(());
        }
        // One that died is replaced at once: a unit may be frozen at this moment.
        self.thawer = None;
        self.thawers += 1;
        if self.thawers > MOST_THAWERS {
            return Err(format!(
                "warmset-hold --thaw has ended {MOST_THAWERS} times"
            ));
        }
        let started = Thawer::start(&holder::program(), &self.run);
        self.thawer = Some(started.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Asks nobody any more. Call it when nothing is frozen.
    pub(crate) fn end(&mut self) {
        self.users = None;
        self.thawer = None;
    }

    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_counts_and_each_is_taken_once() {
        let present = Users::default();
        present.are([1000, 1001]);
        present.answer(7, 1000, Answer::GoOn);
        present.answer(7, 1000, Answer::Kill);
        let mut users = Vec::new();
        let said = present.take(&mut users);
        assert_eq!(
            said.as_slice(),
            [Said {
                id: 7,
                user: 1000,
                answer: Answer::Kill
            }]
        );
        assert_eq!(users, [1000, 1001]);
        assert!(present.take(&mut users).is_empty());
        for id in 0..100 {
            present.answer(id, 1000, Answer::Kill);
        }
        assert_eq!(
            present.take(&mut users).last().map(|said| said.id),
            Some(99),
            "the newest is not lost"
        );
        present.are(0..100);
        present.take(&mut users);
        assert_eq!(users.len(), MAX_USERS);
    }
}
