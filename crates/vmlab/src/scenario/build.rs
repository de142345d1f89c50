//! A real C project compiled in less and less memory: where it makes progress, and where it thrashes.
//!
//! Alone, and beside programs that use memory in other ways, so that replacement has to choose between them: one uses all
//! its memory all the time, one goes over its memory once and ends.

use super::{Circumstances, DISK, Data, Load, Scenario, probes};
use crate::plan::{Role, Size, When};

/// Lua, with gcc.
pub(super) const BUILD: Scenario = Scenario {
    name: "build",
    about: "Lua compiled by gcc with make -j3; give --memory a list that falls",
    load: build,
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
        "guard_ms",
    ],
    by_gap: false,
    arms: "none",
};

/// The same, beside two programs that are no compilers.
pub(super) const MIXED: Scenario = Scenario {
    name: "mixed",
    about: "Lua compiled with make -j2, beside a warm set in an eighth of memory and scans of an eighth; give --memory a list",
    load: mixed,
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

fn build(_: &Circumstances<'_>) -> Load {
    lua(3, 5, vec![])
}

fn mixed(at: &Circumstances<'_>) -> Load {
    let eighth = (at.memory_mib / 8).to_string();
    let others = vec![
        Role::new("warm", &["touch", &eighth]),
        Role::new("scan", &["sweep-once", &eighth]).when(When::Again(5000)),
    ];
    lua(2, 10, others)
}

/// Lua compiled by this many jobs beside the others. The load ends with the build.
fn lua(jobs: u32, warm_up_s: u64, others: Vec<Role>) -> Load {
    let mut roles =
        vec![Role::new("build", &["build", "/data/source/src", &jobs.to_string()]).after(0)];
    roles.extend(others);
    roles.extend(probes());
    let size = Size {
        memory_mib: 0,
        warm_up_s,
        load_s: 900,
        calm_s: 0,
    };
    Load {
        roles,
        data: Data::Source("lua5.4"),
        throttle: DISK,
        thp: None,
        ends_with: Some("build".to_owned()),
        size,
    }
}
