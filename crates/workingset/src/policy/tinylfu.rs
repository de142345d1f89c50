//! W-TinyLFU: a small LRU window before a large segmented LRU. A page moves from the first to the
//! second only if it is used more often than the page that it would evict.
//!
//! - Rule: a page that leaves the window is admitted if its count is above that of the main area's
//!   next victim; otherwise it is evicted. Counts go up to `most`. When `sample`·c references are
//!   counted, all counts are halved, and so is the number of references that are counted.
//! - Cost: O(1) for each reference, and O(pages) for each halving; 11 B for each page. The counts
//!   are exact and no sketch, since pages are dense numbers.
//! - Source: Einziger, Friedman, Manes, ACM TOS 13(4), 2017, sections 3 and 4.
//! - Limits: what the authors' program Caffeine has added is left out: the sketch's collisions, the
//!   random admission of pages that were used six times, and the adaptive window.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<TinyLfu>(
    "wtinylfu",
    "admission by frequency behind a small window",
    "Einziger, Friedman, Manes, ACM TOS 13(4), 2017",
)
.with(&[
    ("window", 0.01, "share of memory for the window"),
    ("protected", 0.8, "share of the rest for pages used again"),
    (
        "sample",
        10.0,
        "references before counts are halved, as a multiple of memory",
    ),
    ("most", 15.0, "uses that are counted at most, 1 to 65535"),
]);

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;
const NOWHERE: u8 = 3;

struct TinyLfu {
    lists: Links<3>,
    home: Vec<u8>,
    count: Vec<u16>,
    most: u16,
    capacity: usize,
    window: usize,
    protected: usize,
    sample: u64,
    left: u64,
}

impl Policy for TinyLfu {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let window = setup.option("window");
        let protected = setup.option("protected");
        if window > 1.0 || protected > 1.0 {
            return Err(Error::Unfit(format!(
                "wtinylfu: window {window} and protected {protected} are shares"
            )));
        }
        let most = setup.option("most");
        if !(1.0..=f64::from(u16::MAX)).contains(&most) {
            return Err(Error::Unfit(format!(
                "wtinylfu counts up to {most}: 1 to {}",
                u16::MAX
            )));
        }
        let pages = setup.pages();
        // The main area is rounded down, as in the authors' program, so the window has a page.
        let main = (setup.capacity as f64 * (1.0 - window)) as usize;
        let window = (setup.capacity - main).max(1);
        let sample = ((setup.capacity as f64 * setup.option("sample")) as u64).max(1);
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            count: vec![0; pages],
            most: most as u16,
            capacity: setup.capacity,
            window,
            protected: ((setup.capacity - window) as f64 * protected) as usize,
            sample,
            left: sample,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        self.count_use(page);
        match usize::from(self.home[page as usize]) {
            PROBATION => {
                self.lists.remove(PROBATION, page);
                self.put(PROTECTED, page);
                if self.lists.len(PROTECTED) > self.protected {
                    if let Some(cooled) = self.lists.pop_back(PROTECTED) {
                        self.put(PROBATION, cooled);
                    }
                }
                Access::Hit
            }
            list @ (WINDOW | PROTECTED) => {
                self.lists.to_front(list, page);
                Access::Hit
            }
            _ => {
                self.put(WINDOW, page);
                if self.lists.len(WINDOW) > self.window {
                    self.admit(evicted);
                }
                Access::Miss
            }
        }
    }

    fn resident(&self) -> usize {
        self.lists.len(WINDOW) + self.lists.len(PROBATION) + self.lists.len(PROTECTED)
    }
}

impl TinyLfu {
    fn put(&mut self, list: usize, page: Page) {
        self.lists.push_front(list, page);
        self.home[page as usize] = list as u8;
    }

    #[inline]
    fn count_use(&mut self, page: Page) {
        let count = &mut self.count[page as usize];
        *count = (*count).saturating_add(1).min(self.most);
        self.left -= 1;
        if self.left == 0 {
            for count in &mut self.count {
                *count >>= 1;
            }
            self.left = self.sample - self.sample / 2;
        }
    }

    /// Moves the window's oldest page into the main area, or evicts it or the main area's victim.
    fn admit(&mut self, evicted: &mut impl Evictions) {
        let Some(candidate) = self.lists.pop_back(WINDOW) else {
            return;
        };
        if self.resident() < self.capacity {
            self.put(PROBATION, candidate);
            return;
        }
        // The protected pages alone never fill the main area.
        let victim = self.lists.back(PROBATION);
        let leaves = match victim {
            Some(victim) if self.count[candidate as usize] > self.count[victim as usize] => {
                self.lists.remove(PROBATION, victim);
                self.put(PROBATION, candidate);
                victim
            }
            _ => candidate,
        };
        self.home[leaves as usize] = NOWHERE;
        evicted.note(leaves);
    }
}
