//! The working-set policy: in memory is what was used in the last θ.
//!
//! - Law: w(t,θ) = pages whose last use is in (t−θ, t]; a reference misses iff its interval is above θ.
//! - Cost: O(1) amortised, 4 B for each page beside the trace. All θ at once: [`crate::measure::interval`].
//! - Source: Denning, CACM 11(5), 1968.

use super::{Access, Gone, Policy, Room, Spec};
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
    /// Each page's last reference, [`NONE`] if it is not in the set.
    last: Vec<u32>,
    /// The oldest reference in the window.
    oldest: usize,
    at: usize,
    size: usize,
    theta: u64,
}

impl Policy for WorkingSet {
    const VARIABLE: bool = true;

    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let theta = room.option("theta");
        if theta < 1.0 {
            return Err(Error::Unfit(format!("ws: theta is 1 or more, not {theta}")));
        }
        let (refs, time) = room.trace.shared();
        Ok(Self {
            refs,
            time,
            last: vec![NONE; room.pages()],
            oldest: 0,
            at: 0,
            size: 0,
            theta: theta as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        // One used exactly theta ago is still there to be hit.
        self.expire(now.saturating_sub(self.theta), gone);
        let last = std::mem::replace(&mut self.last[page as usize], self.at as u32);
        self.size += usize::from(last == NONE);
        self.at += 1;
        self.expire((now + 1).saturating_sub(self.theta), gone);
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
    /// Uses before a time are out of the window.
    #[inline]
    fn expire(&mut self, before: u64, gone: &mut impl Gone) {
        while self.oldest < self.at
            && self
                .time
                .as_ref()
                .map_or(self.oldest as u64, |time| time[self.oldest])
                < before
        {
            let page = self.refs[self.oldest];
            if self.last[page as usize] == self.oldest as u32 {
                self.last[page as usize] = NONE;
                self.size -= 1;
                gone.gone(page);
            }
            self.oldest += 1;
        }
    }
}
