//! Processes of one scan after another, with how they have changed.

use super::frame::Line;
use host::settings::UserNames;
use inspect::survey::growth;
use pressure::config::Guard;
use pressure::distress::exemption;
use pressure::scan::{Candidate, Identity, ProcessScan};
use std::collections::HashMap;
use units::{Bytes, Rate, Span};

/// The sizes of a scan before, to compare with.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The scan that was read last, and the one before.
    now: Sizes,
    before: Sizes,
}

/// When processes were read, and their sizes then.
#[derive(Debug, Default)]
struct Sizes {
    at: Span,
    of: HashMap<Identity, Bytes>,
}

impl Lines {
    /// The processes of a scan. One that comes again, as samples outnumber scans, is compared with the same one before.
    pub(super) fn read(
        &mut self,
        scan: &ProcessScan,
        rules: &Guard,
        users: &UserNames,
    ) -> Vec<Line> {
        if scan.at != self.now.at {
            let mut sizes = Sizes {
                at: scan.at,
                of: HashMap::new(),
            };
            for candidate in &scan.candidates {
                sizes.of.insert(candidate.identity, candidate.size());
            }
            self.before = std::mem::replace(&mut self.now, sizes);
        }
        let mut lines = Vec::new();
        for candidate in &scan.candidates {
            lines.push(Line {
                candidate: *candidate,
                user: users.of(candidate.user),
                growth: self.growth_of(candidate),
                exemption: exemption(candidate, rules),
            });
        }
        lines
    }

    /// Growth since the scan before; `None` for a process that is new.
    fn growth_of(&self, candidate: &Candidate) -> Option<(Rate, bool)> {
        let before = self.before.of.get(&candidate.identity)?;
        let elapsed = self.now.at.get().checked_sub(self.before.at.get())?;
        growth(*before, candidate.size(), elapsed)
    }
}
