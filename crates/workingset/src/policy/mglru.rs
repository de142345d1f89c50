//! Linux's Multi-Gen LRU, as a policy of one trace. The rules are in
//! [`crate::frames::Generations`].
//!
//! - Rule: walks move used pages to the youngest generation; the oldest generation is evicted.
//! - Cost: O(1) for each reference, amortised, and O(memory) for each walk; 14 B for each page.
//! - Source: mm/vmscan.c of Linux 6.12; Zhao, 2022.
//! - Limits: those of [`crate::frames::Generations`].

use super::framed::Framed;
use super::interface::{Access, Evictions, Policy, Setup};
use super::linux;
use super::spec::Spec;
use crate::frames::{Floors, Generations, Tuning};
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<MultiGen>(
    "mglru",
    "generations by page-table walks",
    "Linux 6.12, mm/vmscan.c; Zhao, 2022",
)
.with(&[
    (
        "fd",
        0.0,
        "1: uses are reads and writes of files, and tiers tell them apart",
    ),
    (
        "swappiness",
        60.0,
        "0 to 200, where the trace tells anonymous pages from files",
    ),
]);

struct MultiGen(Framed<Generations>);

impl Policy for MultiGen {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let tuning = Tuning {
            swappiness: linux::swappiness(setup)?,
            by_descriptor: setup.option("fd") >= 1.0,
            min_ttl: 0,
            floors: Floors::NONE,
        };
        let frames = Generations::new(setup.pages(), tuning);
        Ok(Self(Framed::new(
            frames,
            setup.trace.files(),
            setup.capacity,
        )))
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        self.0.access(page, now, evicted)
    }

    fn resident(&self) -> usize {
        self.0.resident()
    }
}
