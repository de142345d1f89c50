//! SIEVE: a FIFO in which a hand moves from old to new pages, evicts one that was not used, and
//! leaves the others in place.
//!
//! Unlike CLOCK it does not move a used page to the front. So new pages are examined soon, and old
//! used pages stay.
//!
//! - Rule: the hand clears the bit of a used page and goes on; it evicts the first page with a
//!   clear bit.
//! - Cost: O(1) for each reference, amortised; 1 B for each page and 8 B for each page of memory. The FIFO is an array in the order
//!   in which pages came. What was evicted leaves a hole, and holes are squeezed out when the array is full.
//! - Source: Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024.
//! - Limits: it does not resist loops that are larger than memory.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, NONE, Page, ahead};

pub(super) const SPEC: Spec = Spec::of::<Sieve>(
    "sieve",
    "a hand sifts a FIFO and moves nothing",
    "Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024",
);

const OUT: u8 = 0;
const IN: u8 = 1;
const VISITED: u8 = 2;
/// Places of the array for each page of memory. With as many holes as pages, a page is moved at most once for each that comes.
const PLACES: usize = 2;

struct Sieve {
    /// Pages from the oldest to the newest, or [`NONE`]; the last is never a hole.
    queue: Vec<Page>,
    /// The place that is examined next.
    hand: usize,
    resident: usize,
    state: Vec<u8>,
    capacity: usize,
    is_far: bool,
}

impl Policy for Sieve {
    const ENTRY: usize = 1;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let pages = setup.pages();
        Ok(Self {
            queue: Vec::with_capacity(PLACES * setup.capacity),
            hand: 0,
            resident: 0,
            state: vec![OUT; pages],
            capacity: setup.capacity,
            is_far: ahead::pays(pages * Self::ENTRY),
        })
    }

    #[inline]
    fn fetch(&self, page: Page) {
        ahead::fetch(&self.state, page as usize);
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let state = &mut self.state[page as usize];
        if *state != OUT {
            *state = VISITED;
            return Access::Hit;
        }
        *state = IN;
        if self.resident < self.capacity {
            self.resident += 1;
        } else {
            evicted.note(self.sift());
        }
        if self.queue.len() == PLACES * self.capacity {
            self.squeeze();
        }
        self.queue.push(page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Sieve {
    /// Moves the hand to a page that was not used, and takes it out.
    #[inline]
    fn sift(&mut self) -> Page {
        loop {
            let place = self.hand;
            let page = self.queue[place];
            self.hand += 1;
            if page == NONE {
                continue;
            }
            if self.is_far {
                if let Some(soon) = self.queue.get(place + ahead::STEPS) {
                    ahead::fetch(&self.state, *soon as usize);
                }
            }
            let state = &mut self.state[page as usize];
            *state -= 1;
            let is_out = *state == OUT;
            if is_out {
                self.queue[place] = NONE;
                while self.queue.last() == Some(&NONE) {
                    self.queue.pop();
                }
            }
            if self.hand >= self.queue.len() {
                self.hand = 0;
            }
            if is_out {
                return page;
            }
        }
    }

    /// Moves pages together over the holes.
    #[cold]
    fn squeeze(&mut self) {
        let holes = self.queue[..self.hand].iter();
        self.hand -= holes.filter(|page| **page == NONE).count();
        self.queue.retain(|page| *page != NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use proptest::prelude::*;

    /// A page of the FIFO, and whether it was used since the hand passed it.
    type Seen = (Page, bool);

    /// By a list without holes; `hand` counts from its oldest page.
    fn sift(list: &mut Vec<Seen>, hand: &mut usize) -> Page {
        loop {
            if list[*hand].1 {
                list[*hand].1 = false;
                *hand = (*hand + 1) % list.len();
            } else {
                let (page, _) = list.remove(*hand);
                if *hand == list.len() {
                    *hand = 0;
                }
                return page;
            }
        }
    }

    proptest! {
        #[test]
        fn the_array_is_a_list(pages in prop::collection::vec(0..30_u64, 1..500), capacity in 1..31_usize, is_far in any::<bool>()) {
            let trace = Trace::of(&pages).unwrap();
            let options = SPEC.defaults();
            let capacity = capacity.min(trace.pages());
            let mut sieve = Sieve::new(&Setup { capacity, trace: &trace, options: &options }).unwrap();
            sieve.is_far = is_far;
            let mut list: Vec<Seen> = Vec::new();
            let mut hand = 0;
            for page in trace.refs() {
                let mut evicted = Vec::new();
                let access = sieve.access(*page, 0, &mut evicted);
                let mut expected = Vec::new();
                let seen = list.iter_mut().find(|(other, _)| other == page);
                prop_assert_eq!(access == Access::Hit, seen.is_some());
                if let Some(seen) = seen {
                    seen.1 = true;
                } else {
                    if list.len() == capacity {
                        expected.push(sift(&mut list, &mut hand));
                    }
                    list.push((*page, false));
                }
                prop_assert_eq!(evicted, expected);
                prop_assert_eq!(sieve.resident(), list.len());
            }
        }
    }
}
