//! FIFO: the page that came first goes first, used or not.
//!
//! - Law: evict argmin over resident p of load(p).
//! - Cost: O(1) for each reference, 1 B for each page and 4 B for each page of memory.
//! - Source: Belady, IBM Systems Journal 5(2), 1966.
//! - Limits: more memory may mean more misses (Belady, Nelson, Shedler, CACM 12(6), 1969): `1,2,3,4,1,2,5,1,2,3,4,5`
//!   misses 9 times with 3 pages and 10 times with 4.

use super::{Access, Gone, Policy, Room, Spec};
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Fifo>(
    "fifo",
    "first in, first out",
    "Belady, IBM Systems Journal 5(2), 1966",
);

struct Fifo {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    resident: Vec<bool>,
}

impl Policy for Fifo {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let ring = Vec::with_capacity(room.capacity);
        Ok(Self {
            ring,
            capacity: room.capacity,
            hand: 0,
            resident: vec![false; room.pages()],
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        let hit = self.resident[page as usize];
        if self.ring.len() < self.capacity {
            self.resident[page as usize] = true;
            if !hit {
                self.ring.push(page);
            }
            return if hit { Access::Hit } else { Access::Miss };
        }
        // Without a branch, which nothing could foretell: a hit writes what is there already.
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
        gone.gone(oldest);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}
