//! A real C project compiled with three jobs, in less and less memory: where it works, where it thrashes.

use super::{Circumstances, DISK, Data, Load, Scenario, probes};
use crate::plan::{Role, Size};

/// Lua, with gcc.
pub(super) const BUILD: Scenario = Scenario {
    name: "build",
    about: "Lua compiled by gcc with make -j3; give --memory a list that falls",
    load,
    measures: &[
        "build_s",
        "built",
        "exec_p99",
        "beat_late_max",
        "workingset_refault_file",
        "workingset_refault_anon",
        "sectors_read",
        "swapped_out",
        "psi_memory_full_ms",
        "allocstall",
        "oom_kills",
        "gap_mib_s",
    ],
    by_gap: false,
    arms: "none",
};

fn load(_: &Circumstances<'_>) -> Load {
    let mut roles = vec![Role::new("build", &["build", "/data/source/src", "3"]).after(0)];
    roles.extend(probes());
    let size = Size { memory_mib: 0, warm_up_s: 5, load_s: 900, calm_s: 0 };
    Load { roles, data: Data::Source("lua5.4"), throttle: DISK, thp: None, ends_with: Some("build".to_owned()), size }
}
