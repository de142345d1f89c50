//! Memory that a protected unit has in swap is read back while there is headroom, before its users wait for
//! it.
//!
//! - Law: memory has been calm for [`QUIET`], and there is headroom in RAM for [`SHARE`] times the piece.
//!   The cgroup with the least in swap comes first, at most [`PIECE`] for each reading of it. Where the
//!   last piece brought nothing back it is left alone until more is swapped out.
//! - Cost: O(protected cgroups).
//! - Limit: files are not in swap; what programs run from is held instead.

use crate::decide::draft::Draft;
use crate::decision::{Action, Reason};
use crate::groups::Protected;
use crate::protect::Why;
use std::time::Duration;
use units::Bytes;

/// Memory must have been calm for this long. Shorter reads back what reclaim takes again at once.
const QUIET: Duration = Duration::from_secs(10);
/// Read back at once: some hundred of the kernel's swap clusters, below a second on most devices.
const PIECE: Bytes = Bytes::mib(16);
/// A piece may use one part in this many of the headroom.
const SHARE: u64 = 4;
/// Less in swap is not worth a look, and a smaller decrease means that nothing was read back.
const LEAST: Bytes = Bytes::mib(1);

impl Draft<'_> {
    /// Has a piece of what one protected cgroup has in swap read back, if it is time.
    pub(super) fn recall(&mut self, calm: Duration) {
        let Some(outlook) = self.history.distress.outlook else {
            return;
        };
        if calm < QUIET {
            return;
        }
        let swapped = self
            .sample
            .groups
            .protected
            .iter()
            .filter_map(|cgroup| Some((*cgroup, recallable(cgroup)?)));
        let Some((cgroup, swapped)) = swapped.min_by_key(|(_, swapped)| *swapped) else {
            return;
        };
        let amount = swapped.min(PIECE);
        let headroom = outlook.headroom_in_ram();
        if headroom >= amount.scaled(SHARE, 1) {
            let action = Action::Recall {
                id: cgroup.id,
                unit: cgroup.unit,
                amount,
            };
            let why = Why::InSwap { swapped, headroom };
            self.step(action, Reason::Protect(why));
        }
    }
}

/// Memory in swap that is worth reading back: the last piece came back, or there was none.
fn recallable(cgroup: &Protected) -> Option<Bytes> {
    let swapped = cgroup.swapped?;
    let comes_back = cgroup
        .swapped_before
        .is_none_or(|before| swapped + LEAST <= before);
    if swapped >= LEAST && comes_back {
        Some(swapped)
    } else {
        None
    }
}
