//! LIRS: evicts by the distance between the last two uses of a page (inter-reference recency), not
//! by the last use.
//!
//! Pages of a small distance are LIR and stay. The others, HIR, pass through a small queue Q. The
//! stack S orders pages by last use, down to the oldest LIR page, and remembers HIR pages that were
//! evicted. A HIR page that is used while it is in S has a smaller distance than the last LIR page
//! of S, and takes its place.
//!
//! - Rule: |LIR| ≤ c − h with h = max(2, `hir`·c). A miss evicts the oldest page of Q. A HIR page
//!   that is used while in S becomes LIR, the last LIR page of S becomes HIR, and S is pruned so
//!   that it ends in a LIR page.
//! - Cost: O(1) for each reference, amortised; 17 B for each page. S has no bound of its own: it
//!   holds each page once.
//! - Source: Jiang, Zhang, SIGMETRICS 2002. As in the authors' program, a use right after a use of
//!   the same page is not counted.
//! - Limits: with two pages of memory or fewer there are no LIR pages, and it is a queue.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
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
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let hir = setup.option("hir");
        if hir > 1.0 {
            return Err(Error::Unfit(format!(
                "lirs: hir is a share of memory, not {hir}"
            )));
        }
        let passing = ((setup.capacity as f64 * hir) as usize).max(2);
        Ok(Self {
            stack: Links::new(setup.pages()),
            queue: Links::new(setup.pages()),
            state: vec![0; setup.pages()],
            resident: 0,
            lir: 0,
            capacity: setup.capacity,
            limit: setup.capacity.saturating_sub(passing),
            last: NONE,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
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
            self.evict_if_full(evicted);
        }
        self.used(page, state);
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

impl Lirs {
    /// Moves a HIR page, or one that is not in memory, to the front.
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

    fn evict_if_full(&mut self, evicted: &mut impl Evictions) {
        if self.resident < self.capacity {
            self.resident += 1;
            return;
        }
        if let Some(victim) = self.queue.pop_back(0) {
            self.state[victim as usize] &= !(RESIDENT | IN_QUEUE);
            evicted.note(victim);
        }
    }

    /// Makes the LIR page at the stack's end a HIR page.
    fn demote(&mut self) {
        self.prune();
        if let Some(page) = self.stack.pop_back(0) {
            self.state[page as usize] = RESIDENT | IN_QUEUE;
            self.queue.push_front(0, page);
            self.lir -= 1;
        }
    }

    /// Removes HIR pages from the stack's end, so that it ends in a LIR page.
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
