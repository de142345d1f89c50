//! LRU: the page with the oldest last use is evicted.
//!
//! The trace itself is the queue. A use in it counts for its page if it is the page's last, and the page is in memory if that is not
//! before the tail. To evict, the tail moves on to the next use that counts.
//!
//! - Rule: evict argmin over resident p of last(p). It is a stack algorithm: one pass gives its
//!   misses at every size ([`crate::measure::stack`]).
//! - Cost: O(1) for each reference, since the tail passes each once; 4 B for each page.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970.
//! - Limits: a loop over one page more than memory holds misses every time.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page, ahead};
use std::sync::Arc;

pub(super) const SPEC: Spec = Spec::of::<Lru>(
    "lru",
    "the least recently used goes",
    "Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970",
)
.at_once(super::lru_sizes::scores);

struct Lru {
    refs: Arc<Vec<Page>>,
    /// The number of uses up to each page's last; 0 for a page that has none.
    last: Vec<u32>,
    /// Uses so far.
    now: u32,
    /// Uses that have left the queue.
    tail: u32,
    resident: usize,
    capacity: usize,
    is_far: bool,
}

impl Policy for Lru {
    const ENTRY: usize = 4;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let (refs, _) = setup.trace.shared();
        Ok(Self {
            refs,
            last: vec![0; setup.pages()],
            now: 0,
            tail: 0,
            resident: 0,
            capacity: setup.capacity,
            is_far: ahead::pays(setup.pages() * Self::ENTRY),
        })
    }

    #[inline]
    fn fetch(&self, page: Page) {
        ahead::fetch(&self.last, page as usize);
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        debug_assert_eq!(self.refs.get(self.now as usize), Some(&page));
        self.now += 1;
        let last = std::mem::replace(&mut self.last[page as usize], self.now);
        if last > self.tail {
            return Access::Hit;
        }
        if self.resident < self.capacity {
            self.resident += 1;
        } else {
            evicted.note(self.oldest());
        }
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Lru {
    /// Takes the page with the oldest last use out of the queue.
    #[inline]
    fn oldest(&mut self) -> Page {
        loop {
            let place = self.tail as usize;
            let page = self.refs[place];
            self.tail += 1;
            if self.is_far {
                // What is not yet in the queue is fetched as well: it is at hand where the trace is read.
                if let Some(soon) = self.refs.get(place + ahead::STEPS) {
                    ahead::fetch(&self.last, *soon as usize);
                }
            }
            if self.last[page as usize] == self.tail {
                return page;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn the_queue_is_a_list(pages in prop::collection::vec(0..40_u64, 1..300), capacity in 1..41_usize, is_far in any::<bool>()) {
            let trace = Trace::of(&pages).unwrap();
            let options = SPEC.defaults();
            let capacity = capacity.min(trace.pages());
            let mut lru = Lru::new(&Setup { capacity, trace: &trace, options: &options }).unwrap();
            lru.is_far = is_far;
            let mut list: VecDeque<Page> = VecDeque::new();
            for page in trace.refs() {
                let mut evicted = Vec::new();
                let access = lru.access(*page, 0, &mut evicted);
                let place = list.iter().position(|other| other == page);
                prop_assert_eq!(access == Access::Hit, place.is_some());
                let mut expected = Vec::new();
                if let Some(place) = place {
                    list.remove(place);
                } else if list.len() == capacity {
                    expected.extend(list.pop_front());
                }
                list.push_back(*page);
                prop_assert_eq!(evicted, expected);
                prop_assert_eq!(lru.resident(), list.len());
            }
        }
    }
}
