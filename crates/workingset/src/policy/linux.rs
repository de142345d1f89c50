//! Linux's active and inactive lists, as a policy of one trace. The rules are in
//! [`crate::frames::ActiveInactive`].
//!
//! - Rule: a page that was used twice in the inactive list becomes active; so does a page that
//!   refaults soon.
//! - Cost: O(1) for each reference, amortised; 13 B for each page.
//! - Source: mm/vmscan.c and mm/workingset.c of Linux 6.12.
//! - Limits: those of [`crate::frames::ActiveInactive`].

use super::framed::Framed;
use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::frames::{ActiveInactive, Floors};
use crate::{Error, Page};

pub(super) const SPEC: Spec = Spec::of::<Linux>(
    "linux",
    "active and inactive lists with refault distance",
    "Linux 6.12, mm/vmscan.c and mm/workingset.c",
)
.with(&[
    (
        "ratio",
        0.0,
        "active pages for each inactive one; 0 is by the size of memory, as the kernel does",
    ),
    (
        "swappiness",
        60.0,
        "0 to 200, where the trace tells anonymous pages from files",
    ),
]);

struct Linux(Framed<ActiveInactive>);

impl Policy for Linux {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let swappiness = swappiness(setup)?;
        let frames = ActiveInactive::new(
            setup.pages(),
            swappiness,
            setup.option("ratio") as usize,
            Floors::NONE,
        );
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

pub(super) fn swappiness(setup: &Setup<'_>) -> Result<f64, Error> {
    match setup.option("swappiness") {
        swappiness if swappiness <= 200.0 => Ok(swappiness),
        swappiness => Err(Error::Unfit(format!(
            "swappiness is 0 to 200, not {swappiness}"
        ))),
    }
}
