//! What a unit that must answer had to give to swap is read back while there is room, before anyone waits for it.
//!
//! - Law: quiet for [`QUIET`], and room in memory for [`SHARE`] times the piece: the ward with the least in swap comes first, at
//!   most [`PIECE`] for each reading of it. Where the last piece brought nothing back it is left alone, until more has left.
//! - Cost: O(wards).
//! - Limit: files are not in swap; what programs run from is held instead.

use super::Draft;
use crate::decide::throttle::in_ram;
use crate::decision::{Action, Reason};
use crate::groups::Protected;
use crate::protect::Why;
use std::time::Duration;
use units::Bytes;

/// Memory must have been there for so long.
const QUIET: Duration = Duration::from_secs(10);
/// Read back at once: some hundred reads of the kernel's clusters, below a second on most devices.
const PIECE: Bytes = Bytes::mib(16);
/// Of the room that there is, one part in so many is used.
const SHARE: u64 = 4;
/// Less is not worth a look, and less coming back is nothing.
const LEAST: Bytes = Bytes::mib(1);

impl Draft<'_> {
    /// Has a piece of what one ward has in swap read back, if it is time.
    pub(super) fn recall(&mut self, calm: Duration) {
        let Some(headroom) = self
            .history
            .distress
            .outlook
            .as_ref()
            .map(in_ram)
            .filter(|_| calm >= QUIET)
        else {
            return;
        };
        let away = |cgroup: &Protected| {
            cgroup
                .swapped
                .filter(|away| *away >= LEAST && comes_back(cgroup, *away))
        };
        let protected = self
            .sample
            .groups
            .protected
            .iter()
            .filter_map(|cgroup| Some((*cgroup, away(cgroup)?)));
        let Some((Protected { id, unit, .. }, away)) = protected.min_by_key(|(_, away)| *away)
        else {
            return;
        };
        let amount = away.min(PIECE);
        if headroom >= amount.scaled(SHARE, 1) {
            self.step(
                Action::Recall { id, unit, amount },
                Reason::Protect(Why::Away { away, headroom }),
            );
        }
    }
}

/// Whether the last piece came back, or there was none.
fn comes_back(cgroup: &Protected, away: Bytes) -> bool {
    cgroup
        .swapped_before
        .is_none_or(|before| away + LEAST <= before)
}
