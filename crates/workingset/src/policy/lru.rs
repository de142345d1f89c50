//! LRU: the page that was not used for longest goes.
//!
//! - Law: evict argmin over resident p of last(p). A stack algorithm: its misses at every size are one pass
//!   ([`crate::measure::stack`]).
//! - Cost: O(1), 8 B for each page.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970.
//! - Limits: a loop of one page more than memory misses every time.

use super::{Access, Gone, Policy, Room, Spec};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        Ok(Self {
            list: Links::new(room.pages()),
            resident: vec![false; room.pages()],
            capacity: room.capacity,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        if self.resident[page as usize] {
            self.list.to_front(0, page);
            return Access::Hit;
        }
        if self.list.len(0) == self.capacity {
            if let Some(victim) = self.list.pop_back(0) {
                self.resident[victim as usize] = false;
                gone.gone(victim);
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
