//! SIEVE: a FIFO in which a hand moves from old to new pages, evicts one that was not used, and
//! leaves the others in place.
//!
//! Unlike CLOCK it does not move a used page to the front. So new pages are examined soon, and old
//! used pages stay.
//!
//! - Rule: the hand clears the bit of a used page and goes on; it evicts the first page with a
//!   clear bit.
//! - Cost: O(1) for each reference, amortised; 9 B for each page.
//! - Source: Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024.
//! - Limits: it does not resist loops that are larger than memory.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
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
    /// The next page to be examined; the oldest if there is none.
    hand: Option<Page>,
    capacity: usize,
}

impl Policy for Sieve {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let pages = setup.pages();
        Ok(Self {
            queue: Links::new(pages),
            state: vec![OUT; pages],
            hand: None,
            capacity: setup.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state = VISITED;
            return Access::Hit;
        }
        *state = IN;
        if self.queue.len(0) == self.capacity {
            self.evict(evicted);
        }
        self.queue.push_front(0, page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.queue.len(0)
    }
}

impl Sieve {
    fn evict(&mut self, evicted: &mut impl Evictions) {
        while let Some(seen) = self.hand.or_else(|| self.queue.back(0)) {
            self.hand = self.queue.towards_front(seen);
            let state = &mut self.state[seen as usize];
            *state -= 1;
            if *state == OUT {
                self.queue.remove(0, seen);
                evicted.note(seen);
                return;
            }
        }
    }
}
