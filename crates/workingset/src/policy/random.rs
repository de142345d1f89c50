//! Random: any page is evicted.
//!
//! - Rule: evict each resident page with probability 1/c.
//! - Cost: O(1) for each reference, 4 B for each page and 4 B for each page of memory.
//! - Source: Belady, IBM Systems Journal 5(2), 1966.
//! - Limits: the result depends on `seed`; one run is one sample.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::rng::Rng;
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
    rng: Rng,
}

impl Policy for Random {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let rng = Rng::new(setup.option("seed") as u64);
        Ok(Self {
            frames: Vec::new(),
            capacity: setup.capacity,
            frame: vec![NONE; setup.pages()],
            rng,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        if self.frame[page as usize] != NONE {
            return Access::Hit;
        }
        if self.frames.len() < self.capacity {
            self.frame[page as usize] = self.frames.len() as u32;
            self.frames.push(page);
        } else {
            let at = self.rng.below(self.capacity as u64) as usize;
            let victim = std::mem::replace(&mut self.frames[at], page);
            self.frame[victim as usize] = NONE;
            self.frame[page as usize] = at as u32;
            evicted.note(victim);
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.frames.len()
    }
}
