//! CLOCK-Pro: LIRS on one clock, with three hands, for virtual memory: a hit sets a bit.
//!
//! Pages are hot, or cold and in memory, or cold and remembered (in their test period). The cold hand evicts; the hot
//! hand cools; the test hand forgets. A page that is asked for in its test period becomes hot, and cold pages get more
//! room; a test that ends in vain takes some away.
//!
//! - Cost: O(1) amortised, 9 B for each page.
//! - Source: Jiang, Chen, Zhang, USENIX ATC 2005. As its simple form: a new page enters before the hot hand, as many
//!   are remembered as fit in memory. Published programs differ from one another by some per cent of misses.

use super::{Access, Gone, Policy, Room, Spec};
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
    /// By [`Hand`]; meaningless while the ring is empty.
    hands: [Page; 3],
    /// Pages by kind.
    count: [usize; 4],
    /// Room for cold pages.
    cold: usize,
    capacity: usize,
}

impl Policy for ClockPro {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let pages = room.pages();
        Ok(Self {
            ring: Links::new(pages),
            state: vec![NOWHERE; pages],
            hands: [0; 3],
            count: [0; 4],
            cold: room.capacity,
            capacity: room.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        let state = &mut self.state[page as usize];
        match *state & !USED {
            HOT | COLD => {
                *state |= USED;
                return Access::Hit;
            }
            TEST => {
                self.cold = (self.cold + 1).min(self.capacity);
                self.leave(page);
                self.make_room(gone);
                self.enter(page, HOT);
            }
            _ => {
                self.make_room(gone);
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

    fn turn(&mut self, page: Page, kind: u8) {
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
        self.hands
            .iter_mut()
            .filter(|hand| **hand == page)
            .for_each(|hand| *hand = before);
        self.count[usize::from(self.kind(page))] -= 1;
        self.state[page as usize] = NOWHERE;
        self.ring.remove(0, page);
    }

    fn advance(&mut self, hand: Hand) {
        let page = self.hands[hand as usize];
        self.hands[hand as usize] = self.next(page);
    }

    fn make_room(&mut self, gone: &mut impl Gone) {
        while self.resident() >= self.capacity {
            self.run_cold(gone);
        }
    }

    fn run_cold(&mut self, gone: &mut impl Gone) {
        let page = self.hands[Hand::Cold as usize];
        if self.kind(page) == COLD {
            if self.state[page as usize] & USED != 0 {
                self.turn(page, HOT);
            } else {
                self.turn(page, TEST);
                gone.gone(page);
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
                self.turn(page, COLD);
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
