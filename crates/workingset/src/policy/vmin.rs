//! VMIN: the optimum of variable memory. After a use a page stays if its next use comes within t,
//! otherwise it leaves at once.
//!
//! - Rule: as many misses as the working set of the same window, in the least memory that allows
//!   them.
//! - Cost: O(1) for each reference, 1 B for each page, and 4 B for each reference, which all runs
//!   on a trace share.
//! - Source: Prieve, Fabry, CACM 19(5), 1976.
//! - Limits: it must know the future, so it is a yardstick and no policy for a system.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::next_use::NEVER;
use crate::{Error, Page};
use std::sync::Arc;

pub(super) const SPEC: Spec = Spec::of::<Vmin>(
    "vmin",
    "the optimum of variable memory",
    "Prieve, Fabry, CACM 19(5), 1976",
)
.with(&[(
    "t",
    0.0,
    "a page stays if it comes back within, in the trace's time",
)])
.fitted("t");

struct Vmin {
    time: Option<Arc<Vec<u64>>>,
    next: Arc<Vec<u32>>,
    kept: Vec<bool>,
    size: usize,
    /// 1 if the page used last is not kept, else 0: it is in memory during its use.
    passing: usize,
    at: usize,
    t: u64,
}

impl Policy for Vmin {
    const VARIABLE: bool = true;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let t = setup.option("t");
        if t < 1.0 {
            return Err(Error::Unfit(format!("vmin: t is 1 or more, not {t}")));
        }
        Ok(Self {
            time: setup.trace.shared().1,
            next: setup.trace.next_uses(),
            kept: vec![false; setup.pages()],
            size: 0,
            passing: 0,
            at: 0,
            t: t as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        let next = self.next[self.at];
        self.at += 1;
        let back = match (next, &self.time) {
            (NEVER, _) => None,
            (next, Some(time)) => Some(time[next as usize] - now),
            (next, None) => Some(u64::from(next) - now),
        };
        let keep = back.is_some_and(|back| back <= self.t);
        let was = std::mem::replace(&mut self.kept[page as usize], keep);
        self.size += usize::from(keep);
        self.size -= usize::from(was);
        self.passing = usize::from(!keep);
        if !keep {
            evicted.note(page);
        }
        if was { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.size + self.passing
    }
}
