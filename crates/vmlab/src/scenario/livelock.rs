//! A machine that stands: memory fills slowly up to the last of it, so that the kernel always finds one more page of code to take
//! from a program that needs it at once.
//!
//! No kernel calls that out of memory, because each look at its lists reclaims something. le9uo promises to end it at once.

use super::{Circumstances, Data, Load, Scenario, code, people, probes};
use crate::plan::{Role, Size, When};
use crate::vm::disk::Throttle;
use units::Bytes;

/// A hard disk, of which seeks are the most: 100 of them a second.
const HARD_DISK: Throttle = Throttle {
    bytes: Bytes::mib(20),
    operations: 100,
};
/// Long enough for a machine that stands for half a minute and more to be seen to do so, and to come back.
const LENGTH: Size = Size {
    memory_mib: 0,
    warm_up_s: 30,
    load_s: 180,
    calm_s: 30,
};

/// The second claim of le9uo.
pub(super) const LIVELOCK: Scenario = Scenario {
    name: "livelock",
    about: "a leak up to the last page beside windows whose code is on a slow disk",
    load,
    measures: &[
        "prompt_max",
        "prompt_slow",
        "prompt_p50",
        "prompt_p99",
        "login_max",
        "login_slow",
        "window_max",
        "window_slow",
        "window_p50",
        "window_p99",
        "exec_max",
        "exec_slow",
        "beat_late_max",
        "hog_over_ms",
        "kill_after_s",
        "oom_kills",
        "wrong_kills",
        "second_kills",
        "psi_memory_full_ms",
        "workingset_refault_file",
        "workingset_refault_anon",
        "sectors_read",
        "swapped_out",
        "gap_mib_s",
        "guard_ms",
        "kswapd_ms",
    ],
    by_gap: false,
    arms: "none,earlyoom,nohang,warmset,protect",
};

fn load(at: &Circumstances<'_>) -> Load {
    // From a quarter of memory to all of it within half a minute.
    let slowly = (at.memory_mib * 1024 / 40).to_string();
    let mut roles = vec![
        Role::new("hog", &["creep", &slowly])
            .when(When::Again(30_000))
            .after(10)
            .with_oom_score_adj(0),
    ];
    roles.extend(probes());
    roles.extend(people(at.memory_mib));
    Load {
        roles,
        data: Data::Files(vec![code(at.memory_mib)], Bytes::mib(16)),
        throttle: HARD_DISK,
        thp: None,
        ends_with: None,
        size: LENGTH,
    }
}
