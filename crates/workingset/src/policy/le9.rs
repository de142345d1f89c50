//! le9's floors over the active and inactive lists, fixed and adaptive. The rules are in
//! [`crate::frames::Floors`].
//!
//! - Rule: as `linux`, but reclaim leaves a share of anonymous pages and of clean file pages alone.
//! - Cost: as `linux`.
//! - Source: the sysctls of le9 (hakavlad, 2021) and le9uo (firelzrd, 2023).
//! - Limits: floors need a trace that tells files from anonymous memory. Without it all pages count
//!   as file pages, and the policy is `linux`. The effect on several programs, with swap and
//!   write-back, is the engine's ([`crate::engine`]).

use super::framed::{Framed, share};
use super::interface::{Access, Evictions, Policy, Setup};
use super::linux;
use super::spec::Spec;
use crate::frames::{ActiveInactive, Floors};
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
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        let of = |name: &str| share(name, setup.option(name));
        let files = setup.trace.files();
        let floors = if files.is_none() {
            Floors::NONE
        } else if ADAPTIVE {
            Floors {
                anon_min: of("anon_min")?,
                clean_low: 0.0,
                clean_min: 0.0,
                most: Some(of("most")?),
            }
        } else {
            Floors {
                anon_min: of("anon_min")?,
                clean_low: of("clean_low")?,
                clean_min: of("clean_min")?,
                most: None,
            }
        };
        if floors.anon_min + floors.clean_min >= 1.0 {
            return Err(Error::Unfit(
                "floors of all memory and more leave nothing to reclaim".to_owned(),
            ));
        }
        let frames = ActiveInactive::new(setup.pages(), linux::swappiness(setup)?, 0, floors);
        Ok(Self(Framed::new(frames, files, setup.capacity)))
    }

    #[inline]
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access {
        self.0.access(page, now, evicted)
    }

    fn resident(&self) -> usize {
        self.0.resident()
    }
}
