//! People who can be asked what becomes of a unit that was stopped: between the loop and whoever talks to them.
//!
//! The loop never waits for it: while someone else has it, what was known stays.

use arrayvec::ArrayVec;
use pressure::groups::{Answer, MAX_PEOPLE, MAX_STOPPED};
use std::sync::{Mutex, PoisonError};

/// Answers between two looks: of each unit's user, and of root.
const MOST: usize = 2 * MAX_STOPPED;

/// Who can be asked, and what was answered.
#[derive(Debug, Default)]
pub struct People {
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    users: ArrayVec<u32, MAX_PEOPLE>,
    answers: ArrayVec<Said, MOST>,
}

/// What a user has said about a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) id: u64,
    pub(crate) user: u32,
    pub(crate) answer: Answer,
}

impl People {
    /// These users can be asked from now on, and no others; those beyond [`MAX_PEOPLE`] cannot.
    pub fn are(&self, users: impl IntoIterator<Item = u32>) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.users = users.into_iter().take(MAX_PEOPLE).collect();
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
        let people = People::default();
        people.are([1000, 1001]);
        people.answer(7, 1000, Answer::GoOn);
        people.answer(7, 1000, Answer::End);
        let mut users = Vec::new();
        let said = people.take(&mut users);
        assert_eq!(
            said.as_slice(),
            [Said {
                id: 7,
                user: 1000,
                answer: Answer::End
            }]
        );
        assert_eq!(users, [1000, 1001]);
        assert!(people.take(&mut users).is_empty());
        for id in 0..100 {
            people.answer(id, 1000, Answer::End);
        }
        assert_eq!(
            people.take(&mut users).last().map(|said| said.id),
            Some(99),
            "the newest is not lost"
        );
        people.are(0..100);
        people.take(&mut users);
        assert_eq!(users.len(), MAX_PEOPLE);
    }
}
