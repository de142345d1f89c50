//! le9uo's demonstration: one worker takes memory until it is killed, one streams a huge file, one reads a moderately
//! large file and reports how long it took.
//!
//! Harder here: the stream loops, and the hog is started again. Beside them a command is started five times a second, a
//! set of memory is touched at random, and a heartbeat measures how long the machine stalls.

use super::{Circumstances, DISK, Data, Load, MINUTE, Scenario, code, people, probes};
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
    "prompt_p50",
    "prompt_p99",
    "prompt_max",
    "prompt_slow",
    "login_p50",
    "login_max",
    "login_slow",
    "window_p50",
    "window_p99",
    "window_max",
    "window_slow",
    "exec_p50",
    "exec_p99",
    "exec_max",
    "exec_slow",
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

/// The other workers without a hog: no guard can make them faster than that.
pub(super) const CALM: Scenario =
    scenario("three-workers:no-hog", "the same without the hog", |at| {
        without_hog(load(at, "zeros", 10))
    });

fn without_hog(mut load: Load) -> Load {
    load.roles.retain(|role| role.name != "hog");
    load
}

/// Each worker in a unit of its own, as under systemd. The reader's is a critical service.
pub(super) const UNITS: Scenario = scenario(
    "three-workers:units",
    "the same, each worker in a unit of its own",
    |at| in_units(load(at, "zeros", 10)),
);

/// The hog, the stream and the reader in services of the system, without limits of their own.
fn in_units(load: Load) -> Load {
    let in_unit = |role: Role| {
        let unit = match role.name.as_str() {
            "hog" => "batch.service",
            "stream" => "backup.service",
            "read" => "ssh.service",
            _ => return role,
        };
        role.within(&format!("system.slice/{unit}"), u64::MAX)
    };
    Load {
        roles: load.roles.into_iter().map(in_unit).collect(),
        ..load
    }
}

/// The page's own commands, typed into three shells.
pub(super) const FAITHFUL: Scenario = scenario(
    "three-workers:faithful",
    "le9uo's own commands: tail /dev/zero, cat of a huge file, time cat of one of 10 %",
    faithful,
);

/// The commands as the page has them. Around them, what tells the lab when each began and what became of it.
fn faithful(at: &Circumstances<'_>) -> Load {
    const NOW: &str = "$(cut -d' ' -f1 /proc/uptime)";
    let hog = format!(
        "while true; do echo hog-at {NOW}; tail /dev/zero; [ $? -lt 128 ] || echo killed tail {NOW}; done"
    );
    let reads = format!(
        "exec 2>&1; while true; do TIMEFORMAT=\"seconds read {NOW} %R\"; time cat /data/hot >/dev/null; \
         sleep $(($(cat /sys/kernel/mm/lru_gen/min_ttl_ms 2>/dev/null || echo 0)/1000+1)); done"
    );
    let mut load = load(at, "zeros", 10);
    load.roles
        .retain(|role| !["hog", "stream", "read", "touch"].contains(&role.name.as_str()));
    load.roles.extend([
        Role::new("reads", &["script", &reads]),
        Role::new("tails", &["script", &hog]).after(5),
        Role::new("cats", &["script", "cat /data/huge >/dev/null"]).after(5),
    ]);
    load
}

fn load(at: &Circumstances<'_>, bytes: &str, hot_percent: u64) -> Load {
    let hot = at.memory_mib * hot_percent / 100;
    let touched = (at.memory_mib / 5).to_string();
    let step = (at.memory_mib / 256).max(1).to_string();
    let mut roles = vec![
        Role::new("hog", &["hog", bytes, &step])
            .when(When::Again(4_000))
            .after(5)
            .with_oom_score_adj(300),
        Role::new("stream", &["stream", "/data/huge"]),
        Role::new("read", &["read", "/data/hot"])
            .when(When::Every(1_000))
            .with_oom_score_adj(-900),
        Role::new("touch", &["touch", &touched]).with_oom_score_adj(-500),
    ];
    // A locked file cannot be evicted, so no protection can make its reads shorter than this arm's.
    if at.variant == Some("lock-hot") {
        roles.push(Role::new("lock", &["lock", "/data/hot"]).with_oom_score_adj(-1000));
    }
    roles.extend(probes());
    roles.extend(people(at.memory_mib));
    let files = vec![
        code(at.memory_mib / 16),
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
