//! PFF, page-fault frequency: memory grows while faults are frequent. A fault after a long time
//! without one drops the pages that were not used since.
//!
//! - Rule: at a miss at `now`, if now − (last miss) ≥ p, every page not used since the last miss
//!   leaves.
//! - Cost: O(1) for each reference, amortised; 4 B for each page and 4 B for each page of memory.
//! - Source: Chu, Opderbeck, AFIPS FJCC 1972.
//! - Limits: it is no stack policy: neither its size nor its misses are monotonic in p.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Pff>(
    "pff",
    "memory by the frequency of faults",
    "Chu, Opderbeck, AFIPS FJCC 1972",
)
.with(&[(
    "p",
    0.0,
    "time between faults above which memory shrinks, in the trace's time",
)])
.fitted("p");

struct Pff {
    set: Vec<Page>,
    /// The number of faults at each page's last use; 0 if the page is not in memory.
    used: Vec<u32>,
    faults: u32,
    last: u64,
    p: u64,
}

impl Policy for Pff {
    const VARIABLE: bool = true;

    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let p = setup.option("p");
        if p < 1.0 {
            return Err(Error::Unfit(format!("pff: p is 1 or more, not {p}")));
        }
        Ok(Self {
            set: Vec::new(),
            used: vec![0; setup.pages()],
            faults: 0,
            last: 0,
            p: p as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        if self.used[page as usize] != 0 {
            self.used[page as usize] = self.faults;
            return Access::Hit;
        }
        if now - self.last >= self.p {
            self.shrink(evicted);
        }
        self.last = now;
        self.faults += 1;
        self.set.push(page);
        self.used[page as usize] = self.faults;
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.set.len()
    }
}

impl Pff {
    /// Evicts every page that was not used since the last fault.
    fn shrink(&mut self, evicted: &mut impl Evictions) {
        let used = &mut self.used;
        let faults = self.faults;
        self.set.retain(|page| {
            let stays = used[*page as usize] == faults;
            if !stays {
                used[*page as usize] = 0;
                evicted.note(*page);
            }
            stays
        });
    }
}
