//! LRU-K: the page with the oldest K-th last use is evicted.
//!
//! - Rule: evict argmax over resident p of now − (K-th last use of p), infinite for a page with
//!   fewer uses; among equals the least recently used. A use at most `correlated` references after
//!   the one before counts as the same use: it moves the last use, and the gap between the two is
//!   added to the older ones. A page used within `correlated` is not evicted while there is another.
//! - Cost: O(log c) for each reference, and O(`correlated`) for each miss; 4·(K+1) B for each page,
//!   and about 20 B for each page of memory.
//! - Source: O'Neil, O'Neil, Weikum, SIGMOD 1993, figure 2.1. Both periods are parameters there, and
//!   no values are given in references. By default a use is a use, and evicted pages are remembered
//!   for the whole run. Programs that forget a page when it is evicted have a `retained` of 1.
//! - Limits: if every page was used within `correlated`, which the paper leaves open, the least
//!   recently used one is evicted.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page};
use std::collections::BTreeSet;

pub(super) const SPEC: Spec = Spec::of::<LruK>(
    "lru-k",
    "by the K-th last use",
    "O'Neil, O'Neil, Weikum, SIGMOD 1993",
)
.with(&[
    ("k", 2.0, "which of the last uses counts, 1 to 16"),
    (
        "correlated",
        0.0,
        "references after a use within which another is the same use",
    ),
    (
        "retained",
        0.0,
        "references after its last use that an evicted page is remembered; 0 is the whole run, 1 is until it is evicted",
    ),
]);

struct LruK {
    k: usize,
    /// The times of each page's last K uses that count, the newest first; 0 is none.
    uses: Vec<u32>,
    /// The time of each page's last use, whether it counts or not. It is empty while all uses count.
    last: Vec<u32>,
    /// Pages in memory: K-th last use, last use, page.
    order: BTreeSet<(u32, u32, Page)>,
    capacity: usize,
    clock: u32,
    correlated: u32,
    retained: u32,
}

impl Policy for LruK {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let k = setup.option("k") as usize;
        if !(1..=16).contains(&k) {
            return Err(Error::Unfit(format!("lru-k: k is 1 to 16, not {k}")));
        }
        let retained = match setup.option("retained") as u32 {
            0 => u32::MAX,
            retained => retained,
        };
        let correlated = setup.option("correlated") as u32;
        let last = if correlated == 0 {
            Vec::new()
        } else {
            vec![0; setup.pages()]
        };
        Ok(Self {
            k,
            uses: vec![0; setup.pages() * k],
            last,
            order: BTreeSet::new(),
            capacity: setup.capacity,
            clock: 0,
            correlated,
            retained,
        })
    }

    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        self.clock += 1;
        let hit = self.order.remove(&self.key(page));
        if hit {
            self.use_again(page);
        } else {
            if self.order.len() == self.capacity {
                self.evict(evicted);
            }
            self.load(page);
        }
        if let Some(last) = self.last.get_mut(page as usize) {
            *last = self.clock;
        }
        self.order.insert(self.key(page));
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.order.len()
    }
}

impl LruK {
    fn key(&self, page: Page) -> (u32, u32, Page) {
        let kth = self.uses[page as usize * self.k + self.k - 1];
        (kth, self.last(page), page)
    }

    fn last(&self, page: Page) -> u32 {
        let last_that_counts = self.uses[page as usize * self.k];
        let last = self.last.get(page as usize).copied();
        last.unwrap_or(last_that_counts)
    }

    /// A use of a page in memory. One that counts moves the older uses on by the time that the uses
    /// before it took, since these were one.
    fn use_again(&mut self, page: Page) {
        let last = self.last(page);
        if self.clock - last <= self.correlated {
            return;
        }
        let start = page as usize * self.k;
        let uses = &mut self.uses[start..start + self.k];
        let took = last - uses[0];
        for used in uses.iter_mut() {
            if *used != 0 {
                *used += took;
            }
        }
        uses.rotate_right(1);
        uses[0] = self.clock;
    }

    /// A use of a page that has to be loaded.
    fn load(&mut self, page: Page) {
        let away = self.clock - self.last(page);
        let start = page as usize * self.k;
        let uses = &mut self.uses[start..start + self.k];
        if away > self.retained {
            uses.fill(0);
        }
        uses.rotate_right(1);
        uses[0] = self.clock;
    }

    fn evict(&mut self, evicted: &mut impl Evictions) {
        let now = self.clock;
        let may_leave = |entry: &&(u32, u32, Page)| now - entry.1 > self.correlated;
        let first = self.order.iter().find(may_leave);
        let oldest = || self.order.iter().min_by_key(|entry| entry.1);
        if let Some(victim) = first.or_else(oldest).copied() {
            self.order.remove(&victim);
            evicted.note(victim.2);
        }
    }
}
