//! No load: a guard must do nothing either.

use super::{Circumstances, DISK, Data, Load, MINUTE, Scenario};
use units::Bytes;

/// Nothing at all.
pub(super) const IDLE: Scenario = Scenario {
    name: "idle",
    about: "nothing: whatever is written is one write too many",
    load: idle,
    measures: &[
        "knob_changes",
        "gap_mib_s",
        "guard_ms",
        "allocstall",
        "compact_stall",
        "knobs_left",
    ],
    by_gap: false,
    arms: "none,warmset",
};

fn idle(_: &Circumstances<'_>) -> Load {
    let data = Data::Files(Vec::new(), Bytes::mib(16));
    Load {
        roles: Vec::new(),
        data,
        throttle: DISK,
        thp: None,
        ends_with: None,
        size: MINUTE,
    }
}
