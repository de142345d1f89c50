//! LRU: the page with the oldest last use is evicted.
//!
//! - Rule: evict argmin over resident p of last(p). It is a stack algorithm: one pass gives its
//!   misses at every size ([`crate::measure::stack`]).
//! - Cost: O(1) for each reference, 9 B for each page.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970.
//! - Limits: a loop over one page more than memory holds misses every time.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Lru>(
    "lru",
    "the least recently used goes",
    "Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970",
)
.at_once(super::lru_sizes::scores);

struct Lru {
    list: Links<1>,
    resident: Vec<bool>,
    capacity: usize,
}

impl Policy for Lru {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        Ok(Self {
            list: Links::new(setup.pages()),
            resident: vec![false; setup.pages()],
            capacity: setup.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        if self.resident[page as usize] {
            self.list.to_front(0, page);
            return Access::Hit;
        }
        if self.list.len(0) == self.capacity {
            if let Some(victim) = self.list.pop_back(0) {
                self.resident[victim as usize] = false;
                evicted.note(victim);
            }
        }
        self.list.push_front(0, page);
        self.resident[page as usize] = true;
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.list.len(0)
    }
}
