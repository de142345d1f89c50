//! CAR: ARC with clocks instead of LRU lists, so that a hit sets a bit and moves nothing.
//!
//! - Law: as ARC's; T1's hand moves a page that was used to T2, T2's hand passes it over.
//! - Cost: O(1) amortised, 9 B for each page.
//! - Source: Bansal, Modha, FAST 2004, figure 2.

use super::{Access, Gone, Policy, Room, Spec};
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec =
    Spec::of::<Car>("car", "ARC's lists as clocks", "Bansal, Modha, FAST 2004");

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;
const NOWHERE: u8 = 4;
const USED: u8 = 0x80;

struct Car {
    lists: Links<4>,
    /// The list, and [`USED`].
    home: Vec<u8>,
    capacity: usize,
    p: f64,
}

impl Policy for Car {
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
        let home = &mut self.home[page as usize];
        let list = usize::from(*home & !USED);
        if list <= T2 {
            *home |= USED;
            return Access::Hit;
        }
        let new = list == usize::from(NOWHERE);
        if self.resident() == self.capacity {
            self.replace(gone);
            let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|list| self.lists.len(list));
            if new && t1 + b1 == self.capacity {
                self.forget(B1);
            } else if new && t1 + t2 + b1 + b2 >= 2 * self.capacity {
                self.forget(B2);
            }
        }
        if new {
            self.put(T1, page);
            return Access::Miss;
        }
        let b1 = self.lists.len(B1) as f64;
        let b2 = self.lists.len(B2) as f64;
        self.p = match list {
            B1 => (self.p + (b2 / b1).max(1.0)).min(self.capacity as f64),
            _ => (self.p - (b1 / b2).max(1.0)).max(0.0),
        };
        self.lists.remove(list, page);
        self.put(T2, page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }
}

impl Car {
    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.home[page as usize] = list as u8;
    }

    fn forget(&mut self, ghost: usize) {
        if let Some(page) = self.lists.pop_back(ghost) {
            self.home[page as usize] = NOWHERE;
        }
    }

    fn replace(&mut self, gone: &mut impl Gone) {
        loop {
            let from_t1 = self.lists.len(T1) as f64 >= self.p.max(1.0) || self.lists.is_empty(T2);
            let from = if from_t1 { T1 } else { T2 };
            let Some(seen) = self.lists.pop_back(from) else {
                return;
            };
            if self.home[seen as usize] & USED == 0 {
                self.put(if from == T1 { B1 } else { B2 }, seen);
                gone.gone(seen);
                return;
            }
            self.put(T2, seen);
        }
    }
}
