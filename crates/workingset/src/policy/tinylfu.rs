//! W-TinyLFU: a small LRU window before a large segmented LRU. A page moves from the first to the
//! second only if it is used more often than the page that it would evict.
//!
//! - Rule: a page that leaves the window is admitted if its count is above that of the main area's
//!   next victim; otherwise it is evicted. Counts go up to 15, and are halved after every
//!   `sample`·c references.
//! - Cost: O(1) for each reference, and O(pages) for each halving; 10 B for each page. The counts
//!   are exact and no sketch, since pages are dense numbers.
//! - Source: Einziger, Friedman, Manes, ACM TOS 13(4), 2017.
//! - Limits: the random admission of moderately used pages and the adaptive window are not
//!   implemented.

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
]);

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;
const NOWHERE: u8 = 3;

struct TinyLfu {
    lists: Links<3>,
    home: Vec<u8>,
    count: Vec<u8>,
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
        let pages = setup.pages();
        let window = ((setup.capacity as f64 * window) as usize).clamp(1, setup.capacity);
        let sample = ((setup.capacity as f64 * setup.option("sample")) as u64).max(1);
        Ok(Self {
            lists: Links::new(pages),
            home: vec![NOWHERE; pages],
            count: vec![0; pages],
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
        *count = (*count + 1).min(15);
        self.left -= 1;
        if self.left == 0 {
            for count in &mut self.count {
                *count >>= 1;
            }
            self.left = self.sample;
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
        let from = if self.lists.is_empty(PROBATION) {
            PROTECTED
        } else {
            PROBATION
        };
        let victim = self.lists.back(from);
        let leaves = match victim {
            Some(victim) if self.count[candidate as usize] > self.count[victim as usize] => {
                self.lists.remove(from, victim);
                self.put(PROBATION, candidate);
                victim
            }
            _ => candidate,
        };
        self.home[leaves as usize] = NOWHERE;
        evicted.note(leaves);
    }
}
