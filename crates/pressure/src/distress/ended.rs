//! Families that were ended lately: one that comes again has something that starts it.

use crate::scan::{Family, MAX_VICTIMS, Name, Victim};
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};
use units::Span;

/// A family that comes so soon after its end is started by the same thing. Longer takes the next job of
/// a queue for the one before; shorter lets a loop that sleeps go on.
const AGAIN: Span = Span::secs(60);

/// A family that was signalled whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ended {
    kin: u32,
    name: Name,
    at: Span,
}

/// Those that were ended lately, the last one last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EndedFamilies(ArrayVec<Ended, MAX_VICTIMS>);

impl EndedFamilies {
    /// Takes in what was signalled by this sample. Allocates nothing.
    pub(super) fn push(&mut self, victims: &[Victim], now: Span) {
        self.0.retain(|ended| since(ended.at, now) <= AGAIN);
        for victim in victims.iter().filter(|victim| victim.kin != 0) {
            self.0
                .retain(|ended| ended.kin != victim.kin || ended.name != victim.name);
            if self.0.is_full() {
                self.0.remove(0);
            }
            self.0.push(Ended {
                kin: victim.kin,
                name: victim.name,
                at: victim.at,
            });
        }
    }

    /// Time since this family was last ended, lately; `None` if it was not.
    pub(super) fn since(&self, family: &Family, now: Span) -> Option<Span> {
        let mut all = self.0.iter();
        let ended = all.find(|ended| ended.kin == family.kin && ended.name == family.name)?;
        Some(since(ended.at, now))
    }
}

fn since(then: Span, now: Span) -> Span {
    Span::new(now.get().saturating_sub(then.get()))
}
