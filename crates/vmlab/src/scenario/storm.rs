//! The founding table scaled down: copies of large files beside short-lived processes with high-order faults.
//!
//! memoptimizer's slide had nine `dd` and `make -j60` on 768 GB; here are three fillers and bursts on 1 GiB, with the
//! same counters going the same way.

use super::{Circumstances, DISK, Data, Load, MINUTE, Scenario};
use crate::plan::{Role, Size, Thp, When};
use units::Bytes;

const MEASURES: &[&str] = &[
    "allocstall",
    "compact_stall",
    "gap_mib_s",
    "guard_ms",
    "refaults_per_read_mib",
    "fault_worst_p50",
    "fault_worst_max",
    "burst_p50",
    "psi_memory_some_ms",
    "read_mib",
    "bursts",
    "pgscan_direct",
    "kswapd_ms",
    "oom_kills",
    "knob_changes",
    "knobs_left",
];
const ARMS: &str = "none,static:1000,warmset";
/// Files that are read in turn: together larger than memory.
const FILES: u64 = 12;
/// Processes that read them.
const FILLERS: u32 = 3;

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
        by_gap: true,
        arms: ARMS,
    }
}

/// Bursts every five seconds.
pub(super) const STORM: Scenario = scenario(
    "storm",
    "file fillers, and bursts of small and huge pages every 5 s",
    storm,
);
/// No bursts.
pub(super) const STEADY: Scenario = scenario("storm:steady", "file fillers alone", |at| {
    load(at, Vec::new())
});
/// Memory that grows.
pub(super) const RAMP: Scenario = scenario(
    "storm:ramp",
    "file fillers, and memory that grows steadily, again and again",
    ramp,
);
/// Memory that leaks.
pub(super) const LEAK: Scenario = scenario(
    "storm:leak",
    "a leak of 1 to 4 MiB/s beside one filler and small bursts: for forecasts",
    leak,
);
/// Fewer, larger bursts.
pub(super) const PERIODIC: Scenario = scenario(
    "storm:periodic",
    "file fillers, and a large burst every 15 s",
    periodic,
);
/// Many small processes.
pub(super) const FORKS: Scenario = scenario(
    "storm:forks",
    "file fillers, and waves of 24 short processes",
    forks,
);
/// Huge pages by the kernel's own file.
pub(super) const HUGE: Scenario = scenario(
    "storm:huge",
    "file fillers, and a grab of huge pages every 10 s",
    huge,
);
/// Blocks smaller than a huge page.
pub(super) const ORDERS: Scenario = Scenario {
    measures: &[
        "compact_stall",
        "allocstall",
        "order3_p99",
        "order4_p99",
        "order5_p99",
        "order5_max",
        "gap_mib_s",
        "guard_ms",
        "refaults_per_read_mib",
        "read_mib",
        "messages",
        "messages_refused",
        "kswapd_ms",
        "oom_kills",
        "knob_changes",
        "knobs_left",
    ],
    arms: "none,static:1000,protect",
    ..scenario(
        "storm:orders",
        "file fillers, memory full of holes, and waves of messages in blocks of order 3, 4 and 5",
        orders,
    )
};
/// A cgroup at its own limit.
pub(super) const CGROUP: Scenario = scenario(
    "storm:cgroup",
    "the storm inside a control group of a third of memory",
    cgroup,
);

/// This many MiB on a machine of 1 GiB, and in proportion on others.
fn scaled(at: &Circumstances<'_>, mib: u64) -> u64 {
    (mib * at.memory_mib / 1024).max(2)
}

fn burst(at: &Circumstances<'_>, factor: u64, period_ms: u64) -> Role {
    let small = scaled(at, 96 * factor).to_string();
    let huge = scaled(at, 64 * factor).to_string();
    Role::new("burst", &["burst", &small, &huge])
        .times(2)
        .when(When::Every(period_ms))
}

fn storm(at: &Circumstances<'_>) -> Load {
    load(at, vec![burst(at, 1, 5_000)])
}

fn periodic(at: &Circumstances<'_>) -> Load {
    load(at, vec![burst(at, 2, 15_000)])
}

fn ramp(at: &Circumstances<'_>) -> Load {
    let rate = scaled(at, 24).to_string();
    let most = scaled(at, 360).to_string();
    load(at, vec![Role::new("ramp", &["ramp", &rate, &most])])
}

/// Two leaks of different speed, so that their sum has several.
fn leak(at: &Circumstances<'_>) -> Load {
    let fast = scaled(at, 3072).to_string();
    let most_of_fast = scaled(at, 260).to_string();
    let slow = scaled(at, 900).to_string();
    let most_of_slow = scaled(at, 90).to_string();
    let burst = scaled(at, 24).to_string();
    let leaks = vec![
        Role::new("leak", &["leak", &fast, &most_of_fast]),
        Role::new("leak-slow", &["leak", &slow, &most_of_slow]),
        Role::new("burst", &["burst", &burst, "2"]).when(When::Again(4_000)),
    ];
    let load = load(at, leaks);
    Load {
        size: Size {
            memory_mib: 0,
            warm_up_s: 5,
            load_s: 400,
            calm_s: 0,
        },
        ..load
    }
}

fn forks(at: &Circumstances<'_>) -> Load {
    let mib = scaled(at, 8).to_string();
    load(at, vec![Role::new("forks", &["forks", "24", &mib])])
}

fn huge(at: &Circumstances<'_>) -> Load {
    let pages = (scaled(at, 128) / 2).to_string();
    let grab = Role::new("grab", &["grab", &pages]).when(When::Every(10_000));
    load(at, vec![grab])
}

fn orders(at: &Circumstances<'_>) -> Load {
    let holes = scaled(at, 900).to_string();
    let count = scaled(at, 120).to_string();
    let roles = vec![
        Role::new("holes", &["holes", &holes]),
        Role::new("messages", &["messages", &count]),
    ];
    load(at, roles)
}

fn cgroup(at: &Circumstances<'_>) -> Load {
    let limit = at.memory_mib * 1024 * 1024 / 3;
    let mut load = storm(at);
    let roles = load.roles.into_iter();
    load.roles = roles.map(|role| role.within("limited", limit)).collect();
    load
}

fn load(at: &Circumstances<'_>, besides: Vec<Role>) -> Load {
    let new = scaled(at, 48);
    let words = [
        "fill",
        "/data",
        &FILES.to_string(),
        &FILLERS.to_string(),
        &new.to_string(),
    ];
    let mut roles = vec![Role::new("fill", &words).times(FILLERS)];
    roles.extend(besides);
    let files = super::numbered(FILES, scaled(at, 96));
    // Twice what the fillers write at once: ext4 frees the blocks of a removed file later.
    let free = Bytes::mib(u64::from(FILLERS) * new * 2);
    Load {
        roles,
        data: Data::Files(files, free),
        throttle: DISK,
        thp: Some(Thp::Madvise),
        ends_with: None,
        size: MINUTE,
    }
}
