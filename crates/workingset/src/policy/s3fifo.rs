//! S3-FIFO: a small FIFO to weed out what is used once, a main one for the rest, and a memory of what was weeded out.
//!
//! - Law: a page enters S (`small`·c), or M if G remembers it. S's oldest goes to M if it was used `threshold` times
//!   since, else leaves and is remembered in G (as many as M holds). M's oldest goes round again with one use less
//!   while it has any. S gives unless it is empty or M is above its share.
//! - Cost: O(1) amortised, 9 B for each page.
//! - Source: Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023. The paper's text moves at more than one use, which is a
//!   `threshold` of 2; 1 is another variant in use.

use super::{Access, Gone, Policy, Room, Spec};
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<S3Fifo>(
    "s3fifo",
    "a small FIFO, a main one, and a ghost",
    "Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023",
)
.with(&[
    ("small", 0.1, "share of memory for the small FIFO"),
    ("ghost", 0.9, "pages remembered, as a share of memory"),
    (
        "threshold",
        2.0,
        "uses in the small FIFO that lead to the main one",
    ),
]);

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 2;
const NOWHERE: u8 = 3;
const MOST: u8 = 3;

struct S3Fifo {
    lists: Links<3>,
    /// The list in the lower half, the uses above.
    state: Vec<u8>,
    capacity: usize,
    main: usize,
    ghost: usize,
    threshold: u8,
}

impl Policy for S3Fifo {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let small = room.option("small");
        let threshold = room.option("threshold");
        if small > 1.0 || !(1.0..=3.0).contains(&threshold) {
            return Err(Error::Unfit(format!(
                "s3fifo: small is a share, not {small}; a threshold is 1 to 3, not {threshold}"
            )));
        }
        let share = |share: f64| (room.capacity as f64 * share) as usize;
        Ok(Self {
            lists: Links::new(room.pages()),
            state: vec![NOWHERE; room.pages()],
            capacity: room.capacity,
            main: room.capacity - share(small),
            ghost: share(room.option("ghost")),
            threshold: threshold as u8,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        let state = &mut self.state[page as usize];
        let list = usize::from(*state & 0xf);
        if list <= MAIN {
            *state = if *state >> 4 < MOST {
                *state + 0x10
            } else {
                *state
            };
            return Access::Hit;
        }
        if list == GHOST {
            self.lists.remove(GHOST, page);
            *state = NOWHERE;
        }
        while self.resident() >= self.capacity {
            self.evict(gone);
        }
        self.put(if list == GHOST { MAIN } else { SMALL }, page, 0);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.lists.len(SMALL) + self.lists.len(MAIN)
    }
}

impl S3Fifo {
    #[inline]
    fn put(&mut self, list: usize, page: Page, uses: u8) {
        self.lists.push_front(list, page);
        self.state[page as usize] = list as u8 | uses << 4;
    }

    fn evict(&mut self, gone: &mut impl Gone) {
        if self.lists.len(MAIN) > self.main || self.lists.is_empty(SMALL) {
            self.evict_main(gone);
        } else {
            self.evict_small(gone);
        }
    }

    fn evict_small(&mut self, gone: &mut impl Gone) {
        while let Some(seen) = self.lists.pop_back(SMALL) {
            if self.state[seen as usize] >> 4 >= self.threshold {
                self.put(MAIN, seen, 0);
                continue;
            }
            self.state[seen as usize] = NOWHERE;
            gone.gone(seen);
            self.remember(seen);
            return;
        }
    }

    fn remember(&mut self, page: Page) {
        if self.ghost == 0 {
            return;
        }
        if self.lists.len(GHOST) == self.ghost {
            if let Some(forgotten) = self.lists.pop_back(GHOST) {
                self.state[forgotten as usize] = NOWHERE;
            }
        }
        self.put(GHOST, page, 0);
    }

    fn evict_main(&mut self, gone: &mut impl Gone) {
        while let Some(seen) = self.lists.pop_back(MAIN) {
            let uses = self.state[seen as usize] >> 4;
            if uses == 0 {
                self.state[seen as usize] = NOWHERE;
                gone.gone(seen);
                return;
            }
            self.put(MAIN, seen, uses - 1);
        }
    }
}
