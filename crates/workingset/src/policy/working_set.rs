//! The working-set policy: memory holds the pages that were used within the last θ.
//!
//! - Rule: w(t,θ) = the pages with a last use in (t−θ, t]. A reference misses iff the time since
//!   the page's last use is above θ.
//! - Cost: O(1) for each reference, amortised; 4 B for each page beside the trace. One pass gives
//!   all θ: [`crate::measure::interval`].
//! - Source: Denning, CACM 11(5), 1968.
//! - Limits: the size has no bound; `theta` is fitted so that its mean is the capacity.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, NONE, Page};
use std::sync::Arc;

pub(super) const SPEC: Spec = Spec::of::<WorkingSet>(
    "ws",
    "what was used in the last theta",
    "Denning, CACM 11(5), 1968",
)
.with(&[("theta", 0.0, "the window, in the trace's time")])
.fitted("theta");

struct WorkingSet {
    refs: Arc<Vec<Page>>,
    time: Option<Arc<Vec<u64>>>,
    /// Each page's last reference; [`NONE`] if the page is not in the set.
    last: Vec<u32>,
    /// The oldest reference in the window.
    oldest: usize,
    at: usize,
    size: usize,
    theta: u64,
}

impl Policy for WorkingSet {
    const VARIABLE: bool = true;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let theta = setup.option("theta");
        if theta < 1.0 {
            return Err(Error::Unfit(format!("ws: theta is 1 or more, not {theta}")));
        }
        let (refs, time) = setup.trace.shared();
        Ok(Self {
            refs,
            time,
            last: vec![NONE; setup.pages()],
            oldest: 0,
            at: 0,
            size: 0,
            theta: theta as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        // A page used exactly theta ago still counts as a hit.
        self.expire(now.saturating_sub(self.theta), evicted);
        let last = std::mem::replace(&mut self.last[page as usize], self.at as u32);
        self.size += usize::from(last == NONE);
        self.at += 1;
        self.expire((now + 1).saturating_sub(self.theta), evicted);
        if last == NONE {
            Access::Miss
        } else {
            Access::Hit
        }
    }

    fn resident(&self) -> usize {
        self.size
    }
}

impl WorkingSet {
    /// Drops the uses before a time from the window.
    #[inline]
    fn expire(&mut self, before: u64, evicted: &mut impl Evictions) {
        while self.oldest < self.at && self.oldest_time() < before {
            let page = self.refs[self.oldest];
            if self.last[page as usize] == self.oldest as u32 {
                self.last[page as usize] = NONE;
                self.size -= 1;
                evicted.note(page);
            }
            self.oldest += 1;
        }
    }

    #[inline]
    fn oldest_time(&self) -> u64 {
        match &self.time {
            Some(time) => time[self.oldest],
            None => self.oldest as u64,
        }
    }
}
