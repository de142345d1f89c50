//! The measures: what each is, which way is better, and where it is in a line.

use crate::line::Line;
use crate::plan::{Kill, Latency};

/// A number that is read from a run.
pub struct Measure {
    /// Its name in tables.
    pub name: &'static str,
    /// Its unit, empty for counts.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Its value; `None` is unknown.
    pub of: fn(&Line) -> Option<f64>,
}

const fn less(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&Line) -> Option<f64>,
) -> Measure {
    Measure {
        name,
        unit,
        about,
        more_is_better: false,
        of,
    }
}

const fn more(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&Line) -> Option<f64>,
) -> Measure {
    Measure {
        name,
        unit,
        about,
        more_is_better: true,
        of,
    }
}

/// All of them.
pub const MEASURES: &[Measure] = &[
    less(
        "allocstall",
        "",
        "allocations that had to reclaim for themselves, all zones",
        |line| counted(line, "allocstall_"),
    ),
    less(
        "compact_stall",
        "",
        "allocations that had to compact for themselves",
        |line| counter(line, "compact_stall"),
    ),
    less(
        "gap_mib_s",
        "MiB·s",
        "memory held free above what was found, over load and calm",
        |line| {
            let gap = line.report.gap?;
            Some(gap.load_mib_s + gap.calm_mib_s)
        },
    ),
    less(
        "refaults_per_read_mib",
        "pages/MiB",
        "refaults for each MiB that the load read",
        |line| per(counted(line, "workingset_refault_"), work(line, "read_mib")),
    ),
    less(
        "workingset_refault_file",
        "pages",
        "file pages read again after eviction",
        |line| counter(line, "workingset_refault_file"),
    ),
    less(
        "workingset_refault_anon",
        "pages",
        "anonymous pages read again after eviction",
        |line| counter(line, "workingset_refault_anon"),
    ),
    less(
        "fault_worst_p50",
        "ms",
        "the median burst's longest page fault",
        |line| latency(line, "fault_worst", |l| l.p50),
    ),
    less(
        "fault_worst_max",
        "ms",
        "the longest page fault of any burst",
        |line| latency(line, "fault_worst", |l| l.max),
    ),
    less("burst_p50", "ms", "the median burst", |line| {
        latency(line, "burst", |l| l.p50)
    }),
    less(
        "order3_p99",
        "ms",
        "the last percentile of messages in blocks of order 3",
        |line| latency(line, "order3", |l| l.p99),
    ),
    less(
        "order4_p99",
        "ms",
        "the last percentile of messages in blocks of order 4",
        |line| latency(line, "order4", |l| l.p99),
    ),
    less(
        "order5_p99",
        "ms",
        "the last percentile of messages in blocks of order 5",
        |line| latency(line, "order5", |l| l.p99),
    ),
    less(
        "order5_max",
        "ms",
        "the longest message in a block of order 5",
        |line| latency(line, "order5", |l| l.max),
    ),
    less(
        "psi_memory_some_ms",
        "ms",
        "time in which some task waited for memory",
        |line| Some(counter(line, "psi_memory_some_us")? / 1e3),
    ),
    less(
        "psi_memory_full_ms",
        "ms",
        "time in which all tasks waited for memory",
        |line| Some(counter(line, "psi_memory_full_us")? / 1e3),
    ),
    less(
        "pgscan_direct",
        "pages",
        "pages scanned by allocating tasks",
        |line| counter(line, "pgscan_direct"),
    ),
    less("kswapd_ms", "ms", "CPU time of kswapd", |line| {
        line.report.cpu_ms.get("kswapd").copied()
    }),
    less(
        "guard_ms",
        "ms",
        "CPU time of the arm's own programs",
        guard,
    ),
    less("oom_kills", "", "processes killed", |line| {
        Some(line.report.kills.len() as f64)
    }),
    less(
        "knob_changes",
        "",
        "changes of kernel settings seen",
        |line| line.report.writes.map(|writes| writes as f64),
    ),
    less("knobs_left", "", "kernel settings not put back", |line| {
        Some(line.report.left.len() as f64)
    }),
    more("read_mib", "MiB", "read by the fillers", |line| {
        work(line, "read_mib")
    }),
    more("bursts", "", "bursts that ended", |line| {
        work(line, "bursts")
    }),
    more("messages", "", "messages that were sent", |line| {
        work(line, "messages")
    }),
    less(
        "messages_refused",
        "",
        "messages that found no memory",
        |line| work(line, "messages_refused"),
    ),
    more("stream_mib", "MiB", "streamed", |line| {
        work(line, "stream_mib")
    }),
    more("scan_mib", "MiB", "scanned once", |line| {
        work(line, "scan_mib")
    }),
    more("swept_mib", "MiB", "anonymous memory swept", |line| {
        work(line, "swept_mib")
    }),
    less(
        "hot_refault_share",
        "",
        "share of the hot file that had been evicted when it was read",
        |line| {
            per(
                work(line, "hot_pages_refaulted"),
                work(line, "hot_pages_read"),
            )
        },
    ),
    less(
        "read_p50",
        "ms",
        "the median read of the hot file",
        |line| latency(line, "read", |l| l.p50),
    ),
    less(
        "read_p90",
        "ms",
        "the ninth decile of the hot file's reads",
        |line| latency(line, "read", |l| l.p90),
    ),
    less(
        "read_p99",
        "ms",
        "the last percentile of the hot file's reads",
        |line| latency(line, "read", |l| l.p99),
    ),
    less(
        "read_max",
        "ms",
        "the longest read of the hot file",
        |line| latency(line, "read", |l| l.max),
    ),
    less(
        "read_warm_p50",
        "ms",
        "the median of those reads that found all of it in memory",
        |line| latency(line, "read_warm", |l| l.p50),
    ),
    less(
        "read_own_p50",
        "ms",
        "the median read, without the time that it waited for a CPU",
        |line| latency(line, "read_own", |l| l.p50),
    ),
    less(
        "read_own_p90",
        "ms",
        "the ninth decile of reads, without that time",
        |line| latency(line, "read_own", |l| l.p90),
    ),
    less(
        "read_own_max",
        "ms",
        "the longest read, without that time",
        |line| latency(line, "read_own", |l| l.max),
    ),
    less("exec_p50", "ms", "the median start of a command", |line| {
        latency(line, "exec", |l| l.p50)
    }),
    less(
        "exec_p99",
        "ms",
        "the last percentile of a command's starts",
        |line| latency(line, "exec", |l| l.p99),
    ),
    less("exec_max", "ms", "the longest start of a command", |line| {
        latency(line, "exec", |l| l.max)
    }),
    less(
        "beat_late_max",
        "ms",
        "the longest freeze: the locked heartbeat's latest wake",
        |line| latency(line, "beat_late", |l| l.max),
    ),
    less(
        "prompt_p50",
        "ms",
        "the median answer of a shell at a terminal",
        |line| latency(line, "prompt", |l| l.p50),
    ),
    less(
        "prompt_p99",
        "ms",
        "the last percentile of a shell's answers at a terminal",
        |line| latency(line, "prompt", |l| l.p99),
    ),
    less(
        "prompt_max",
        "ms",
        "the longest answer of a shell at a terminal",
        |line| latency(line, "prompt", |l| l.max),
    ),
    less(
        "prompt_slow",
        "ms",
        "time in which a shell's answer at a terminal took longer than a second",
        |line| slow(line, "prompt"),
    ),
    less("login_p50", "ms", "the median login to a shell", |line| {
        latency(line, "login", |l| l.p50)
    }),
    less(
        "login_p99",
        "ms",
        "the last percentile of logins to a shell",
        |line| latency(line, "login", |l| l.p99),
    ),
    less("login_max", "ms", "the longest login to a shell", |line| {
        latency(line, "login", |l| l.max)
    }),
    less(
        "login_slow",
        "ms",
        "time in which a login to a shell took longer than a second",
        |line| slow(line, "login"),
    ),
    less(
        "window_p50",
        "ms",
        "the median reaction of a window",
        |line| latency(line, "window", |l| l.p50),
    ),
    less(
        "window_p99",
        "ms",
        "the last percentile of a window's reactions",
        |line| latency(line, "window", |l| l.p99),
    ),
    less(
        "window_max",
        "ms",
        "the longest reaction of a window",
        |line| latency(line, "window", |l| l.max),
    ),
    less(
        "window_slow",
        "ms",
        "time in which a window's reaction took longer than a second",
        |line| slow(line, "window"),
    ),
    less(
        "exec_slow",
        "ms",
        "time in which a command's start took longer than a second",
        |line| slow(line, "exec"),
    ),
    less(
        "touch_p90",
        "ms",
        "the ninth decile of the warm set's batches of 64 pages",
        |line| latency(line, "touch", |l| l.p90),
    ),
    less(
        "touch_p99",
        "ms",
        "the last percentile of the warm set's batches of 64 pages",
        |line| latency(line, "touch", |l| l.p99),
    ),
    less(
        "wrong_kills",
        "",
        "processes killed that were no hog",
        |line| {
            Some(
                line.report
                    .kills
                    .iter()
                    .filter(|kill| !is_hog(kill))
                    .count() as f64,
            )
        },
    ),
    less(
        "false_kills",
        "",
        "hogs that the kernel killed while a tenth of swap or much slab was free, and all others killed",
        |line| {
            Some(
                line.report
                    .kills
                    .iter()
                    .filter(|kill| is_false(kill))
                    .count() as f64,
            )
        },
    ),
    less(
        "second_kills",
        "",
        "processes killed within 3 s of another",
        |line| {
            Some(
                line.report
                    .kills
                    .windows(2)
                    .filter(|pair| is_second(&pair[0], &pair[1]))
                    .count() as f64,
            )
        },
    ),
    less(
        "hog_over_ms",
        "ms",
        "how long a hog lived once it had more than was available when it began, the longest; unknown if none came so far",
        |line| {
            let all = line.report.kills.iter().filter_map(|kill| kill.over_ms);
            all.reduce(f64::max)
        },
    ),
    less(
        "kill_after_s",
        "s",
        "from a hog's start to the kill, the median",
        |line| median_of(line, |kill| kill.since_hog_s),
    ),
    less(
        "read_after_kill",
        "ms",
        "the hot file's first read after a kill, the median",
        |line| median_of(line, |kill| kill.next_read_ms),
    ),
    less(
        "exec_after_kill",
        "ms",
        "the first start of a command after a kill, the median",
        |line| median_of(line, |kill| kill.next_exec_ms),
    ),
    less(
        "sectors_read",
        "",
        "sectors of 512 bytes read from root and data disk",
        |line| Some(counter(line, "vda_sectors_read")? + counter(line, "vdb_sectors_read")?),
    ),
    less("swapped_out", "pages", "pages written to swap", |line| {
        counter(line, "pswpout")
    }),
    more("lookups_per_s", "1/s", "lookups", |line| {
        per(
            work(line, "lookups"),
            line.report.seconds.get("load").copied(),
        )
    }),
    more(
        "index_resident_pages",
        "pages",
        "pages of the index in memory, the mean of all looks",
        |line| {
            per(
                work(line, "index_resident_pages"),
                work(line, "index_looks"),
            )
        },
    ),
    less("index_p50", "ms", "the median walk of the index", |line| {
        latency(line, "index", |l| l.p50)
    }),
    less(
        "index_p99",
        "ms",
        "the last percentile of the index's walks",
        |line| latency(line, "index", |l| l.p99),
    ),
    less(
        "lookup_p50",
        "ms",
        "the median lookup, with its record",
        |line| latency(line, "lookup", |l| l.p50),
    ),
    less(
        "lookup_p99",
        "ms",
        "the last percentile of lookups",
        |line| latency(line, "lookup", |l| l.p99),
    ),
    less("build_s", "s", "the build, from make to its end", |line| {
        Some(latency(line, "build", |l| l.max)? / 1e3)
    }),
    more("built", "", "1 if the build came to its end", |line| {
        work(line, "built")
    }),
];

/// Whether the victim is what takes all memory: the lab's own program, or that of the founding demonstration.
fn is_hog(kill: &Kill) -> bool {
    kill.victim == "hog" || kill.victim == "tail"
}

/// Whether it was no hog, or the kernel still had something to take: a tenth of swap, or a twentieth of memory in slab
/// caches. A program may well end one before swap is full.
fn is_false(kill: &Kill) -> bool {
    let had_more =
        kill.swap_free.is_some_and(|free| free > 0.10) || kill.slab.is_some_and(|slab| slab > 0.05);
    !is_hog(kill) || (kill.by == "kernel" && had_more)
}

/// Whether the second was killed while the first one's memory was on its way back. A kill that the kernel told, and the
/// end of that process seen a while later, are of one hog: both began with it.
fn is_second(first: &Kill, second: &Kill) -> bool {
    let began = |kill: &Kill| kill.since_hog_s.map(|since| kill.at_s - since);
    let same = first.victim == second.victim
        && began(first)
            .zip(began(second))
            .is_some_and(|(first, second)| (first - second).abs() < 0.1);
    !same && second.at_s - first.at_s < 3.0
}

/// A kernel counter, over load and calm; unknown if the kernel has none, and if no phase was measured.
fn counter(line: &Line, name: &str) -> Option<f64> {
    let phases = &line.report.counters;
    if phases.is_empty() {
        return None;
    }
    phases
        .values()
        .map(|counts| counts.get(name).map(|count| *count as f64))
        .sum()
}

/// All counters that begin so.
fn counted(line: &Line, prefix: &str) -> Option<f64> {
    let all = line.report.counters.values().flatten();
    let values: Vec<f64> = all
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(_, count)| *count as f64)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

fn work(line: &Line, name: &str) -> Option<f64> {
    line.report.work.get(name).copied()
}

fn latency(line: &Line, name: &str, of: fn(&Latency) -> f64) -> Option<f64> {
    line.report.latency.get(name).map(of)
}

/// All that took longer than a second, together.
fn slow(line: &Line, name: &str) -> Option<f64> {
    line.report.latency.get(name)?.slow
}

/// Of all of them; unknown where none was seen. No load of the lab's has a python3 but nohang's.
fn guard(line: &Line) -> Option<f64> {
    let known = [
        "warmsetd",
        "warmset-hold",
        "warmset-local",
        "earlyoom",
        "python3",
    ]
    .into_iter();
    known
        .filter_map(|name| line.report.cpu_ms.get(name))
        .copied()
        .reduce(|all, one| all + one)
}

fn per(value: Option<f64>, by: Option<f64>) -> Option<f64> {
    by.filter(|by| *by > 0.0).and_then(|by| Some(value? / by))
}

fn median_of(line: &Line, of: fn(&Kill) -> Option<f64>) -> Option<f64> {
    Latency::of(line.report.kills.iter().filter_map(of).collect()).map(|latency| latency.p50)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = MEASURES.iter().map(|measure| measure.name).collect();
        assert_eq!(names.len(), MEASURES.len());
    }

    #[test]
    fn one_hog_killed_and_seen_dead_is_one_kill() {
        let kill = |at_s, since| Kill {
            by: "kernel".to_owned(),
            victim: "hog".to_owned(),
            at_s,
            since_hog_s: Some(since),
            over_ms: None,
            next_read_ms: None,
            next_exec_ms: None,
            swap_free: None,
            slab: Some(0.01),
        };
        let early = Kill {
            swap_free: Some(0.4),
            ..kill(9.0, 4.0)
        };
        assert!(
            is_false(&early)
                && !is_false(&Kill {
                    by: "program".to_owned(),
                    ..early
                })
        );
        assert!(
            !is_false(&kill(9.0, 4.0))
                && is_false(&Kill {
                    slab: Some(0.06),
                    ..kill(9.0, 4.0)
                })
        );
        assert!(is_false(&Kill {
            victim: "read".to_owned(),
            ..kill(9.0, 4.0)
        }));
        assert!(
            !is_second(&kill(101.1, 95.6), &kill(103.9, 98.4)),
            "it began at 5.5 s both times"
        );
        assert!(is_second(&kill(101.1, 95.6), &kill(103.9, 1.0)));
        assert!(!is_second(&kill(101.1, 95.6), &kill(123.9, 1.0)));
    }

    /// A count of events is 0 where the guest looked and saw none. All else is unknown until it was measured.
    #[test]
    fn what_was_not_measured_is_no_number() {
        const COUNTS: [&str; 5] = [
            "oom_kills",
            "knobs_left",
            "wrong_kills",
            "false_kills",
            "second_kills",
        ];
        let mut line = crate::line::tests::line("none", 0);
        line.report = crate::plan::Report::default();
        for measure in MEASURES {
            let value = (measure.of)(&line);
            let is_count = COUNTS.contains(&measure.name);
            assert_eq!(value.is_some(), is_count, "{}: {value:?}", measure.name);
        }
    }

    #[test]
    fn phases_add_up_and_what_is_not_there_is_unknown() {
        let mut line = crate::line::tests::line("none", 0);
        assert_eq!(
            (
                counter(&line, "compact_stall"),
                counted(&line, "allocstall_")
            ),
            (None, None),
            "no phase at all"
        );
        let phase = |normal| {
            BTreeMap::from([
                ("allocstall_normal".to_owned(), normal),
                ("allocstall_movable".to_owned(), 1),
            ])
        };
        line.report.counters =
            BTreeMap::from([("load".to_owned(), phase(5)), ("calm".to_owned(), phase(2))]);
        assert_eq!(counted(&line, "allocstall_"), Some(9.0));
        assert_eq!(counter(&line, "compact_stall"), None);
        assert_eq!(per(Some(1.0), Some(0.0)), None);
    }
}
