//! Programs of several kinds under one memory, which is what replacement has to choose between: a compiler that comes
//! and goes, one whose memory is warm all the time, one that goes over its memory once and ends.

use super::{Circumstances, DISK, Data, Load, Scenario, probes};
use crate::plan::{Role, Size, When};

/// Lua by gcc, beside two that are no compilers.
pub(super) const MIXED: Scenario = Scenario {
    name: "mixed",
    about: "Lua compiled with make -j2, beside a warm set in an eighth of memory and scans of an eighth; give --memory a list",
    load,
    measures: &[
        "build_s",
        "built",
        "touch_p90",
        "touch_p99",
        "exec_p99",
        "beat_late_max",
        "workingset_refault_file",
        "workingset_refault_anon",
        "sectors_read",
        "swapped_out",
        "psi_memory_full_ms",
        "allocstall",
        "oom_kills",
    ],
    by_gap: false,
    arms: "none",
};

fn load(at: &Circumstances<'_>) -> Load {
    let eighth = (at.memory_mib / 8).to_string();
    let mut roles = vec![
        Role::new("build", &["build", "/data/source/src", "2"]).after(0),
        Role::new("warm", &["touch", &eighth]),
        Role::new("scan", &["sweep-once", &eighth]).when(When::Again(5000)),
    ];
    roles.extend(probes());
    let size = Size { memory_mib: 0, warm_up_s: 10, load_s: 900, calm_s: 0 };
    Load { roles, data: Data::Source("lua5.4"), throttle: DISK, thp: None, ends_with: Some("build".to_owned()), size }
}
