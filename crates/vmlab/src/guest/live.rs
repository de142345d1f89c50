//! How it goes, told while it goes.

use crate::conduct::OUT;
use crate::{clock, control, watch};
use std::fs;
use warmset_vmlab::plan::Live;

const MIB: f64 = 1_048_576.0;

/// Tells the lab; `from` is the moment at which counting begins.
pub(crate) fn tell(from: f64) {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let pressure = fs::read_to_string("/proc/pressure/memory").unwrap_or_default();
    let live = Live {
        at_s: (clock::now() - from) / 1e3,
        free_mib: sum(&vmstat, "nr_free_pages ") * 4096.0 / MIB,
        gap_mib: watch::gap() / MIB,
        allocstall: sum(&vmstat, "allocstall_"),
        compact_stall: sum(&vmstat, "compact_stall "),
        stalled_ms: pressure
            .lines()
            .next()
            .and_then(|line| line.rsplit("total=").next()?.parse().ok())
            .unwrap_or(0.0)
            / 1e3,
        refaults: sum(&vmstat, "workingset_refault_"),
        kills: sum(&vmstat, "oom_kill "),
        exec_ms: last("exec"),
        read_ms: last("read"),
    };
    if let Ok(payload) = serde_json::to_vec(&live) {
        control::say("live", payload);
    }
}

/// The sum of all counters that begin so.
fn sum(vmstat: &str, prefix: &str) -> f64 {
    let lines = vmstat.lines().filter(|line| line.starts_with(prefix));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// How long the last operation that a worker wrote down took.
fn last(role: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{OUT}/{role}-0")).ok()?;
    let line = text
        .lines()
        .rfind(|line| line.starts_with(&format!("op {role} ")))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_by_how_they_begin() {
        let vmstat =
            "allocstall_normal 3\nallocstall_movable 4\ncompact_stall 5\ncompact_stall_other 9\n";
        assert_eq!(
            (sum(vmstat, "allocstall_"), sum(vmstat, "compact_stall ")),
            (7.0, 5.0)
        );
    }
}
