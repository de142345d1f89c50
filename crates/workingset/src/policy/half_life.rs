//! Half-life FIFO: a page leaves a fixed time after it was loaded, used or not.
//!
//! If residence in the working set decayed like a nucleus, a timer would do as well as the working set. Its author
//! asked; it does not ([`crate::measure::residence`]).
//!
//! - Law: miss iff never loaded or now − load ≥ h; then load ← now.
//! - Cost: O(1), 8 B for each page and 12 B for each page of memory.
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

struct HalfLife {
    loaded: VecDeque<(u64, Page)>,
    resident: Vec<bool>,
    h: u64,
}

impl Policy for HalfLife {
    const VARIABLE: bool = true;

    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let h = room.option("h");
        if h < 1.0 {
            return Err(Error::Unfit(format!("half-life: h is 1 or more, not {h}")));
        }
        Ok(Self { loaded: VecDeque::new(), resident: vec![false; room.pages()], h: h as u64 })
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        while let Some(&(loaded, old)) = self.loaded.front() {
            if now - loaded < self.h {
                break;
            }
            self.loaded.pop_front();
            self.resident[old as usize] = false;
            gone.gone(old);
        }
        if self.resident[page as usize] {
            return Access::Hit;
        }
        self.resident[page as usize] = true;
        self.loaded.push_back((now, page));
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.loaded.len()
    }
}
