//! FIFO: the page that was loaded first is evicted first, used or not.
//!
//! - Rule: evict argmin over resident p of load(p).
//! - Cost: O(1) for each reference, 1 B for each page and 4 B for each page of memory.
//! - Source: Belady, IBM Systems Journal 5(2), 1966.
//! - Limits: more memory may give more misses (Belady, Nelson, Shedler, CACM 12(6), 1969):
//!   `1,2,3,4,1,2,5,1,2,3,4,5` misses 9 times with 3 pages and 10 times with 4.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page, ahead};

pub(super) const SPEC: Spec = Spec::of::<Fifo>(
    "fifo",
    "first in, first out",
    "Belady, IBM Systems Journal 5(2), 1966",
)
.at_once(super::fifo_sizes::scores);

struct Fifo {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    resident: Vec<bool>,
}

impl Policy for Fifo {
    const ENTRY: usize = 1;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let ring = Vec::with_capacity(setup.capacity);
        Ok(Self {
            ring,
            capacity: setup.capacity,
            hand: 0,
            resident: vec![false; setup.pages()],
        })
    }

    #[inline]
    fn fetch(&self, page: Page) {
        ahead::fetch(&self.resident, page as usize);
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let hit = self.resident[page as usize];
        if self.ring.len() < self.capacity {
            self.resident[page as usize] = true;
            if !hit {
                self.ring.push(page);
            }
            return if hit { Access::Hit } else { Access::Miss };
        }
        // Without a branch on the hit, which the processor could not predict: a hit writes back
        // what is there.
        let oldest = self.ring[self.hand];
        self.ring[self.hand] = if hit { oldest } else { page };
        self.resident[oldest as usize] = hit;
        self.resident[page as usize] = true;
        let next = if self.hand + 1 == self.capacity {
            0
        } else {
            self.hand + 1
        };
        self.hand = if hit { self.hand } else { next };
        if hit {
            return Access::Hit;
        }
        evicted.note(oldest);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}
