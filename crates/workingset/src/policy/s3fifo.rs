//! S3-FIFO: a small FIFO that evicts pages used once, a main FIFO for the others, and a ghost list
//! of the pages that the small one evicted.
//!
//! - Rule: a page enters the small FIFO (`small`·c pages), or the main one if it is in the ghost
//!   list. The oldest page of the small FIFO moves to the main one if it was used `threshold` times
//!   since; otherwise it is evicted into the ghost list (`ghost`·c pages). The oldest page of the
//!   main FIFO enters it again with one use less, while it has any. The small FIFO gives a page
//!   unless it is empty or the main one is above its share.
//! - Cost: O(1) for each reference, amortised; 9 B for each page.
//! - Source: Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023, section 4 and the program of its artifact. The
//!   paper moves a page at more than one use, which is a `threshold` of 2; some programs use 1. While
//!   memory has free frames, the small FIFO grows over its share. In the authors' later program, what
//!   it has no room for enters the main FIFO until the first eviction: `fill` of 1. The paper's
//!   algorithm 1 differs from its artifact in two ways: a page that moves to a full main FIFO evicts
//!   one of it, beside the page that leaves the small one, and the ghost list is looked at after the
//!   eviction: `strict` of 1.
//! - Limits: a page that is used again only after it left the ghost list is treated as new. With
//!   `strict` some frames are free for a while; the mean size counts memory as full.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<S3Fifo>(
    "s3fifo",
    "a small FIFO, a main one, and a ghost",
    "Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023",
)
.with(&[
    ("small", 0.1, "share of memory for the small FIFO"),
    ("ghost", 0.9, "pages remembered, as a share of memory"),
    (
        "threshold",
        2.0,
        "uses in the small FIFO that lead to the main one",
    ),
    (
        "fill",
        0.0,
        "1: until the first eviction, what exceeds the small FIFO's share enters the main one, as in the authors' program; 0 is the paper",
    ),
    (
        "strict",
        0.0,
        "1: the paper's algorithm 1 to the letter; 0 is the program of its artifact",
    ),
]);

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 2;
const NOWHERE: u8 = 3;
/// Uses are counted up to this, as in the paper: two bits.
const MOST: u8 = 3;
/// A use, in the upper half of a page's state.
const ONE_USE: u8 = 0x10;

struct S3Fifo {
    lists: Links<3>,
    /// Each page's list in the lower four bits, its uses in the upper four.
    state: Vec<u8>,
    capacity: usize,
    small: usize,
    ghost: usize,
    threshold: u8,
    /// Whether new pages enter the main FIFO when the small one has its share.
    fills_main: bool,
    strict: bool,
}

impl Policy for S3Fifo {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let small = setup.option("small");
        let threshold = setup.option("threshold");
        if small > 1.0 || !(1.0..=3.0).contains(&threshold) {
            return Err(Error::Unfit(format!(
                "s3fifo: small is a share, not {small}; a threshold is 1 to 3, not {threshold}"
            )));
        }
        let share = |share: f64| (setup.capacity as f64 * share) as usize;
        Ok(Self {
            lists: Links::new(setup.pages()),
            state: vec![NOWHERE; setup.pages()],
            capacity: setup.capacity,
            small: share(small),
            ghost: share(setup.option("ghost")),
            threshold: threshold as u8,
            fills_main: setup.option("fill") >= 1.0,
            strict: setup.option("strict") >= 1.0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        let list = usize::from(*state & 0xf);
        if list <= MAIN {
            if *state >> 4 < MOST {
                *state += ONE_USE;
            }
            return Access::Hit;
        }
        let mut is_remembered = list == GHOST;
        if is_remembered && !self.strict {
            self.lists.remove(GHOST, page);
            *state = NOWHERE;
        }
        while self.resident() >= self.capacity {
            self.fills_main = false;
            self.evict(evicted);
        }
        if is_remembered && self.strict {
            is_remembered = self.state[page as usize] == GHOST as u8;
            if is_remembered {
                self.lists.remove(GHOST, page);
            }
        }
        let passes_small = self.fills_main && self.lists.len(SMALL) >= self.small;
        let to = if is_remembered || passes_small {
            MAIN
        } else {
            SMALL
        };
        self.put(to, page, 0);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.lists.len(SMALL) + self.lists.len(MAIN)
    }
}

impl S3Fifo {
    #[inline]
    fn put(&mut self, list: usize, page: Page, uses: u8) {
        self.lists.push_front(list, page);
        self.state[page as usize] = list as u8 | uses << 4;
    }

    fn evict(&mut self, evicted: &mut impl Evictions) {
        if self.main_is_full() || self.lists.is_empty(SMALL) {
            self.evict_main(evicted);
        } else {
            self.evict_small(evicted);
        }
    }

    fn main_is_full(&self) -> bool {
        self.lists.len(MAIN) > self.capacity - self.small
    }

    fn evict_small(&mut self, evicted: &mut impl Evictions) {
        while let Some(seen) = self.lists.pop_back(SMALL) {
            if self.state[seen as usize] >> 4 >= self.threshold {
                self.put(MAIN, seen, 0);
                if self.strict && self.main_is_full() {
                    self.evict_main(evicted);
                }
                continue;
            }
            self.state[seen as usize] = NOWHERE;
            evicted.note(seen);
            self.remember(seen);
            return;
        }
    }

    fn remember(&mut self, page: Page) {
        if self.ghost == 0 {
            return;
        }
        if self.lists.len(GHOST) == self.ghost {
            if let Some(forgotten) = self.lists.pop_back(GHOST) {
                self.state[forgotten as usize] = NOWHERE;
            }
        }
        self.put(GHOST, page, 0);
    }

    fn evict_main(&mut self, evicted: &mut impl Evictions) {
        while let Some(seen) = self.lists.pop_back(MAIN) {
            let uses = self.state[seen as usize] >> 4;
            if uses == 0 {
                self.state[seen as usize] = NOWHERE;
                evicted.note(seen);
                return;
            }
            self.put(MAIN, seen, uses - 1);
        }
    }
}
