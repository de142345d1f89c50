//! GCLOCK: CLOCK with a count of uses instead of a bit.
//!
//! - Rule: a use adds one to the count, up to `max`. The hand takes one away, and evicts a page
//!   that reaches zero.
//! - Cost: O(max) for each miss, amortised; 1 B for each page and 4 B for each page of memory.
//! - Source: Smith, "Sequentiality and prefetching in database systems", ACM TODS 3(3), 1978.
//! - Limits: a larger `max` remembers uses longer, but the hand must pass a page more often to
//!   evict it.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Gclock>(
    "gclock",
    "CLOCK with a count of uses",
    "Smith, ACM TODS 3(3), 1978",
)
.with(&[
    ("max", 3.0, "uses that are counted, 1 to 200"),
    ("first", 0.0, "count that a page enters with"),
]);

struct Gclock {
    ring: Vec<Page>,
    capacity: usize,
    hand: usize,
    /// One more than each page's count; 0 if the page is not in memory.
    count: Vec<u8>,
    max: u8,
    first: u8,
}

impl Policy for Gclock {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let max = setup.option("max");
        let first = setup.option("first");
        if !(1.0..=200.0).contains(&max) || first > max {
            return Err(Error::Unfit(format!(
                "gclock counts up to {max} from {first}: 1 to 200, and the first no more"
            )));
        }
        Ok(Self {
            ring: Vec::with_capacity(setup.capacity),
            capacity: setup.capacity,
            hand: 0,
            count: vec![0; setup.pages()],
            max: max as u8 + 1,
            first: first as u8 + 1,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let count = &mut self.count[page as usize];
        if *count != 0 {
            *count = (*count + 1).min(self.max);
            return Access::Hit;
        }
        *count = self.first;
        if self.ring.len() < self.capacity {
            self.ring.push(page);
            return Access::Miss;
        }
        loop {
            let at = self.hand;
            self.hand = if at + 1 == self.capacity { 0 } else { at + 1 };
            let seen = self.ring[at];
            self.count[seen as usize] -= 1;
            if self.count[seen as usize] == 0 {
                self.ring[at] = page;
                evicted.note(seen);
                return Access::Miss;
            }
        }
    }

    fn resident(&self) -> usize {
        self.ring.len()
    }
}
