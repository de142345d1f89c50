//! WSClock: a clock whose hand takes a page that was not used within τ of its process's time.
//!
//! - Law: the hand clears a used page's bit and stamps it now; it evicts the first page with now − stamp > τ; after a
//!   whole turn, the page with the oldest stamp.
//! - Cost: O(1) amortised while there are old pages, O(c) where there are none; 9 B for each page, 4 B for each page of
//!   memory.
//! - Source: Carr, Hennessy, SOSP 1981. Its queue of dirty pages to clean is the engine's ([`crate::engine`]).

use super::{Access, Gone, Policy, Room, Spec};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let tau = match room.option("tau") as u64 {
            0 => room.capacity as u64 * 8,
            tau => tau,
        };
        let pages = room.pages();
        let ring = Vec::with_capacity(room.capacity);
        Ok(Self {
            ring,
            capacity: room.capacity,
            hand: 0,
            state: vec![OUT; pages],
            stamp: vec![0; pages],
            tau,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
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
            gone.gone(victim);
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
