//! CLOCK: FIFO that passes over, once, a page used since the hand was there.
//!
//! A page enters with its bit clear, at the place of the page that leaves.
//!
//! - Cost: O(1) amortised, 1 B for each page and 4 B for each page of memory.
//! - Source: Corbató, "A paging experiment with the Multics system", 1968.
//! - Limits: one bit tells a page used once from one used a thousand times only by luck.

use super::{Access, Gone, Policy, Room, Spec};
use crate::{Error, Page};

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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let ring = Vec::with_capacity(room.capacity);
        Ok(Self {
            ring,
            capacity: room.capacity,
            hand: 0,
            state: vec![OUT; room.pages()],
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
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
                gone.gone(seen);
                return Access::Miss;
            }
        }
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}
