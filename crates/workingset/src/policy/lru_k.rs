//! LRU-K: the page whose K-th last use is longest ago goes.
//!
//! - Law: evict argmax over resident p of now − (K-th last use of p), infinite for a page used less often; among equals
//!   the least recently used.
//! - Cost: O(log c), 4·K B for each page, and about 20 B for each page of memory. The uses of evicted pages are remembered
//!   for good.
//! - Source: O'Neil, O'Neil, Weikum, SIGMOD 1993. No correlated-reference period.

use super::{Access, Gone, Policy, Room, Spec};
use crate::{Error, Page};
use std::collections::BTreeSet;

pub(super) const SPEC: Spec = Spec::of::<LruK>(
    "lru-k",
    "by the K-th last use",
    "O'Neil, O'Neil, Weikum, SIGMOD 1993",
)
.with(&[("k", 2.0, "which of the last uses counts, 1 to 16")]);

struct LruK {
    k: usize,
    /// Each page's last uses, newest first; 0 is none.
    uses: Vec<u32>,
    /// Resident pages: (K-th last use, last use, page).
    order: BTreeSet<(u32, u32, Page)>,
    capacity: usize,
    clock: u32,
}

impl Policy for LruK {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let k = room.option("k") as usize;
        if !(1..=16).contains(&k) {
            return Err(Error::Unfit(format!("lru-k: k is 1 to 16, not {k}")));
        }
        Ok(Self {
            k,
            uses: vec![0; room.pages() * k],
            order: BTreeSet::new(),
            capacity: room.capacity,
            clock: 0,
        })
    }

    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        self.clock += 1;
        let hit = self.order.remove(&self.key(page));
        if !hit && self.order.len() == self.capacity {
            if let Some((_, _, victim)) = self.order.pop_first() {
                gone.gone(victim);
            }
        }
        let uses = &mut self.uses[page as usize * self.k..][..self.k];
        uses.rotate_right(1);
        uses[0] = self.clock;
        self.order.insert(self.key(page));
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.order.len()
    }
}

impl LruK {
    fn key(&self, page: Page) -> (u32, u32, Page) {
        let uses = &self.uses[page as usize * self.k..][..self.k];
        (uses[self.k - 1], uses[0], page)
    }
}
