//! le9uo's demonstration: one worker takes memory until it is killed, one streams a huge file, one reads a moderately
//! large file and says how long it took. Harder here: the stream loops, the hog comes again, and beside them a command
//! is started five times a second, a set of memory is touched at random, and a heartbeat tells how long all stood still.

use super::{Circumstances, DISK, Data, Load, MINUTE, Scenario, probes};
use crate::plan::{Role, When};
use crate::vm::disk::Filled;
use units::Bytes;

const MEASURES: &[&str] = &[
    "hot_refault_share",
    "read_p50",
    "read_p90",
    "read_p99",
    "read_max",
    "read_warm_p50",
    "read_own_p50",
    "read_own_p90",
    "read_own_max",
    "exec_p50",
    "exec_p99",
    "exec_max",
    "beat_late_max",
    "touch_p99",
    "oom_kills",
    "wrong_kills",
    "false_kills",
    "second_kills",
    "hog_over_ms",
    "kill_after_s",
    "read_after_kill",
    "exec_after_kill",
    "stream_mib",
    "psi_memory_full_ms",
    "workingset_refault_file",
    "workingset_refault_anon",
    "allocstall",
    "sectors_read",
    "swapped_out",
    "gap_mib_s",
    "guard_ms",
    "kswapd_ms",
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
        arms: "none,earlyoom,nohang,warmset",
    }
}

/// As founded: zeros, a hot file of a tenth of memory.
pub(super) const ZEROS: Scenario = scenario(
    "three-workers",
    "hog, huge stream, and a hot file of 10 % of memory",
    |at| load(at, "zeros", 10),
);
/// Memory that zram cannot compress.
pub(super) const NOISE: Scenario = scenario(
    "three-workers:noise",
    "the same, the hog's memory does not compress",
    |at| load(at, "noise", 10),
);
/// A small hot file.
pub(super) const SMALL: Scenario = scenario(
    "three-workers:hot-3",
    "the same, the hot file is 3 % of memory",
    |at| load(at, "noise", 3),
);
/// A hot file above any floor of 15 %.
pub(super) const LARGE: Scenario = scenario(
    "three-workers:hot-19",
    "the same, the hot file is 19 % of memory",
    |at| load(at, "noise", 19),
);

/// What the others need of the machine when there is no hog: no guard can make it better than that.
pub(super) const CALM: Scenario =
    scenario("three-workers:no-hog", "the same without the hog", |at| {
        without_hog(load(at, "zeros", 10))
    });

fn without_hog(load: Load) -> Load {
    Load {
        roles: load
            .roles
            .into_iter()
            .filter(|role| role.name != "hog")
            .collect(),
        ..load
    }
}

/// Each worker in a unit of its own, as under systemd: the reader's is one that must answer.
pub(super) const UNITS: Scenario = scenario(
    "three-workers:units",
    "the same, each worker in a unit of its own",
    |at| in_units(load(at, "zeros", 10)),
);

/// The hog, the stream and the reader in services of the system, without limits of their own.
fn in_units(load: Load) -> Load {
    let unit = |name: &str| match name {
        "hog" => Some("batch.service"),
        "stream" => Some("backup.service"),
        "read" => Some("ssh.service"),
        _ => None,
    };
    let put = |role: Role| match unit(&role.name) {
        Some(unit) => role.within(&format!("system.slice/{unit}"), u64::MAX),
        None => role,
    };
    Load {
        roles: load.roles.into_iter().map(put).collect(),
        ..load
    }
}

fn load(at: &Circumstances<'_>, bytes: &str, hot_percent: u64) -> Load {
    let hot = at.memory_mib * hot_percent / 100;
    let touched = (at.memory_mib / 5).to_string();
    let step = (at.memory_mib / 256).max(1).to_string();
    let mut roles = vec![
        Role::new("hog", &["hog", bytes, &step])
            .when(When::Again(4_000))
            .after(5)
            .spared(300),
        Role::new("stream", &["stream", "/data/huge"]),
        Role::new("read", &["read", "/data/hot"])
            .when(When::Every(1_000))
            .spared(-900),
        Role::new("touch", &["touch", &touched]).spared(-500),
    ];
    // Nothing of it can be evicted, so no protection can make its reads shorter than they are here.
    roles.extend(
        (at.variant == Some("lock-hot"))
            .then(|| Role::new("lock", &["lock", "/data/hot"]).spared(-1000)),
    );
    roles.extend(probes());
    let files = vec![
        Filled {
            name: "huge".to_owned(),
            size: Bytes::mib(at.memory_mib * 3),
        },
        Filled {
            name: "hot".to_owned(),
            size: Bytes::mib(hot),
        },
    ];
    Load {
        roles,
        data: Data::Files(files, Bytes::mib(16)),
        throttle: DISK,
        thp: None,
        ends_with: None,
        size: MINUTE,
    }
}
