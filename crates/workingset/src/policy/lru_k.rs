//! LRU-K: the page with the oldest K-th last use is evicted.
//!
//! - Rule: evict argmax over resident p of now − (K-th last use of p), infinite for a page with
//!   fewer uses; among equals the least recently used.
//! - Cost: O(log c) for each reference; 4·K B for each page, and about 20 B for each page of
//!   memory. The uses of evicted pages are remembered for the whole run.
//! - Source: O'Neil, O'Neil, Weikum, SIGMOD 1993.
//! - Limits: there is no correlated-reference period: uses in quick succession count as several.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
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
    /// The times of each page's last K uses, the newest first; 0 is none.
    uses: Vec<u32>,
    /// Pages in memory: K-th last use, last use, page.
    order: BTreeSet<(u32, u32, Page)>,
    capacity: usize,
    clock: u32,
}

impl Policy for LruK {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let k = setup.option("k") as usize;
        if !(1..=16).contains(&k) {
            return Err(Error::Unfit(format!("lru-k: k is 1 to 16, not {k}")));
        }
        Ok(Self {
            k,
            uses: vec![0; setup.pages() * k],
            order: BTreeSet::new(),
            capacity: setup.capacity,
            clock: 0,
        })
    }

    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        self.clock += 1;
        let hit = self.order.remove(&self.key(page));
        if !hit && self.order.len() == self.capacity {
            if let Some((_, _, victim)) = self.order.pop_first() {
                evicted.note(victim);
            }
        }
        let start = page as usize * self.k;
        let uses = &mut self.uses[start..start + self.k];
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
        let start = page as usize * self.k;
        let uses = &self.uses[start..start + self.k];
        (uses[self.k - 1], uses[0], page)
    }
}
