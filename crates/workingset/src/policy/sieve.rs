//! SIEVE: a FIFO in which a hand moves from old to new, passes over what was used, and leaves it where it is.
//!
//! Unlike CLOCK, what is passed over is not moved to the front, so new pages are judged soon and old used ones stay.
//!
//! - Cost: O(1) amortised, 9 B for each page.
//! - Source: Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024.
//! - Limits: until the hand first comes round it is LFU with FIFO among equals; not scan resistant for loops.

use super::{Access, Gone, Policy, Room, Spec};
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Sieve>(
    "sieve",
    "a hand sifts a FIFO and moves nothing",
    "Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024",
);

const OUT: u8 = 0;
const IN: u8 = 1;
const VISITED: u8 = 2;

struct Sieve {
    queue: Links<1>,
    state: Vec<u8>,
    /// The next to be judged; the oldest if there is none.
    hand: Option<Page>,
    capacity: usize,
}

impl Policy for Sieve {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let pages = room.pages();
        Ok(Self {
            queue: Links::new(pages),
            state: vec![OUT; pages],
            hand: None,
            capacity: room.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state = VISITED;
            return Access::Hit;
        }
        *state = IN;
        if self.queue.len(0) == self.capacity {
            self.evict(gone);
        }
        self.queue.push_front(0, page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.queue.len(0)
    }
}

impl Sieve {
    fn evict(&mut self, gone: &mut impl Gone) {
        while let Some(seen) = self.hand.or_else(|| self.queue.back(0)) {
            self.hand = self.queue.towards_front(seen);
            let state = &mut self.state[seen as usize];
            *state -= 1;
            if *state == OUT {
                self.queue.remove(0, seen);
                gone.gone(seen);
                return;
            }
        }
    }
}
