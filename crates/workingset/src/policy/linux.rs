//! Linux's active and inactive lists, as a policy of one trace: see [`crate::frames`].

use super::{Access, Gone, Policy, Room, Spec};
use crate::frames::{ActiveInactive, Floors, Framed};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let swappiness = swappiness(room)?;
        let frames = ActiveInactive::new(
            room.pages(),
            swappiness,
            room.option("ratio") as usize,
            Floors::NONE,
        );
        Ok(Self(Framed::new(frames, room.trace.files(), room.capacity)))
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        self.0.access(page, now, gone)
    }

    fn resident(&self) -> usize {
        self.0.resident()
    }
}

pub(super) fn swappiness(room: &Room<'_>) -> Result<f64, Error> {
    match room.option("swappiness") {
        swappiness if swappiness <= 200.0 => Ok(swappiness),
        swappiness => Err(Error::Unfit(format!(
            "swappiness is 0 to 200, not {swappiness}"
        ))),
    }
}
