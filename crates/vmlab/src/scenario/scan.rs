//! Scans beside a hot set: pages that are read once, or in a circle that does not fit, against pages that are used often.

use super::{Circumstances, DISK, Data, Load, MINUTE, Scenario, probes};
use crate::plan::{Role, When};
use crate::vm::disk::Filled;
use units::Bytes;

const MEASURES: &[&str] = &[
    "hot_refault_share",
    "read_p50",
    "read_p99",
    "touch_p99",
    "exec_p99",
    "beat_late_max",
    "swept_mib",
    "stream_mib",
    "scan_mib",
    "workingset_refault_file",
    "workingset_refault_anon",
    "sectors_read",
    "swapped_out",
    "allocstall",
    "psi_memory_some_ms",
    "gap_mib_s",
    "guard_ms",
];

const fn scenario(
    name: &'static str,
    about: &'static str,
    load: fn(&Circumstances<'_>) -> Load,
) -> Scenario {
    Scenario {
        name,
        about,
        load,
        measures: MEASURES,
        by_gap: false,
        arms: "none,warmset",
    }
}

/// A file larger than memory, in a circle.
pub(super) const FILE_CYCLIC: Scenario = scenario(
    "scan:file-cyclic",
    "a file of 1.5 times memory read in a circle, beside a hot set",
    file_cyclic,
);
/// Files read once.
pub(super) const FILE_ONCE: Scenario = scenario(
    "scan:file-once",
    "files read once each, beside a hot set",
    file_once,
);
/// Memory in a circle.
pub(super) const ANON_CYCLIC: Scenario = scenario(
    "scan:anon-cyclic",
    "70 % of memory touched in a circle, beside a hot set",
    anon_cyclic,
);
/// Memory touched once.
pub(super) const ANON_ONCE: Scenario = scenario(
    "scan:anon-once",
    "half of memory touched once and given back, again and again, beside a hot set",
    anon_once,
);

/// Files that are read once: together twice as large as memory.
const FILES: u64 = 12;

fn file_cyclic(at: &Circumstances<'_>) -> Load {
    load(at, Role::new("stream", &["stream", "/data/huge"]))
}

fn file_once(at: &Circumstances<'_>) -> Load {
    load(
        at,
        Role::new("once", &["once", "/data", &FILES.to_string()]).after(0),
    )
}

fn anon_cyclic(at: &Circumstances<'_>) -> Load {
    load(
        at,
        Role::new("sweep", &["sweep", &(at.memory_mib * 7 / 10).to_string()])
            .with_oom_score_adj(-100),
    )
}

fn anon_once(at: &Circumstances<'_>) -> Load {
    load(
        at,
        Role::new("sweep", &["sweep-once", &(at.memory_mib / 2).to_string()])
            .when(When::Again(1_000))
            .with_oom_score_adj(-100),
    )
}

fn load(at: &Circumstances<'_>, scan: Role) -> Load {
    let touched = (at.memory_mib / 8).to_string();
    let mut roles = vec![
        scan,
        Role::new("read", &["read", "/data/hot"])
            .when(When::Every(1_000))
            .with_oom_score_adj(-900),
        Role::new("touch", &["touch", &touched]).with_oom_score_adj(-500),
    ];
    roles.extend(probes());
    let mut files = super::numbered(FILES, at.memory_mib / 6);
    files.push(Filled {
        name: "huge".to_owned(),
        size: Bytes::mib(at.memory_mib * 3 / 2),
    });
    files.push(Filled {
        name: "hot".to_owned(),
        size: Bytes::mib(at.memory_mib / 10),
    });
    Load {
        roles,
        data: Data::Files(files, Bytes::mib(16)),
        throttle: DISK,
        thp: None,
        ends_with: None,
        size: MINUTE,
    }
}
