//! ARC, the adaptive replacement cache: two LRU lists, of pages used once and of pages used again,
//! and a target for the share of the first that adapts to the misses.
//!
//! T1 and T2 are the lists in memory. The ghost lists B1 and B2 remember pages evicted from T1 and
//! T2. A miss on a page in B1 shows that T1 was too small, a miss on one in B2 that T2 was.
//!
//! - Rule: on a page of B1 `p ← min(p + max(|B2|/|B1|, 1), c)`, on one of B2 `p ← max(p −
//!   max(|B1|/|B2|, 1), 0)`. T1 gives a page while |T1| > p, or if |T1| = p and the page comes from
//!   B2. Otherwise T2 gives one.
//! - Cost: O(1) for each reference, 9 B for each page.
//! - Source: Megiddo, Modha, FAST 2003, figure 4. `arc` computes p in real numbers, as the results
//!   of the paper do; `arc-int-p`, or a `whole` of 1, in whole numbers, as some programs do.
//! - Limits: in a loop of more than 2c pages no page is found in B1, so ARC does not adapt.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

const WHOLE: &str =
    "1: the share that learns is a whole number; 0 is a real number, as in the paper's results";

pub(super) const REAL: Spec = Spec::of::<Arc>(
    "arc",
    "recency and frequency, and a share that learns",
    "Megiddo, Modha, FAST 2003; the share a real number",
)
.with(&[("whole", 0.0, WHOLE)]);
pub(super) const INTEGER: Spec = Spec::of::<Arc>(
    "arc-int-p",
    "the same, the share a whole number",
    "Megiddo, Modha, FAST 2003",
)
.with(&[("whole", 1.0, WHOLE)]);

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;
const NOWHERE: u8 = 4;

struct Arc {
    lists: Links<4>,
    home: Vec<u8>,
    capacity: usize,
    /// The target size of T1.
    p: f64,
    whole: bool,
}

impl Policy for Arc {
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
        match usize::from(self.home[page as usize]) {
            T2 => self.lists.to_front(T2, page),
            T1 => {
                self.lists.remove(T1, page);
                self.put(T2, page);
            }
            home => {
                self.fault(page, home, evicted);
                return Access::Miss;
            }
        }
        Access::Hit
    }

    fn resident(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }
}

impl Arc {
    /// A miss. It is kept out of line, so that the code of hits stays short: they are most
    /// references.
    #[inline(never)]
    fn fault(&mut self, page: Page, home: usize, evicted: &mut impl Evictions) {
        if home == B1 || home == B2 {
            self.adapt(home);
            self.replace(home == B2, evicted);
            self.lists.remove(home, page);
            self.put(T2, page);
        } else {
            self.evict_for_new(evicted);
            self.put(T1, page);
        }
    }

    #[inline]
    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.home[page as usize] = list as u8;
    }

    /// Adapts the target for T1 to a miss on a page of a ghost list.
    fn adapt(&mut self, ghost: usize) {
        let b1 = self.lists.len(B1);
        let b2 = self.lists.len(B2);
        if ghost == B1 {
            let step = self.ratio(b2, b1).max(1.0);
            self.p = (self.p + step).min(self.capacity as f64);
        } else {
            let step = self.ratio(b1, b2).max(1.0);
            self.p = (self.p - step).max(0.0);
        }
    }

    fn ratio(&self, one: usize, other: usize) -> f64 {
        let ratio = one as f64 / other as f64;
        if self.whole { ratio.floor() } else { ratio }
    }

    /// Case IV of the paper: a page that is in none of the lists.
    fn evict_for_new(&mut self, evicted: &mut impl Evictions) {
        let t1 = self.lists.len(T1);
        let b1 = self.lists.len(B1);
        if t1 + b1 == self.capacity {
            if t1 < self.capacity {
                self.forget(B1);
                self.replace(false, evicted);
            } else if let Some(victim) = self.lists.pop_back(T1) {
                self.home[victim as usize] = NOWHERE;
                evicted.note(victim);
            }
            return;
        }
        let all = t1 + b1 + self.lists.len(T2) + self.lists.len(B2);
        if all >= self.capacity {
            if all == 2 * self.capacity {
                self.forget(B2);
            }
            self.replace(false, evicted);
        }
    }

    fn forget(&mut self, ghost: usize) {
        if let Some(page) = self.lists.pop_back(ghost) {
            self.home[page as usize] = NOWHERE;
        }
    }

    fn replace(&mut self, from_b2: bool, evicted: &mut impl Evictions) {
        if self.resident() < self.capacity {
            return;
        }
        let t1 = self.lists.len(T1) as f64;
        let is_above_target = t1 > self.p || (from_b2 && t1 == self.p);
        let from_t1 = t1 >= 1.0 && is_above_target;
        let (from, to) = if from_t1 || self.lists.is_empty(T2) {
            (T1, B1)
        } else {
            (T2, B2)
        };
        if let Some(victim) = self.lists.pop_back(from) {
            self.put(to, victim);
            evicted.note(victim);
        }
    }
}
