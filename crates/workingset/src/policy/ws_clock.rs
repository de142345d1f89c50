//! WSClock: a clock with a hand that evicts a page not used within τ of its process's time.
//!
//! - Rule: the hand clears the bit of a used page and stamps it with the time. It evicts the first
//!   page with now − stamp > τ, and after a whole round the page with the oldest stamp.
//! - Cost: O(1) for each reference, amortised, while there are old pages, and O(c) for each miss
//!   while there are none; 9 B for each page, 4 B for each page of memory.
//! - Source: Carr, Hennessy, SOSP 1981.
//! - Limits: the paper's queue of dirty pages to be cleaned is left out; write-back is the engine's
//!   ([`crate::engine`]).

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<WsClock>(
    "wsclock",
    "a clock that knows the working set",
    "Carr, Hennessy, SOSP 1981",
)
.with(&[(
    "tau",
    0.0,
    "the window, in the trace's time; 0 is eight times the memory",
)]);

const OUT: u8 = 0;
const IN: u8 = 1;
const USED: u8 = 2;

struct WsClock {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    state: Vec<u8>,
    stamp: Vec<u64>,
    tau: u64,
}

impl Policy for WsClock {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let tau = match setup.option("tau") as u64 {
            0 => setup.capacity as u64 * 8,
            tau => tau,
        };
        let pages = setup.pages();
        let ring = Vec::with_capacity(setup.capacity);
        Ok(Self {
            ring,
            capacity: setup.capacity,
            hand: 0,
            state: vec![OUT; pages],
            stamp: vec![0; pages],
            tau,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state = USED;
            return Access::Hit;
        }
        *state = IN;
        self.stamp[page as usize] = now;
        if self.ring.len() < self.capacity {
            self.ring.push(page);
        } else {
            let at = self.victim(now);
            let victim = std::mem::replace(&mut self.ring[at], page);
            self.state[victim as usize] = OUT;
            self.hand = (at + 1) % self.capacity;
            evicted.note(victim);
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}

impl WsClock {
    fn victim(&mut self, now: u64) -> usize {
        let mut best = self.hand;
        let mut oldest = u64::MAX;
        for step in 0..self.capacity {
            let at = (self.hand + step) % self.capacity;
            let page = self.ring[at] as usize;
            if self.state[page] == USED {
                self.state[page] = IN;
                self.stamp[page] = now;
            }
            if now - self.stamp[page] > self.tau {
                return at;
            }
            if self.stamp[page] < oldest {
                best = at;
                oldest = self.stamp[page];
            }
        }
        best
    }
}
