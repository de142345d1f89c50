//! PFF: page-fault frequency. Memory grows while faults are frequent; a fault after a long time without one drops what
//! was not used since.
//!
//! - Law: at a miss at `now`, if now − (last miss) ≥ p, every page not used since the last miss leaves.
//! - Cost: O(1) amortised, 8 B for each page and 4 B for each page of memory.
//! - Source: Chu, Opderbeck, AFIPS FJCC 1972.
//! - Limits: not a stack policy: its size and its misses are not monotonic in p.

use super::{Access, Gone, Policy, Room, Spec};
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
    /// One more than the fault since which each page was used; 0 is not in memory.
    used: Vec<u32>,
    faults: u32,
    last: u64,
    p: u64,
}

impl Policy for Pff {
    const VARIABLE: bool = true;

    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let p = room.option("p");
        if p < 1.0 {
            return Err(Error::Unfit(format!("pff: p is 1 or more, not {p}")));
        }
        Ok(Self {
            set: Vec::new(),
            used: vec![0; room.pages()],
            faults: 0,
            last: 0,
            p: p as u64,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        if self.used[page as usize] != 0 {
            self.used[page as usize] = self.faults;
            return Access::Hit;
        }
        if now - self.last >= self.p {
            self.shrink(gone);
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
    fn shrink(&mut self, gone: &mut impl Gone) {
        let used = &mut self.used;
        let faults = self.faults;
        self.set.retain(|page| {
            let stays = used[*page as usize] == faults;
            if !stays {
                used[*page as usize] = 0;
                gone.gone(*page);
            }
            stays
        });
    }
}
