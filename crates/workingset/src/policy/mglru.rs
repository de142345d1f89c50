//! Linux's Multi-Gen LRU, as a policy of one trace: see [`crate::frames`].

use super::{Access, Gone, Policy, Room, Spec, linux};
use crate::frames::{Floors, Framed, Generations, Tuning};
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
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let tuning = Tuning {
            swappiness: linux::swappiness(room)?,
            by_descriptor: room.option("fd") >= 1.0,
            min_ttl: 0,
            floors: Floors::NONE,
        };
        let frames = Generations::new(room.pages(), tuning);
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
