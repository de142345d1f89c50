//! A machine that stands: a program grows up to the last of memory and needs its code to do so. The kernel always finds one more page of
//! code to take from a program that needs it at once, and what is left of memory is filled as slowly as the disk reads.
//!
//! No kernel calls that out of memory, because each look at its lists reclaims something. le9uo promises to end it at once.
//! Each program is in the unit that it has on a desktop under systemd.

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

/// Pages of its code that the hog runs through for each MiB: one for each page that it makes.
const PAGES_A_MIB: u64 = 256;

/// The most code, as a browser's: more takes most of the load to be read for the first time.
const CODE_MIB: u64 = 128;

/// The second claim of le9uo.
pub(super) const LIVELOCK: Scenario = Scenario {
    name: "livelock",
    about: "a program that fills memory and runs through its code, on a slow disk",
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

/// The unit of a role, as on a desktop under systemd; `None` for what only measures.
fn unit(role: &str) -> Option<&'static str> {
    match role {
        "window" => {
            Some("user.slice/user-1000.slice/user@1000.service/session.slice/shell.service")
        }
        "hog" => Some("user.slice/user-1000.slice/user@1000.service/app.slice/app-browse.scope"),
        "prompt" => Some("user.slice/user-1000.slice/session-2.scope"),
        "login" => Some("system.slice/ssh.service"),
        _ => None,
    }
}

fn in_its_unit(role: Role) -> Role {
    match unit(&role.name) {
        Some(unit) => role.within(unit, u64::MAX),
        None => role,
    }
}

fn load(at: &Circumstances<'_>) -> Load {
    // All of memory within half a minute, as long as its code is there.
    let pace = (at.memory_mib * 1024 / 30).to_string();
    let words = ["browse", &pace, &PAGES_A_MIB.to_string(), "/data/code"];
    let mut roles = vec![
        Role::new("hog", &words)
            .when(When::Again(30_000))
            .after(10)
            .with_oom_score_adj(0),
    ];
    roles.extend(probes());
    roles.extend(people(at.memory_mib));
    let code = code((at.memory_mib / 4).min(CODE_MIB));
    Load {
        roles: roles.into_iter().map(in_its_unit).collect(),
        data: Data::Files(vec![code], Bytes::mib(16)),
        throttle: HARD_DISK,
        thp: None,
        ends_with: None,
        size: LENGTH,
    }
}
