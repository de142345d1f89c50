//! CAR, clock with adaptive replacement: ARC with clocks instead of LRU lists. A hit sets a bit and
//! moves no page.
//!
//! - Rule: as ARC's. The hand of T1 moves a used page to T2; the hand of T2 passes a used page
//!   over.
//! - Cost: O(1) for each reference, amortised; 9 B for each page.
//! - Source: Bansal, Modha, FAST 2004, figure 2, with p a real number; some programs compute it in
//!   whole numbers, which is a `whole` of 1.
//! - Limits: as ARC's.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec =
    Spec::of::<Car>("car", "ARC's lists as clocks", "Bansal, Modha, FAST 2004").with(&[(
        "whole",
        0.0,
        "1: the share that learns is a whole number; 0 is a real number, as in the paper",
    )]);

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;
const NOWHERE: u8 = 4;
const USED: u8 = 0x80;

struct Car {
    lists: Links<4>,
    /// Each page's list, and [`USED`].
    home: Vec<u8>,
    capacity: usize,
    /// The target size of T1.
    p: f64,
    whole: bool,
}

impl Policy for Car {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let pages = setup.pages();
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            capacity: setup.capacity,
            p: 0.0,
            whole: setup.option("whole") >= 1.0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let home = &mut self.home[page as usize];
        let list = usize::from(*home & !USED);
        if list <= T2 {
            *home |= USED;
            return Access::Hit;
        }
        let new = list == usize::from(NOWHERE);
        if self.resident() == self.capacity {
            self.replace(evicted);
            if new {
                self.forget_one();
            }
        }
        if new {
            self.put(T1, page);
            return Access::Miss;
        }
        let b1 = self.lists.len(B1);
        let b2 = self.lists.len(B2);
        if list == B1 {
            let step = self.ratio(b2, b1).max(1.0);
            self.p = (self.p + step).min(self.capacity as f64);
        } else {
            let step = self.ratio(b1, b2).max(1.0);
            self.p = (self.p - step).max(0.0);
        }
        self.lists.remove(list, page);
        self.put(T2, page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }
}

impl Car {
    fn ratio(&self, one: usize, other: usize) -> f64 {
        let ratio = one as f64 / other as f64;
        if self.whole { ratio.floor() } else { ratio }
    }

    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.home[page as usize] = list as u8;
    }

    /// Forgets a page of a ghost list if they remember as many as they may.
    fn forget_one(&mut self) {
        let t1 = self.lists.len(T1);
        let t2 = self.lists.len(T2);
        let b1 = self.lists.len(B1);
        let b2 = self.lists.len(B2);
        if t1 + b1 == self.capacity {
            self.forget(B1);
        } else if t1 + t2 + b1 + b2 >= 2 * self.capacity {
            self.forget(B2);
        }
    }

    fn forget(&mut self, ghost: usize) {
        if let Some(page) = self.lists.pop_back(ghost) {
            self.home[page as usize] = NOWHERE;
        }
    }

    fn replace(&mut self, evicted: &mut impl Evictions) {
        loop {
            let t1 = self.lists.len(T1) as f64;
            let from_t1 = t1 >= self.p.max(1.0) || self.lists.is_empty(T2);
            let from = if from_t1 { T1 } else { T2 };
            let Some(seen) = self.lists.pop_back(from) else {
                return;
            };
            if self.home[seen as usize] & USED == 0 {
                let ghost = if from_t1 { B1 } else { B2 };
                self.put(ghost, seen);
                evicted.note(seen);
                return;
            }
            self.put(T2, seen);
        }
    }
}
