//! le9's floors over the active and inactive lists, fixed and adaptive: see [`crate::frames::Floors`].
//!
//! They act where the trace tells files from anonymous memory; elsewhere all pages are of files, there is nothing else
//! to give, and `linux` is what remains. What floors do to several programs under one memory, with swap and write-back,
//! is the engine's ([`crate::engine`]).

use super::{Access, Gone, Policy, Room, Spec, linux};
use crate::frames::{ActiveInactive, Floors, Framed, share};
use crate::{Error, Page};

const CITE: &str = "le9, hakavlad, 2021, and le9uo, firelzrd, 2023: their sysctls";

pub(super) const FIXED: Spec =
    Spec::of::<Le9<false>>("le9", "linux with fixed floors", CITE).with(&[
        (
            "anon_min",
            15.0,
            "per cent of memory that anonymous pages keep",
        ),
        (
            "clean_low",
            0.0,
            "per cent that clean file pages keep while there is anything else",
        ),
        ("clean_min", 15.0, "per cent that clean file pages keep"),
        ("swappiness", 60.0, "0 to 200"),
    ]);

pub(super) const ADAPTIVE: Spec = Spec::of::<Le9<true>>(
    "le9-adaptive",
    "linux with a floor that refaults raise",
    CITE,
)
.with(&[
    (
        "anon_min",
        0.0,
        "per cent of memory that anonymous pages keep",
    ),
    (
        "most",
        50.0,
        "per cent that the floor of clean file pages reaches at most",
    ),
    ("swappiness", 60.0, "0 to 200"),
]);

struct Le9<const ADAPTIVE: bool>(Framed<ActiveInactive>);

impl<const ADAPTIVE: bool> Policy for Le9<ADAPTIVE> {
    fn new(room: &Room<'_>) -> Result<Self, Error> {
        let of = |name: &str| share(name, room.option(name));
        let files = room.trace.files();
        let floors = match (&files, ADAPTIVE) {
            (None, _) => Floors::NONE,
            (_, false) => Floors {
                anon_min: of("anon_min")?,
                clean_low: of("clean_low")?,
                clean_min: of("clean_min")?,
                most: None,
            },
            (_, true) => Floors {
                anon_min: of("anon_min")?,
                clean_low: 0.0,
                clean_min: 0.0,
                most: Some(of("most")?),
            },
        };
        if floors.anon_min + floors.clean_min >= 1.0 {
            return Err(Error::Unfit(
                "floors of all memory and more leave nothing to reclaim".to_owned(),
            ));
        }
        let frames = ActiveInactive::new(room.pages(), linux::swappiness(room)?, 0, floors);
        Ok(Self(Framed::new(frames, files, room.capacity)))
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        self.0.access(page, now, gone)
    }

    fn resident(&self) -> usize {
        self.0.resident()
    }
}
