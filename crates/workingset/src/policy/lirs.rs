//! LIRS: what matters is not when a page was last used, but how many others were between its last two uses.
//!
//! Pages with a small such distance are LIR and stay; the rest, HIR, pass through a small queue Q. The stack S orders
//! pages by last use, down to the oldest LIR page, and remembers HIR pages that have left: one that is used again while
//! still in S has a smaller distance than that LIR page, and takes its place.
//!
//! - Law: |LIR| ≤ c − h, h = max(2, `hir`·c); a miss evicts Q's oldest; a HIR page used while in S becomes LIR, the LIR
//!   page at S's end becomes HIR, and S is pruned to end in a LIR page.
//! - Cost: O(1) amortised, 17 B for each page. S is not bounded: the dense pages bound it.
//! - Source: Jiang, Zhang, SIGMETRICS 2002, and as its authors' program does: a use right after one of the same page is
//!   no use.
//! - Limits: in memory of two pages and less it is a queue.

use super::{Access, Gone, Policy, Room, Spec};
use crate::links::Links;
use crate::{Error, NONE, Page};

pub(super) const SPEC: Spec = Spec::of::<Lirs>(
    "lirs",
    "by the distance between the last two uses",
    "Jiang, Zhang, SIGMETRICS 2002",
)
.with(&[(
    "hir",
    0.01,
    "share of memory for pages that are passing through",
)]);

const RESIDENT: u8 = 1;
const LIR: u8 = 2;
const IN_STACK: u8 = 4;
const IN_QUEUE: u8 = 8;

struct Lirs {
    stack: Links<1>,
    queue: Links<1>,
    state: Vec<u8>,
    resident: usize,
    lir: usize,
    capacity: usize,
    /// LIR pages at most.
    limit: usize,
    last: Page,
}

impl Policy for Lirs {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let hir = room.option("hir");
        if hir > 1.0 {
            return Err(Error::Unfit(format!(
                "lirs: hir is a share of memory, not {hir}"
            )));
        }
        let passing = ((room.capacity as f64 * hir) as usize).max(2);
        Ok(Self {
            stack: Links::new(room.pages()),
            queue: Links::new(room.pages()),
            state: vec![0; room.pages()],
            resident: 0,
            lir: 0,
            capacity: room.capacity,
            limit: room.capacity.saturating_sub(passing),
            last: NONE,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, gone: &mut impl Gone) -> Access {
        if page == self.last {
            return Access::Hit;
        }
        self.last = page;
        let state = self.state[page as usize];
        if state & LIR != 0 {
            let was_last = self.stack.back(0) == Some(page);
            self.stack.to_front(0, page);
            if was_last {
                self.prune();
            }
            return Access::Hit;
        }
        let hit = state & RESIDENT != 0;
        if !hit {
            self.make_room(gone);
        }
        self.used(page, state);
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Lirs {
    /// A HIR page, or one that is not in memory, comes to the front.
    fn used(&mut self, page: Page, state: u8) {
        if state & IN_QUEUE != 0 {
            self.queue.remove(0, page);
        }
        if state & IN_STACK != 0 {
            self.stack.to_front(0, page);
        } else {
            self.stack.push_front(0, page);
        }
        let fills = state & RESIDENT == 0 && self.lir < self.limit;
        if fills || (state & IN_STACK != 0 && self.limit > 0) {
            self.state[page as usize] = RESIDENT | LIR | IN_STACK;
            self.lir += 1;
            if self.lir > self.limit {
                self.demote();
            }
            self.prune();
        } else {
            self.state[page as usize] = RESIDENT | IN_STACK | IN_QUEUE;
            self.queue.push_front(0, page);
            self.prune();
        }
    }

    fn make_room(&mut self, gone: &mut impl Gone) {
        if self.resident < self.capacity {
            self.resident += 1;
            return;
        }
        if let Some(victim) = self.queue.pop_back(0) {
            self.state[victim as usize] &= !(RESIDENT | IN_QUEUE);
            gone.gone(victim);
        }
    }

    /// The LIR page at the stack's end becomes HIR.
    fn demote(&mut self) {
        self.prune();
        if let Some(page) = self.stack.pop_back(0) {
            self.state[page as usize] = RESIDENT | IN_QUEUE;
            self.queue.push_front(0, page);
            self.lir -= 1;
        }
    }

    /// The stack ends in a LIR page. With no LIR page at all it would be a list of what is resident.
    fn prune(&mut self) {
        while let Some(page) = self.stack.back(0) {
            if self.state[page as usize] & LIR != 0 {
                return;
            }
            self.stack.remove(0, page);
            self.state[page as usize] &= !IN_STACK;
        }
    }
}
