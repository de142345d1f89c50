//! What the kernel would do otherwise.

use crate::scan::{Candidate, Life, ProcessScan};
use units::Bytes;

/// The candidate that the kernel would OOM-kill: the one with the most memory, to which
/// `oom_score_adj` adds thousandths of `all`.
///
/// Source: `oom_badness()` in `mm/oom_kill.c`. Page tables are left out.
pub(crate) fn kernels_choice(scan: &ProcessScan, all: Bytes) -> Option<&Candidate> {
    scan.candidates
        .iter()
        .filter(|candidate| kernel_may_kill(candidate))
        .max_by_key(|candidate| badness(candidate, all))
}

fn kernel_may_kill(candidate: &Candidate) -> bool {
    candidate.identity.pid > 1 && candidate.oom_score_adj > -1000 && candidate.life != Life::Dying
}

fn badness(candidate: &Candidate, all: Bytes) -> i128 {
    let used = candidate.mapped.unwrap_or(candidate.resident) + candidate.swapped;
    let adjustment = i128::from(candidate.oom_score_adj) * i128::from(all.get()) / 1000;
    i128::from(used.get()) + adjustment
}
