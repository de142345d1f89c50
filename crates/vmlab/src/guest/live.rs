//! The state of a run, sent to the lab while it runs.

use crate::conduct::OUT;
use crate::{clock, serial, zones};
use std::fs;
use warmset_vmlab::plan::Live;

const MIB: f64 = 1_048_576.0;
/// Bytes of a page on x86-64.
const PAGE: f64 = 4096.0;

/// Sends the state now; `from` is the moment at which counting begins, in milliseconds since boot.
pub(crate) fn send(from: f64) {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let pressure = fs::read_to_string("/proc/pressure/memory").unwrap_or_default();
    let live = Live {
        at_s: (clock::now() - from) / 1e3,
        free_mib: sum(&vmstat, "nr_free_pages ") * PAGE / MIB,
        gap_mib: zones::gap() / MIB,
        allocstall: sum(&vmstat, "allocstall_"),
        compact_stall: sum(&vmstat, "compact_stall "),
        stalled_ms: stalled_us(&pressure).unwrap_or(0.0) / 1e3,
        refaults: sum(&vmstat, "workingset_refault_"),
        kills: sum(&vmstat, "oom_kill "),
        exec_ms: last("exec"),
        read_ms: last("read"),
    };
    if let Ok(payload) = serde_json::to_vec(&live) {
        serial::say("live", payload);
    }
}

/// The sum of all counters with this prefix.
fn sum(vmstat: &str, prefix: &str) -> f64 {
    let lines = vmstat.lines().filter(|line| line.starts_with(prefix));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

/// PSI's total of "some", the first line, in microseconds.
fn stalled_us(pressure: &str) -> Option<f64> {
    let some = pressure.lines().next()?;
    some.rsplit("total=").next()?.parse().ok()
}

/// Milliseconds that the last operation in this role's output took.
fn last(role: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("{OUT}/{role}-0")).ok()?;
    let prefix = format!("op {role} ");
    let line = text.lines().rfind(|line| line.starts_with(&prefix))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_by_prefix() {
        let vmstat =
            "allocstall_normal 3\nallocstall_movable 4\ncompact_stall 5\ncompact_stall_other 9\n";
        assert_eq!(sum(vmstat, "allocstall_"), 7.0);
        assert_eq!(sum(vmstat, "compact_stall "), 5.0);
    }

    #[test]
    fn the_stalled_time_is_of_the_first_line() {
        let pressure =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=120\nfull avg10=0.00 total=7\n";
        assert_eq!(stalled_us(pressure), Some(120.0));
        assert_eq!(stalled_us(""), None);
    }
}
