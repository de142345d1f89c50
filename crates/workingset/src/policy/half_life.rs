//! Half-life FIFO: a page leaves a fixed time after it was loaded, used or not.
//!
//! If residence in the working set decayed like a nucleus, a timer would do as well as the working set. Its author
//! asked; it does not ([`crate::measure::residence`]).
//!
//! - Law: miss iff never loaded or now − load ≥ h; then load ← now.
//! - Cost: O(1), 8 B for each page and 4 B for each page of memory.
//! - Source: the founding report on working sets (MSc, Birkbeck, 2011), "half life" of residence.

use super::{Access, Gone, Policy, Room, Spec};
use crate::{Error, Page};
use std::collections::VecDeque;

pub(super) const SPEC: Spec = Spec::of::<HalfLife>(
    "half-life",
    "FIFO by age: a page leaves a fixed time after it came",
    "the founding report on working sets, Birkbeck, 2011",
)
.with(&[("h", 0.0, "time in memory, in the trace's time")])
.fitted("h");

const OUT: u64 = u64::MAX;

struct HalfLife {
    /// Resident pages, the oldest in front.
    order: VecDeque<Page>,
    /// When each was loaded; `OUT` if it is not resident.
    loaded: Vec<u64>,
    h: u64,
}

impl Policy for HalfLife {
    const VARIABLE: bool = true;

    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let h = room.option("h");
        if h < 1.0 {
            return Err(Error::Unfit(format!("half-life: h is 1 or more, not {h}")));
        }
        Ok(Self {
            order: VecDeque::new(),
            loaded: vec![OUT; room.pages()],
            h: h as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        while let Some(&old) = self.order.front() {
            if now - self.loaded[old as usize] < self.h {
                break;
            }
            self.order.pop_front();
            self.loaded[old as usize] = OUT;
            gone.gone(old);
        }
        if self.loaded[page as usize] != OUT {
            return Access::Hit;
        }
        self.loaded[page as usize] = now;
        self.order.push_back(page);
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.order.len()
    }
}
