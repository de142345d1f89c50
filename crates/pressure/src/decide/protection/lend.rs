//! Memory of files that refault late is only lent to them: it counts as headroom, and is released before a
//! process is killed for want of memory.
//!
//! - Law: `lent = Σ held, refault time > 5 s`, and counts as headroom. If without it SIGTERM were due, or
//!   there were no headroom, the lent file with the longest refault time is released, one a decision.
//!   For `release-after` no such file is held then.
//! - Source: measured: 6 of the 22 bursts of a healthy storm were killed for files that refault after 7 to
//!   10 s. A runaway beside a file that refaults at once is killed for it, as it should be.
//! - Cost: O(files) of 16.
//! - Limit: on a slow disk a file in steady use may refault after more than 5 s, and is then released
//!   before a runaway is killed.

use crate::decide::draft::Draft;
use crate::protect::FileId;
use units::{Bytes, Micros};

impl Draft<'_> {
    /// Whether memory may be lent: it has not been so short for long that lent memory was called in, or
    /// would have been.
    pub(super) fn may_lend(&self) -> bool {
        let after = self.config.protect.release_after.get();
        self.ago(self.history.distress.pinched)
            .is_none_or(|ago| ago >= after)
    }

    /// The file to release now so that no process is killed for it, and the headroom without all lent
    /// memory.
    pub(super) fn called_in(&self) -> Option<(FileId, Bytes)> {
        let distress = &self.history.distress;
        if distress.pinched != Some(self.sample.at) {
            return None;
        }
        let outlook = distress.outlook?;
        let latest = self
            .sample
            .warm
            .files
            .iter()
            .filter(|file| file.is_lent())
            .max_by_key(|file| file.refault_time.unwrap_or(Micros::new(u64::MAX)))?;
        Some((latest.id()?, outlook.without_lent().headroom))
    }
}
