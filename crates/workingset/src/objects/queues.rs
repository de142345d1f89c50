//! FIFO, LRU, CLOCK and SIEVE with a memory in bytes: the control for policies that look at sizes.
//!
//! - Rule: that of the policy of pages of the same name. As many objects leave as are needed for
//!   the room, and none of them is chosen for its size.
//! - Cost: O(1) for each reference, amortised; 8 to 9 B for each object.
//! - Source: those of the policies of pages.
//! - Limits: one large object drives many small ones out.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::object_spec::ObjectSpec;
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const FIFO: ObjectSpec = ObjectSpec::of::<Fifo>(
    "fifo",
    "the object longest in the cache leaves",
    "Belady 1966, in bytes",
);

pub(super) const LRU: ObjectSpec = ObjectSpec::of::<Lru>(
    "lru",
    "the object longest unused leaves",
    "Mattson et al. 1970, in bytes",
);

pub(super) const CLOCK: ObjectSpec = ObjectSpec::of::<Clock>(
    "clock",
    "a FIFO that spares a used object once",
    "Corbató 1968, in bytes",
);

pub(super) const SIEVE: ObjectSpec = ObjectSpec::of::<Sieve>(
    "sieve",
    "a hand sifts a FIFO and moves nothing",
    "Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024, in bytes",
);

/// The only list of each of these policies.
const QUEUE: usize = 0;

struct Fifo {
    queue: Links<1>,
}

impl ObjectPolicy for Fifo {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            queue: Links::new(setup.objects),
        })
    }

    #[inline]
    fn hit(&mut self, _: Page, _: u32) {}

    fn insert(&mut self, object: Page, _: u32) {
        self.queue.push_front(QUEUE, object);
    }

    fn evict(&mut self) -> Page {
        self.queue.pop_back(QUEUE).unwrap_or(NONE)
    }

    fn remove(&mut self, object: Page) {
        self.queue.remove(QUEUE, object);
    }
}

struct Lru {
    queue: Links<1>,
}

impl ObjectPolicy for Lru {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            queue: Links::new(setup.objects),
        })
    }

    #[inline]
    fn hit(&mut self, object: Page, _: u32) {
        self.queue.to_front(QUEUE, object);
    }

    fn insert(&mut self, object: Page, _: u32) {
        self.queue.push_front(QUEUE, object);
    }

    fn evict(&mut self) -> Page {
        self.queue.pop_back(QUEUE).unwrap_or(NONE)
    }

    fn remove(&mut self, object: Page) {
        self.queue.remove(QUEUE, object);
    }
}

struct Clock {
    queue: Links<1>,
    is_used: Vec<bool>,
}

impl ObjectPolicy for Clock {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            queue: Links::new(setup.objects),
            is_used: vec![false; setup.objects],
        })
    }

    #[inline]
    fn hit(&mut self, object: Page, _: u32) {
        self.is_used[object as usize] = true;
    }

    fn insert(&mut self, object: Page, _: u32) {
        self.is_used[object as usize] = false;
        self.queue.push_front(QUEUE, object);
    }

    fn evict(&mut self) -> Page {
        while let Some(oldest) = self.queue.pop_back(QUEUE) {
            if !std::mem::take(&mut self.is_used[oldest as usize]) {
                return oldest;
            }
            self.queue.push_front(QUEUE, oldest);
        }
        NONE
    }

    fn remove(&mut self, object: Page) {
        self.queue.remove(QUEUE, object);
    }
}

struct Sieve {
    queue: Links<1>,
    is_used: Vec<bool>,
    /// The object that is examined next; `None`: the oldest.
    hand: Option<Page>,
}

impl ObjectPolicy for Sieve {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        Ok(Self {
            queue: Links::new(setup.objects),
            is_used: vec![false; setup.objects],
            hand: None,
        })
    }

    #[inline]
    fn hit(&mut self, object: Page, _: u32) {
        self.is_used[object as usize] = true;
    }

    fn insert(&mut self, object: Page, _: u32) {
        self.is_used[object as usize] = false;
        self.queue.push_front(QUEUE, object);
    }

    fn evict(&mut self) -> Page {
        while let Some(seen) = self.hand.or_else(|| self.queue.back(QUEUE)) {
            self.hand = self.queue.towards_front(seen);
            if !std::mem::take(&mut self.is_used[seen as usize]) {
                self.queue.remove(QUEUE, seen);
                return seen;
            }
        }
        NONE
    }

    fn remove(&mut self, object: Page) {
        if self.hand == Some(object) {
            self.hand = self.queue.towards_front(object);
        }
        self.queue.remove(QUEUE, object);
    }
}
