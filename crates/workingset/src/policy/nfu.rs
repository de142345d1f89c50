//! NFU, not frequently used, with aging: eight bits of history for each page, shifted at every
//! tick.
//!
//! - Rule: at a tick `age ← age >> 1 | used << 7`. Evict argmin of (used since the tick, age), the
//!   first that the hand meets.
//! - Cost: O(c) for each tick, and up to O(c) for each miss; 2 B for each page and 4 B for each
//!   page of memory.
//! - Source: Tanenbaum, Modern Operating Systems, 3.4.7. The hardware's bit is read at the tick,
//!   not at the use.
//! - Limits: the order of uses within a tick is not known, nor anything before the last eight
//!   ticks.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Nfu>(
    "nfu",
    "not frequently used, with aging",
    "Tanenbaum, Modern Operating Systems, 3.4.7",
)
.with(&[(
    "tick",
    1.0,
    "references between ticks, as a multiple of memory",
)]);

const OUT: u16 = 0;
const IN: u16 = 1 << 9;
const USED: u16 = 1 << 8;

struct Nfu {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    /// [`IN`], [`USED`] and eight bits of age; [`OUT`] if not in memory.
    state: Vec<u16>,
    tick: u64,
    left: u64,
}

impl Policy for Nfu {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let tick = ((setup.capacity as f64 * setup.option("tick")) as u64).max(1);
        let ring = Vec::with_capacity(setup.capacity);
        Ok(Self {
            ring,
            capacity: setup.capacity,
            hand: 0,
            state: vec![OUT; setup.pages()],
            tick,
            left: tick,
        })
    }

    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        if self.left == 0 {
            self.age();
        }
        self.left -= 1;
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state |= USED;
            return Access::Hit;
        }
        *state = IN | USED;
        if self.ring.len() < self.capacity {
            self.ring.push(page);
        } else {
            let at = self.lowest();
            let victim = std::mem::replace(&mut self.ring[at], page);
            self.state[victim as usize] = OUT;
            evicted.note(victim);
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}

impl Nfu {
    fn age(&mut self) {
        for page in &self.ring {
            let state = &mut self.state[*page as usize];
            *state = IN | (*state & 0x1ff) >> 1;
        }
        self.left = self.tick;
    }

    /// The place of the page of the lowest age. The hand is left behind it.
    fn lowest(&mut self) -> usize {
        let mut best = self.hand;
        let mut lowest = u16::MAX;
        for step in 0..self.capacity {
            let at = (self.hand + step) % self.capacity;
            let state = self.state[self.ring[at] as usize];
            if state < lowest {
                best = at;
                lowest = state;
                if state == IN {
                    break;
                }
            }
        }
        self.hand = (best + 1) % self.capacity;
        best
    }
}
