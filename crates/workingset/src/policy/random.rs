//! Random: any page goes.
//!
//! - Law: evict each resident page with probability 1/c.
//! - Cost: O(1), 4 B for each page and 4 B for each page of memory.
//! - Source: Belady, IBM Systems Journal 5(2), 1966.
//! - Limits: `seed` decides; one run is one draw.

use super::{Access, Gone, Policy, Room, Spec};
use crate::dice::Dice;
use crate::{Error, NONE, Page};

pub(super) const SPEC: Spec = Spec::of::<Random>(
    "random",
    "any page goes, by a seeded draw",
    "Belady, IBM Systems Journal 5(2), 1966",
)
.with(&[("seed", 1.0, "of the draws")]);

struct Random {
    frames: Vec<Page>,
    capacity: usize,
    frame: Vec<u32>,
    dice: Dice,
}

impl Policy for Random {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let dice = Dice::new(room.option("seed") as u64);
        Ok(Self {
            frames: Vec::new(),
            capacity: room.capacity,
            frame: vec![NONE; room.pages()],
            dice,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        if self.frame[page as usize] != NONE {
            return Access::Hit;
        }
        if self.frames.len() < self.capacity {
            self.frame[page as usize] = self.frames.len() as u32;
            self.frames.push(page);
        } else {
            let at = self.dice.below(self.capacity as u64) as usize;
            let victim = std::mem::replace(&mut self.frames[at], page);
            self.frame[victim as usize] = NONE;
            self.frame[page as usize] = at as u32;
            gone.gone(victim);
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.frames.len()
    }
}
