//! 2Q, the full version: a page enters the main LRU only if it is used again after it has left a
//! short FIFO.
//!
//! - Rule: a new page enters A1in (a FIFO). While |A1in| > kin·c, the oldest page of A1in is
//!   evicted and remembered in A1out (kout·c pages); otherwise the LRU page of Am is evicted and
//!   forgotten. A page remembered in A1out enters Am. A use of a page in A1in changes nothing.
//! - Cost: O(1) for each reference, 9 B for each page.
//! - Source: Johnson, Shasha, VLDB 1994, figure 2; kin 25 %, kout 50 % as there.
//! - Limits: the two shares are fixed; ARC adapts its share.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::links::Links;
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<TwoQ>(
    "2q",
    "a FIFO to be seen in, an LRU for what is asked for again",
    "Johnson, Shasha, VLDB 1994",
)
.with(&[
    ("kin", 0.25, "share of memory for A1in"),
    (
        "kout",
        0.5,
        "pages remembered in A1out, as a share of memory",
    ),
]);

const A1IN: usize = 0;
const AM: usize = 1;
const A1OUT: usize = 2;
const NOWHERE: u8 = 3;

struct TwoQ {
    lists: Links<3>,
    home: Vec<u8>,
    capacity: usize,
    kin: usize,
    kout: usize,
}

impl Policy for TwoQ {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let kin = setup.option("kin");
        let kout = setup.option("kout");
        if kin > 1.0 {
            return Err(Error::Unfit(format!(
                "2q: kin is a share of memory, not {kin}"
            )));
        }
        let share = |share: f64| (setup.capacity as f64 * share) as usize;
        Ok(Self {
            lists: Links::new(setup.pages()),
            home: vec![NOWHERE; setup.pages()],
            capacity: setup.capacity,
            kin: share(kin),
            kout: share(kout),
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let to = match usize::from(self.home[page as usize]) {
            AM => {
                self.lists.to_front(AM, page);
                return Access::Hit;
            }
            A1IN => return Access::Hit,
            A1OUT => {
                self.lists.remove(A1OUT, page);
                AM
            }
            _ => A1IN,
        };
        if self.resident() == self.capacity {
            self.reclaim(evicted);
        }
        self.lists.push_front(to, page);
        self.home[page as usize] = to as u8;
        Access::Miss
    }

    fn resident(&self) -> usize {
        self.lists.len(A1IN) + self.lists.len(AM)
    }
}

impl TwoQ {
    fn reclaim(&mut self, evicted: &mut impl Evictions) {
        let from = if self.lists.len(A1IN) > self.kin || self.lists.is_empty(AM) {
            A1IN
        } else {
            AM
        };
        let Some(victim) = self.lists.pop_back(from) else {
            return;
        };
        evicted.note(victim);
        self.home[victim as usize] = NOWHERE;
        if from == AM || self.kout == 0 {
            return;
        }
        self.lists.push_front(A1OUT, victim);
        self.home[victim as usize] = A1OUT as u8;
        if self.lists.len(A1OUT) > self.kout {
            if let Some(forgotten) = self.lists.pop_back(A1OUT) {
                self.home[forgotten as usize] = NOWHERE;
            }
        }
    }
}
