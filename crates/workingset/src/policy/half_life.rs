//! Half-life FIFO: a page leaves a fixed time after it was loaded, used or not.
//!
//! If the residence of pages in the working set decayed exponentially, as atoms do, this timer
//! would be as good as the working set. The founding report asked whether it is; it is not
//! ([`crate::measure::residence`]).
//!
//! - Rule: a miss iff the page was never loaded or now − load ≥ h; then load ← now.
//! - Cost: O(1) for each reference, amortised; 8 B for each page and 4 B for each page of memory.
//! - Source: the founding report on working sets (MSc, Birkbeck, 2011), "half life" of residence.
//! - Limits: a page in constant use is loaded again after every h.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
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
    /// Pages in memory, the oldest in front.
    order: VecDeque<Page>,
    /// When each page was loaded; [`OUT`] if it is not in memory.
    loaded: Vec<u64>,
    h: u64,
}

impl Policy for HalfLife {
    const VARIABLE: bool = true;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let h = setup.option("h");
        if h < 1.0 {
            return Err(Error::Unfit(format!("half-life: h is 1 or more, not {h}")));
        }
        Ok(Self {
            order: VecDeque::new(),
            loaded: vec![OUT; setup.pages()],
            h: h as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        while let Some(&old) = self.order.front() {
            if now - self.loaded[old as usize] < self.h {
                break;
            }
            self.order.pop_front();
            self.loaded[old as usize] = OUT;
            evicted.note(old);
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
