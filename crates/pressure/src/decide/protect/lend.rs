//! What comes back late is lent to its readers: it is room for who runs, and let go before anyone ends for want of memory.
//!
//! - Law: `lent = Σ held, away > 5 s`, and counts as room. If without it the ladder were at SIGTERM, or there were none, the
//!   file whose pages are away longest is let go, one a decision; for `release-after` nothing such is held then.
//! - Source: measured: 6 of the 22 bursts of a healthy storm were ended for files that come back after 7 to 10 s; a runaway
//!   beside a file that comes back at once is ended for it, as it should.
//! - Cost: O(files) of 16.
//! - Limit: on a slow disk a file in steady use may come back after more than 5 s, and then goes before a runaway does.

use super::Draft;
use crate::protect::FileId;
use units::{Bytes, Micros};

impl Draft<'_> {
    /// Whether memory has not been so short for long that what is lent was, or would have been, called in.
    pub(super) fn may_lend(&self) -> bool {
        let after = self.config.protect.release_after.get();
        self.ago(self.history.distress.pinched)
            .is_none_or(|ago| ago >= after)
    }

    /// What has to be let go now so that nobody ends for it, and the room that there is without all that is lent.
    pub(super) fn called_in(&self) -> Option<(FileId, Bytes)> {
        let distress = &self.history.distress;
        let outlook = distress
            .outlook
            .filter(|_| distress.pinched == Some(self.sample.at))?;
        let lent = self.sample.warm.files.iter().filter(|file| file.is_lent());
        let last = lent.max_by_key(|file| file.away.unwrap_or(Micros::new(u64::MAX)))?;
        Some((last.id()?, outlook.without_lent().headroom))
    }
}
