//! CLOCK: FIFO with a second chance for a page that was used since the hand last passed it.
//!
//! A page enters with its bit clear, in the place of the page that it evicts.
//!
//! - Rule: the hand clears the bit of a used page and goes on; it evicts the first page with a
//!   clear bit.
//! - Cost: O(1) for each reference, amortised; 1 B for each page and 4 B for each page of memory.
//! - Source: Corbató, "A paging experiment with the Multics system", 1968.
//! - Limits: one bit does not tell a page used once from a page used a thousand times.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page, ahead};

pub(super) const SPEC: Spec = Spec::of::<Clock>(
    "clock",
    "FIFO with a second chance for what was used",
    "Corbató, A paging experiment with the Multics system, MIT Project MAC, 1968",
);

const OUT: u8 = 0;
const IN: u8 = 1;
const USED: u8 = 2;

struct Clock {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    state: Vec<u8>,
}

impl Policy for Clock {
    const ENTRY: usize = 1;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let ring = Vec::with_capacity(setup.capacity);
        Ok(Self {
            ring,
            capacity: setup.capacity,
            hand: 0,
            state: vec![OUT; setup.pages()],
        })
    }

    #[inline]
    fn fetch(&self, page: Page) {
        ahead::fetch(&self.state, page as usize);
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state = USED;
            return Access::Hit;
        }
        *state = IN;
        if self.ring.len() < self.capacity {
            self.ring.push(page);
            return Access::Miss;
        }
        loop {
            let at = self.hand;
            self.hand = if at + 1 == self.capacity { 0 } else { at + 1 };
            let seen = self.ring[at];
            let state = &mut self.state[seen as usize];
            *state -= 1;
            if *state == OUT {
                self.ring[at] = page;
                evicted.note(seen);
                return Access::Miss;
            }
        }
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}
