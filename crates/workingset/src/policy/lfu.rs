//! LFU: the page used least often since it came goes, the oldest among equals.
//!
//! - Law: evict argmin over resident p of (uses since load, time of the last change of that count).
//! - Cost: O(1): one list in the order of counts, and the last page of each count. 13 B for each page, 4 B for the
//!   largest count.
//! - Source: Coffman, Denning, Operating Systems Theory, 1973, 6.6.
//! - Limits: what was hot once stays.

use super::{Access, Gone, Policy, Room, Spec};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let pages = room.pages();
        Ok(Self {
            order: Links::new(pages),
            uses: vec![0; pages],
            first: vec![NONE; 2],
            capacity: room.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        let uses = self.uses[page as usize];
        if uses > 0 {
            self.promote(page, uses as usize);
            return Access::Hit;
        }
        if self.order.len(0) == self.capacity {
            self.evict(gone);
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
        // Before the next count's pages; if there are none, where its own count ended.
        let beside = if ahead == NONE {
            Some(own).filter(|own| *own != page)
        } else {
            Some(ahead)
        };
        // The front-most of its count stays where it is.
        if let Some(beside) = beside {
            self.order.remove(0, page);
            self.order.push_before(0, beside, page);
        }
        self.first[uses + 1] = page;
        self.uses[page as usize] = uses as u32 + 1;
    }

    /// The count's front-most page changes if this was it.
    fn leave(&mut self, page: Page, uses: usize) {
        if self.first[uses] == page {
            let behind = self
                .order
                .towards_back(page)
                .filter(|behind| self.uses[*behind as usize] == uses as u32);
            self.first[uses] = behind.unwrap_or(NONE);
        }
    }

    fn evict(&mut self, gone: &mut impl Gone) {
        let Some(victim) = self.order.back(0) else {
            return;
        };
        self.leave(victim, self.uses[victim as usize] as usize);
        self.order.remove(0, victim);
        self.uses[victim as usize] = 0;
        gone.gone(victim);
    }
}
