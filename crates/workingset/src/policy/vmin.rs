//! VMIN: the optimum of variable memory: a page stays after a use if it comes back within t, else it leaves at once.
//!
//! - Law: as many misses as the working set of the same window, in the least memory that allows them.
//! - Cost: O(1), 1 B for each page, and 4 B for each reference, shared.
//! - Source: Prieve, Fabry, CACM 19(5), 1976.

use super::{Access, Gone, NEVER, Policy, Room, Spec};
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
    /// The page used last, if it is not kept: it is in memory while it is used.
    passing: usize,
    at: usize,
    t: u64,
}

impl Policy for Vmin {
    const VARIABLE: bool = true;

    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let t = room.option("t");
        if t < 1.0 {
            return Err(Error::Unfit(format!("vmin: t is 1 or more, not {t}")));
        }
        Ok(Self {
            time: room.trace.shared().1,
            next: room.trace.next_uses(),
            kept: vec![false; room.pages()],
            size: 0,
            passing: 0,
            at: 0,
            t: t as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        let next = self.next[self.at];
        self.at += 1;
        let back = match (next, &self.time) {
            (NEVER, _) => None,
            (next, Some(time)) => Some(time[next as usize] - now),
            (next, None) => Some(u64::from(next) - now),
        };
        let keep = back.is_some_and(|back| back <= self.t);
        let was = std::mem::replace(&mut self.kept[page as usize], keep);
        self.size = self.size + usize::from(keep) - usize::from(was);
        self.passing = usize::from(!keep);
        if !keep {
            gone.gone(page);
        }
        if was { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.size + self.passing
    }
}
