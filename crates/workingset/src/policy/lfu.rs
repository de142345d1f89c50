//! LFU: the page with the fewest uses since it was loaded is evicted, among equals the oldest.
//!
//! - Rule: evict argmin over resident p of (uses since load, time of the last change of that
//!   count).
//! - Cost: O(1) for each reference: one list in the order of the counts, and the last page of each
//!   count. 13 B for each page, 4 B for each count up to the largest.
//! - Source: Coffman, Denning, Operating Systems Theory, 1973, 6.6.
//! - Limits: a page that was used often long ago stays.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const SPEC: Spec = Spec::of::<Lfu>(
    "lfu",
    "the least often used since it came goes",
    "Coffman, Denning, Operating Systems Theory, 1973, 6.6",
);

struct Lfu {
    /// Many uses at the front, few at the back; among equals the oldest nearest to the back.
    order: Links<1>,
    uses: Vec<u32>,
    /// The front-most page of each count.
    first: Vec<Page>,
    capacity: usize,
}

impl Policy for Lfu {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let pages = setup.pages();
        Ok(Self {
            order: Links::new(pages),
            uses: vec![0; pages],
            first: vec![NONE; 2],
            capacity: setup.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let uses = self.uses[page as usize];
        if uses > 0 {
            self.promote(page, uses as usize);
            return Access::Hit;
        }
        if self.order.len(0) == self.capacity {
            self.evict(evicted);
        }
        match self.first[1] {
            NONE => self.order.push_back(0, page),
            first => self.order.push_before(0, first, page),
        }
        self.first[1] = page;
        self.uses[page as usize] = 1;
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.order.len(0)
    }
}

impl Lfu {
    fn promote(&mut self, page: Page, uses: usize) {
        if self.first.len() == uses + 1 {
            self.first.push(NONE);
        }
        let ahead = self.first[uses + 1];
        let own = self.first[uses];
        self.leave(page, uses);
        // Behind the pages of the next count; if there are none, in front of those of its own
        // count.
        let beside = if ahead == NONE {
            Some(own).filter(|own| *own != page)
        } else {
            Some(ahead)
        };
        // If it is itself the front-most page of its count, its place is right already.
        if let Some(beside) = beside {
            self.order.remove(0, page);
            self.order.push_before(0, beside, page);
        }
        self.first[uses + 1] = page;
        self.uses[page as usize] = uses as u32 + 1;
    }

    /// Chooses another front-most page of a count if this page is it.
    fn leave(&mut self, page: Page, uses: usize) {
        if self.first[uses] == page {
            let behind = self
                .order
                .towards_back(page)
                .filter(|behind| self.uses[*behind as usize] == uses as u32);
            self.first[uses] = behind.unwrap_or(NONE);
        }
    }

    fn evict(&mut self, evicted: &mut impl Evictions) {
        let Some(victim) = self.order.back(0) else {
            return;
        };
        self.leave(victim, self.uses[victim as usize] as usize);
        self.order.remove(0, victim);
        self.uses[victim as usize] = 0;
        evicted.note(victim);
    }
}
