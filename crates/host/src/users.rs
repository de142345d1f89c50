//! People who can be asked what becomes of a unit that was stopped: between the loop and whoever talks to them.
//!
//! The loop never waits for it: while someone else has it, what was known stays.

use arrayvec::ArrayVec;
use pressure::groups::{Answer, MAX_FROZEN, MAX_USERS};
use std::sync::{Mutex, PoisonError};

/// Answers between two looks: of each unit's user, and of root.
const MOST: usize = 2 * MAX_FROZEN;

/// Who can be asked, and what was answered.
#[derive(Debug, Default)]
pub struct Users {
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    users: ArrayVec<u32, MAX_USERS>,
    answers: ArrayVec<Said, MOST>,
}

/// What a user has said about a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
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

    /// A user who was asked has answered about the unit of this inode. Whether the user may is seen to where the unit is
    /// known.
    pub fn answer(&self, id: u64, user: u32, answer: Answer) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard
            .answers
            .retain(|said| (said.id, said.user) != (id, user));
        if heard.answers.is_full() {
            // What was asked long ago.
            heard.answers.remove(0);
        }
        heard.answers.push(Said { id, user, answer });
    }

    /// Puts who can be asked into `users`, and takes what was answered. Nothing changes while someone else looks.
    pub(crate) fn take(&self, users: &mut Vec<u32>) -> ArrayVec<Said, MOST> {
        let Ok(mut heard) = self.heard.try_lock() else {
            return ArrayVec::new();
        };
        users.clear();
        users.extend(heard.users.iter().copied());
        std::mem::take(&mut heard.answers)
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
