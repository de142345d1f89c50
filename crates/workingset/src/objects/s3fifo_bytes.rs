//! S3-FIFO with a memory in bytes: the three queues of the policy of pages have shares of bytes.
//!
//! - Rule: that of the policy of pages. An object as large as the small FIFO's share is let in only
//!   if it is in the ghost list.
//! - Cost: O(1) for each reference, amortised; 14 B for each object.
//! - Source: Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023, and libCacheSim, whose authors are those of
//!   the paper. The paper itself has objects of one size.
//! - Limits: objects above a tenth of the cache are in it only after two misses.

use super::contract::{ObjectPolicy, ObjectSetup};
use super::object_spec::ObjectSpec;
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const SPEC: ObjectSpec = ObjectSpec::of::<S3FifoBytes>(
    "s3fifo",
    "a small FIFO, a main one, and a ghost, with shares of bytes",
    "Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023, in bytes as libCacheSim",
)
.with(&[
    ("small", 0.1, "share of the cache for the small FIFO"),
    ("ghost", 0.9, "bytes remembered, as a share of the cache"),
    (
        "threshold",
        2.0,
        "uses in the small FIFO that lead to the main one",
    ),
    (
        "fill",
        0.0,
        "1: until the first eviction, what exceeds the small FIFO's share enters the main one, as in the authors' program; 0 is the paper",
    ),
]);

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 2;
const LISTS: usize = 3;
const NOWHERE: u8 = 3;
/// Uses are counted up to this, as in the paper: two bits.
const MOST: u8 = 3;

struct S3FifoBytes {
    lists: Links<LISTS>,
    /// Bytes of each list.
    bytes: [u64; LISTS],
    /// Each object's list.
    list: Vec<u8>,
    uses: Vec<u8>,
    size: Vec<u32>,
    small: u64,
    main: u64,
    ghost: u64,
    threshold: u8,
    fills_main: bool,
    /// Whether the object that is let in was in the ghost list.
    is_remembered: bool,
}

impl ObjectPolicy for S3FifoBytes {
    fn new(setup: &ObjectSetup<'_>) -> Result<Self, Error> {
        let share = setup.option("small");
        let threshold = setup.option("threshold");
        if share > 1.0 || !(1.0..=3.0).contains(&threshold) {
            return Err(Error::Unfit(format!(
                "s3fifo: small is a share, not {share}; a threshold is 1 to 3, not {threshold}"
            )));
        }
        let small = setup.share(share);
        Ok(Self {
            lists: Links::new(setup.objects),
            bytes: [0; LISTS],
            list: vec![NOWHERE; setup.objects],
            uses: vec![0; setup.objects],
            size: vec![0; setup.objects],
            small,
            main: setup.capacity - small,
            ghost: setup.share(setup.option("ghost")),
            threshold: threshold as u8,
            fills_main: setup.option("fill") >= 1.0,
            is_remembered: false,
        })
    }

    #[inline]
    fn hit(&mut self, object: Page, _: u32) {
        let uses = &mut self.uses[object as usize];
        *uses = MOST.min(*uses + 1);
    }

    fn admits(&mut self, object: Page, size: u32, _: u64) -> bool {
        self.is_remembered = usize::from(self.list[object as usize]) == GHOST;
        if self.is_remembered {
            self.remove(object);
        }
        self.is_remembered || u64::from(size) < self.small
    }

    fn insert(&mut self, object: Page, size: u32) {
        self.size[object as usize] = size;
        self.uses[object as usize] = 0;
        let passes_small = self.fills_main && self.bytes[SMALL] >= self.small;
        let to = if self.is_remembered || passes_small {
            MAIN
        } else {
            SMALL
        };
        self.put(to, object);
    }

    fn evict(&mut self) -> Page {
        self.fills_main = false;
        if self.bytes[MAIN] > self.main || self.lists.is_empty(SMALL) {
            self.evict_main()
        } else {
            self.evict_small()
        }
    }

    fn remove(&mut self, object: Page) {
        let list = usize::from(self.list[object as usize]);
        self.lists.remove(list, object);
        self.left(list, object);
    }

    fn resize(&mut self, object: Page, size: u32) {
        let list = usize::from(self.list[object as usize]);
        let before = std::mem::replace(&mut self.size[object as usize], size);
        self.bytes[list] = self.bytes[list] - u64::from(before) + u64::from(size);
    }
}

impl S3FifoBytes {
    fn put(&mut self, list: usize, object: Page) {
        self.lists.push_front(list, object);
        self.list[object as usize] = list as u8;
        self.bytes[list] += u64::from(self.size[object as usize]);
    }

    fn pop(&mut self, list: usize) -> Option<Page> {
        let object = self.lists.pop_back(list)?;
        self.left(list, object);
        Some(object)
    }

    fn left(&mut self, list: usize, object: Page) {
        self.list[object as usize] = NOWHERE;
        self.bytes[list] -= u64::from(self.size[object as usize]);
    }

    /// Moves used objects to the main FIFO until one has not been used. If there is none, the main FIFO gives one.
    fn evict_small(&mut self) -> Page {
        while let Some(seen) = self.pop(SMALL) {
            if self.uses[seen as usize] < self.threshold {
                self.remember(seen);
                return seen;
            }
            self.uses[seen as usize] = 0;
            self.put(MAIN, seen);
        }
        self.evict_main()
    }

    fn evict_main(&mut self) -> Page {
        while let Some(seen) = self.pop(MAIN) {
            let uses = &mut self.uses[seen as usize];
            if *uses == 0 {
                return seen;
            }
            *uses -= 1;
            self.put(MAIN, seen);
        }
        NONE
    }

    fn remember(&mut self, object: Page) {
        let size = u64::from(self.size[object as usize]);
        if size > self.ghost {
            return;
        }
        while self.bytes[GHOST] + size > self.ghost {
            self.pop(GHOST);
        }
        self.put(GHOST, object);
    }
}
