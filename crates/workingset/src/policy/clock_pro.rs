//! CLOCK-Pro: LIRS on one clock with three hands, made for virtual memory, where a hit only sets a
//! bit.
//!
//! All pages are in one list by age: hot ones, cold ones in memory, and cold ones that were evicted
//! and are remembered. A cold page has a test period, which begins when it enters at the list's
//! head. A use in the test period shows a short distance between two uses, and makes the page hot.
//! Each hand stands at the oldest page of its kind and moves towards the head.
//!
//! - Rule: the cold hand evicts a cold page that was not used, and remembers it if it is in its test
//!   period. A used one moves to the head, as a hot page if it is in its test period. For a new hot
//!   page the hot hand turns a hot page that was not used cold; it ends the test periods that it
//!   passes. If it meets the new page first, that one stays cold. The test hand ends test periods
//!   when more pages are remembered than memory holds. The target for cold pages grows by one with
//!   each use in a test period, and shrinks by one when a test period ends without.
//! - Cost: O(1) for each reference, amortised; 9 B for each page.
//! - Source: Jiang, Chen, Zhang, USENIX ATC 2005, section 3. Two rules are the authors' program's:
//!   memory is filled with hot pages first, and a use right after a use of the same page is not
//!   counted. In that program cold pages have a fixed share, and a used page leaves unless it
//!   becomes hot: `cold=0.05,most=0.05,again=0`.
//! - Limits: with two pages of memory or fewer there are no hot pages, and it is CLOCK.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const SPEC: Spec = Spec::of::<ClockPro>(
    "clockpro",
    "LIRS on a clock with three hands",
    "Jiang, Chen, Zhang, USENIX ATC 2005",
)
.with(&[
    (
        "cold",
        0.01,
        "share of memory for cold pages at least, and never below two pages",
    ),
    ("most", 0.99, "share of memory for cold pages at most"),
    (
        "again",
        1.0,
        "1: a used page that does not become hot stays for another round, as in the paper; 0: it leaves, as in the authors' program",
    ),
]);

const NOWHERE: u8 = 0;
const HOT: u8 = 1;
const COLD: u8 = 2;
const REMEMBERED: u8 = 3;
const KIND: u8 = 3;
/// The page is in its test period.
const TEST: u8 = 0x40;
const USED: u8 = 0x80;

struct ClockPro {
    /// All pages that are known; the head is the front.
    list: Links<1>,
    state: Vec<u8>,
    /// The page at each hand; [`NONE`] if there is no page of its kind.
    hot_hand: Page,
    cold_hand: Page,
    test_hand: Page,
    /// Pages by kind.
    count: [usize; 4],
    in_test: usize,
    /// The target for cold pages in memory, and its bounds.
    target: usize,
    least: usize,
    most: usize,
    capacity: usize,
    again: bool,
    last: Page,
}

impl Policy for ClockPro {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let cold = setup.option("cold");
        let most = setup.option("most");
        if cold > 1.0 || most > 1.0 {
            return Err(Error::Unfit(format!(
                "clockpro: cold {cold} and most {most} are shares of memory"
            )));
        }
        let share = |share: f64| (setup.capacity as f64 * share) as usize;
        let least = share(cold).max(2).min(setup.capacity);
        Ok(Self {
            list: Links::new(setup.pages()),
            state: vec![NOWHERE; setup.pages()],
            hot_hand: NONE,
            cold_hand: NONE,
            test_hand: NONE,
            count: [0; 4],
            in_test: 0,
            target: least,
            least,
            most: share(most).min(setup.capacity - least).max(least),
            capacity: setup.capacity,
            again: setup.option("again") >= 1.0,
            last: NONE,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        if page == self.last {
            return Access::Hit;
        }
        self.last = page;
        let state = &mut self.state[page as usize];
        if matches!(*state & KIND, HOT | COLD) {
            *state |= USED;
            return Access::Hit;
        }
        self.fault(page, evicted);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.count[usize::from(HOT)] + self.count[usize::from(COLD)]
    }
}

impl ClockPro {
    /// A miss, out of line: see [`super::arc`].
    #[inline(never)]
    fn fault(&mut self, page: Page, evicted: &mut impl Evictions) {
        let free = self.capacity - self.resident();
        if free > self.least {
            self.put_first(page, HOT);
        } else if free > 0 {
            self.put_first(page, COLD | TEST);
        } else {
            while self.resident() == self.capacity {
                self.run_cold(evicted);
            }
            let becomes_hot = self.makes_room_among_hot(page);
            self.put_first(page, if becomes_hot { HOT } else { COLD | TEST });
        }
        self.settle_cold();
        self.settle_hot();
        self.settle_test();
    }

    fn kind(&self, page: Page) -> u8 {
        self.state[page as usize] & KIND
    }

    fn is(&self, page: Page, flag: u8) -> bool {
        self.state[page as usize] & flag != 0
    }

    fn set(&mut self, page: Page, state: u8) {
        let was = std::mem::replace(&mut self.state[page as usize], state);
        self.count[usize::from(was & KIND)] -= usize::from(was & KIND != NOWHERE);
        self.count[usize::from(state & KIND)] += usize::from(state & KIND != NOWHERE);
        self.in_test -= usize::from(was & TEST != 0);
        self.in_test += usize::from(state & TEST != 0);
    }

    /// The next page towards the head; the list's end after the head.
    fn towards_head(&self, page: Page) -> Page {
        let next = self.list.towards_front(page);
        next.or_else(|| self.list.back(0)).unwrap_or(NONE)
    }

    fn oldest(&self) -> Page {
        self.list.back(0).unwrap_or(NONE)
    }

    fn forget(&mut self, page: Page) {
        let next = self.towards_head(page);
        for hand in [&mut self.hot_hand, &mut self.cold_hand, &mut self.test_hand] {
            if *hand == page {
                *hand = next;
            }
        }
        self.list.remove(0, page);
        self.set(page, NOWHERE);
    }

    fn put_first(&mut self, page: Page, state: u8) {
        if self.kind(page) != NOWHERE {
            self.forget(page);
        }
        self.list.push_front(0, page);
        self.set(page, state);
    }

    fn run_cold(&mut self, evicted: &mut impl Evictions) {
        let page = self.cold_hand;
        let was_used = self.is(page, USED);
        if was_used && self.makes_room_among_hot(page) {
            self.put_first(page, HOT);
            self.settle_hot();
        } else if was_used && self.again {
            self.put_first(page, COLD | TEST);
        } else {
            evicted.note(page);
            if self.is(page, TEST) {
                self.set(page, REMEMBERED | TEST);
            } else {
                self.forget(page);
            }
            while self.count[usize::from(REMEMBERED)] > self.capacity {
                self.settle_test();
                self.end_test(self.test_hand);
            }
        }
        self.settle_cold();
    }

    /// Returns true if this page, which was used, may become hot: it is in its test period, and hot
    /// pages are few enough or the hot hand turned some cold.
    fn makes_room_among_hot(&mut self, page: Page) -> bool {
        if !self.is(page, TEST) {
            return false;
        }
        self.target = (self.target + 1).min(self.most);
        // Counted once: if the hot hand ends this test period, it takes the one back.
        self.state[page as usize] &= !USED;
        while self.count[usize::from(HOT)] >= self.capacity - self.target {
            if !self.is(page, TEST) || !self.run_hot(page) {
                return false;
            }
        }
        true
    }

    /// Turns the oldest hot page that was not used cold. Returns false if `until` is older, or there
    /// is none.
    fn run_hot(&mut self, until: Page) -> bool {
        if self.count[usize::from(HOT)] == 0 {
            return false;
        }
        let mut found = false;
        while !found && self.hot_hand != until {
            let page = self.hot_hand;
            if self.kind(page) == HOT {
                found = !self.is(page, USED);
                self.put_first(page, if found { COLD } else { HOT });
            } else {
                self.hot_hand = self.towards_head(page);
                self.end_test(page);
            }
        }
        self.settle_hot();
        found
    }

    fn end_test(&mut self, page: Page) {
        if !self.is(page, TEST) {
            return;
        }
        self.target = if self.is(page, USED) {
            (self.target + 1).min(self.most)
        } else {
            (self.target - 1).max(self.least)
        };
        if self.kind(page) == REMEMBERED {
            self.forget(page);
        } else {
            self.set(page, self.state[page as usize] & !TEST);
        }
    }

    fn settle_cold(&mut self) {
        if self.count[usize::from(COLD)] == 0 {
            self.cold_hand = NONE;
            return;
        }
        if self.cold_hand == NONE {
            self.cold_hand = self.oldest();
        }
        while self.kind(self.cold_hand) != COLD {
            self.cold_hand = self.towards_head(self.cold_hand);
        }
    }

    fn settle_hot(&mut self) {
        if self.count[usize::from(HOT)] == 0 {
            self.hot_hand = NONE;
            return;
        }
        if self.hot_hand == NONE {
            self.hot_hand = self.oldest();
        }
        while self.kind(self.hot_hand) != HOT {
            let page = self.hot_hand;
            self.hot_hand = self.towards_head(page);
            self.end_test(page);
        }
        self.settle_test();
    }

    fn settle_test(&mut self) {
        if self.in_test == 0 {
            self.test_hand = NONE;
            return;
        }
        if self.test_hand == NONE {
            self.test_hand = self.oldest();
        }
        while !self.is(self.test_hand, TEST) {
            self.test_hand = self.towards_head(self.test_hand);
        }
    }
}
