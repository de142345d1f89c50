//! CLOCK-Pro: LIRS on one clock with three hands, made for virtual memory, where a hit only sets a
//! bit.
//!
//! A page is hot, or cold and in memory, or cold and remembered (in its test period). The cold hand
//! evicts, the hot hand turns hot pages cold, the test hand ends test periods. A page that is used
//! in its test period becomes hot, and the target for cold pages grows. A test period that ends
//! without a use makes the target smaller.
//!
//! - Rule: as above; at most as many pages are remembered as memory holds.
//! - Cost: O(1) for each reference, amortised; 9 B for each page.
//! - Source: Jiang, Chen, Zhang, USENIX ATC 2005, in its simple form: a new page enters before the
//!   hot hand.
//! - Limits: the paper leaves details open. Published programs differ from each other by some per
//!   cent of misses.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<ClockPro>(
    "clockpro",
    "LIRS on a clock with three hands",
    "Jiang, Chen, Zhang, USENIX ATC 2005",
);

const NOWHERE: u8 = 0;
const HOT: u8 = 1;
const COLD: u8 = 2;
const TEST: u8 = 3;
const USED: u8 = 0x80;

#[derive(Clone, Copy)]
enum Hand {
    Hot,
    Cold,
    Test,
}

struct ClockPro {
    ring: Links<1>,
    state: Vec<u8>,
    /// The page that each [`Hand`] is at; without meaning while the ring is empty.
    hands: [Page; 3],
    /// Pages by kind.
    count: [usize; 4],
    /// The target for cold pages in memory.
    cold: usize,
    capacity: usize,
}

impl Policy for ClockPro {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let pages = setup.pages();
        Ok(Self {
            ring: Links::new(pages),
            state: vec![NOWHERE; pages],
            hands: [0; 3],
            count: [0; 4],
            cold: setup.capacity,
            capacity: setup.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        match *state & !USED {
            HOT | COLD => {
                *state |= USED;
                return Access::Hit;
            }
            TEST => {
                self.cold = (self.cold + 1).min(self.capacity);
                self.leave(page);
                self.evict_if_full(evicted);
                self.enter(page, HOT);
            }
            _ => {
                self.evict_if_full(evicted);
                self.enter(page, COLD);
            }
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.count[usize::from(HOT)] + self.count[usize::from(COLD)]
    }
}

impl ClockPro {
    fn next(&self, page: Page) -> Page {
        self.ring
            .towards_back(page)
            .or_else(|| self.ring.front(0))
            .unwrap_or(page)
    }

    fn before(&self, page: Page) -> Page {
        self.ring
            .towards_front(page)
            .or_else(|| self.ring.back(0))
            .unwrap_or(page)
    }

    fn kind(&self, page: Page) -> u8 {
        self.state[page as usize] & !USED
    }

    fn set_kind(&mut self, page: Page, kind: u8) {
        self.count[usize::from(self.kind(page))] -= 1;
        self.count[usize::from(kind)] += 1;
        self.state[page as usize] = kind;
    }

    fn enter(&mut self, page: Page, kind: u8) {
        self.state[page as usize] = kind;
        self.count[usize::from(kind)] += 1;
        let [hot, cold, _] = self.hands;
        if self.ring.is_empty(0) {
            self.ring.push_front(0, page);
            self.hands = [page; 3];
            return;
        }
        self.ring.push_before(0, hot, page);
        if cold == hot {
            self.hands[Hand::Cold as usize] = self.before(cold);
        }
    }

    fn leave(&mut self, page: Page) {
        let before = self.before(page);
        for hand in &mut self.hands {
            if *hand == page {
                *hand = before;
            }
        }
        self.count[usize::from(self.kind(page))] -= 1;
        self.state[page as usize] = NOWHERE;
        self.ring.remove(0, page);
    }

    fn advance(&mut self, hand: Hand) {
        let page = self.hands[hand as usize];
        self.hands[hand as usize] = self.next(page);
    }

    fn evict_if_full(&mut self, evicted: &mut impl Evictions) {
        while self.resident() >= self.capacity {
            self.run_cold(evicted);
        }
    }

    fn run_cold(&mut self, evicted: &mut impl Evictions) {
        let page = self.hands[Hand::Cold as usize];
        if self.kind(page) == COLD {
            if self.state[page as usize] & USED != 0 {
                self.set_kind(page, HOT);
            } else {
                self.set_kind(page, TEST);
                evicted.note(page);
                while self.count[usize::from(TEST)] > self.capacity {
                    self.run_test();
                }
            }
        }
        self.advance(Hand::Cold);
        while self.count[usize::from(HOT)] > self.capacity - self.cold {
            self.run_hot();
        }
    }

    fn run_hot(&mut self) {
        if self.hands[Hand::Hot as usize] == self.hands[Hand::Test as usize] {
            self.run_test();
        }
        let page = self.hands[Hand::Hot as usize];
        if self.kind(page) == HOT {
            if self.state[page as usize] & USED != 0 {
                self.state[page as usize] = HOT;
            } else {
                self.set_kind(page, COLD);
            }
        }
        self.advance(Hand::Hot);
    }

    fn run_test(&mut self) {
        let page = self.hands[Hand::Test as usize];
        if self.kind(page) == TEST {
            self.leave(page);
            self.cold = (self.cold - 1).max(1);
        }
        self.advance(Hand::Test);
    }
}
