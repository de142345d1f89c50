//! ARC: two LRU lists, used once and used again, and a share between them that learns from what was evicted too soon.
//!
//! T1, T2 are in memory, B1, B2 remember as many evicted pages. A page found in B1 says that T1 should have been
//! larger, one in B2 that T2.
//!
//! - Law: on a page of B1 `p ← min(p + max(|B2|/|B1|, 1), c)`, of B2 `p ← max(p − max(|B1|/|B2|, 1), 0)`; T1 gives
//!   while |T1| > p, or |T1| = p and the page comes from B2; else T2 does.
//! - Cost: O(1), 9 B for each page.
//! - Source: Megiddo, Modha, FAST 2003, figure 4. `arc` divides in real numbers, as the paper's own figures do;
//!   `arc-int-p` in whole ones.
//! - Limits: a loop of more than 2c pages finds nothing in B1.

use super::{Access, Gone, Policy, Room, Spec};
use crate::links::Links;
use crate::{Error, Page};

pub(super) const REAL: Spec = Spec::of::<Arc<false>>(
    "arc",
    "recency and frequency, and a share that learns",
    "Megiddo, Modha, FAST 2003; the share a real number",
);
pub(super) const INTEGER: Spec = Spec::of::<Arc<true>>(
    "arc-int-p",
    "the same, the share a whole number",
    "Megiddo, Modha, FAST 2003",
);

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;
const NOWHERE: u8 = 4;

struct Arc<const INTEGER: bool> {
    lists: Links<4>,
    home: Vec<u8>,
    capacity: usize,
    p: f64,
}

impl<const INTEGER: bool> Policy for Arc<INTEGER> {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let pages = room.pages();
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            capacity: room.capacity,
            p: 0.0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        match usize::from(self.home[page as usize]) {
            T2 => self.lists.to_front(T2, page),
            T1 => {
                self.lists.remove(T1, page);
                self.put(T2, page);
            }
            home => {
                self.fault(page, home, gone);
                return Access::Miss;
            }
        }
        Access::Hit
    }

    fn resident(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }
}

impl<const INTEGER: bool> Arc<INTEGER> {
    /// Apart from hits, which are many and shall be short.
    #[inline(never)]
    fn fault(&mut self, page: Page, home: usize, gone: &mut impl Gone) {
        if home == B1 || home == B2 {
            self.learn(home);
            self.replace(home == B2, gone);
            self.lists.remove(home, page);
            self.put(T2, page);
        } else {
            self.make_room(gone);
            self.put(T1, page);
        }
    }

    #[inline]
    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.home[page as usize] = list as u8;
    }

    fn learn(&mut self, ghost: usize) {
        let b1 = self.lists.len(B1);
        let b2 = self.lists.len(B2);
        let (this, other) = if ghost == B1 { (b1, b2) } else { (b2, b1) };
        let step = if INTEGER {
            (other / this) as f64
        } else {
            other as f64 / this as f64
        }
        .max(1.0);
        self.p = if ghost == B1 {
            (self.p + step).min(self.capacity as f64)
        } else {
            (self.p - step).max(0.0)
        };
    }

    /// Case IV of the paper: a page that is remembered nowhere.
    fn make_room(&mut self, gone: &mut impl Gone) {
        let t1 = self.lists.len(T1);
        let b1 = self.lists.len(B1);
        if t1 + b1 == self.capacity {
            if t1 < self.capacity {
                self.forget(B1);
                self.replace(false, gone);
            } else if let Some(victim) = self.lists.pop_back(T1) {
                self.home[victim as usize] = NOWHERE;
                gone.gone(victim);
            }
            return;
        }
        let all = t1 + b1 + self.lists.len(T2) + self.lists.len(B2);
        if all >= self.capacity {
            if all == 2 * self.capacity {
                self.forget(B2);
            }
            self.replace(false, gone);
        }
    }

    fn forget(&mut self, ghost: usize) {
        if let Some(page) = self.lists.pop_back(ghost) {
            self.home[page as usize] = NOWHERE;
        }
    }

    fn replace(&mut self, from_b2: bool, gone: &mut impl Gone) {
        if self.resident() < self.capacity {
            return;
        }
        let t1 = self.lists.len(T1) as f64;
        let from_t1 = t1 >= 1.0 && ((from_b2 && t1 == self.p) || t1 > self.p);
        let (from, to) = if from_t1 || self.lists.is_empty(T2) {
            (T1, B1)
        } else {
            (T2, B2)
        };
        if let Some(victim) = self.lists.pop_back(from) {
            self.put(to, victim);
            gone.gone(victim);
        }
    }
}
