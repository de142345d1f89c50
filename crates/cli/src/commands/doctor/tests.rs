#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use super::*;
use crate::example;
use crate::ui::text::Paint;
use expect_test::expect;
use host::{Rival, RivalKind};
use pressure::knob::Knob;
use pressure::sample::{Cgroups, Swap, SwapKind};
use units::{Bytes, Micros, Percent};

/// A machine on which all is well.
fn healthy() -> Case {
    let mut sample = example::sample();
    let knobs = &mut sample.knobs.now;
    for (knob, value) in [
        (Knob::MinFreeKbytes, 40_960),
        (Knob::WatermarkScaleFactor, 143),
        (Knob::WatermarkBoostFactor, 15_000),
        (Knob::Swappiness, 60),
        (Knob::PageCluster, 3),
    ] {
        knobs.put(knob, Some(value));
    }
    sample.memory_pressure.some_total = Some(Micros::new(36_300_000));
    sample.counters.allocstall_normal = Some(12);
    sample.counters.compact_stall = Some(1);
    sample.counters.workingset_refault_file = Some(512);
    sample.counters.workingset_refault_anon = Some(0);
    sample.counters.pswpin = Some(256);
    sample.counters.pswpout = Some(1024);
    sample.counters.oom_kill = Some(0);
    let settings = Settings {
        huge_pages: Some("madvise".to_owned()),
        defrag: Some("madvise".to_owned()),
        overcommit: Some(0),
        zone_reclaim: Some(0),
        dirty_bytes: Some(0),
        dirty_background_bytes: Some(0),
        refused: None,
    };
    let observed = Observation {
        facts: example::facts(),
        sample,
        rivals: Vec::new(),
        warnings: Vec::new(),
    };
    Case {
        observed,
        settings,
        root: true,
    }
}

/// What is not well on the healthy machine after `change`.
fn found(change: impl FnOnce(&mut Case)) -> Vec<(Level, String)> {
    let mut case = healthy();
    change(&mut case);
    let findings = examine(&case)
        .findings
        .into_iter()
        .filter(|finding| finding.level != Level::Ok);
    findings
        .map(|finding| (finding.level, finding.what))
        .collect()
}

fn knob(case: &mut Case, knob: Knob, value: u64) {
    case.observed.sample.knobs.now.put(knob, Some(value));
}

fn rival(name: &str, kind: RivalKind) -> Rival {
    Rival {
        name: name.to_owned(),
        kind,
        evidence: "process 12".to_owned(),
        floor: Some(Percent::new(10)),
    }
}

#[test]
fn on_a_healthy_machine_there_is_nothing_to_do() {
    assert_eq!(found(|_| ()), []);
    expect![[r#"
        What memory pressure has cost since boot, 2 h ago
        waited     some task 36.3 s (0.5 % of the time); all tasks 9 s (0.12 % of the
                   time)
        stalled    12 allocations reclaimed for themselves, 1 compacted
        refaults   512 pages refaulted, 2 MiB in all
        swap       1 MiB in, 4 MiB out
        killed     0 processes by the kernel, because memory ran out

        ok:
          nothing else tunes or guards memory here
          the kernel accounts for pressure (PSI)
          control groups are of version 2
          vm.min_free_kbytes reserves 40 MiB (0.5 % of memory)
          vm.watermark_scale_factor = 143 sets the gap
          vm.watermark_boost_factor = 15000
          there is swap: 2 GiB
          vm.swappiness = 60
          vm.overcommit_memory = 0: obvious overcommits are refused
          transparent huge pages: madvise, defrag madvise
          vm.zone_reclaim_mode = 0
    "#]]
    .assert_eq(&text(&examine(&healthy()), Paint::Plain));
}

#[test]
fn each_fault_is_found_alone() {
    type Change = fn(&mut Case);
    let faults: [(Level, Change); 19] = [
        (Level::Problem, |case| {
            case.observed.rivals.push(rival("tuned", RivalKind::Tuner));
        }),
        (Level::Advice, |case| {
            case.observed.rivals.push(rival("DAMON", RivalKind::Damon));
        }),
        (Level::Advice, |case| {
            case.observed
                .rivals
                .push(rival("vm.watermark_scale_factor", RivalKind::Sysctl));
        }),
        (Level::Problem, |case| {
            case.observed.sample.memory_pressure.some_total = None;
        }),
        (Level::Advice, |case| case.root = false),
        (Level::Advice, |case| {
            case.observed.facts.container = Some("lxc".to_owned());
        }),
        (Level::Advice, |case| case.observed.facts.hidepid = true),
        (Level::Advice, |case| {
            case.observed.facts.cgroups = Cgroups::Hybrid;
        }),
        (Level::Problem, |case| {
            knob(case, Knob::MinFreeKbytes, 500_000);
            knob(case, Knob::WatermarkScaleFactor, 500);
        }),
        (Level::Advice, |case| {
            knob(case, Knob::WatermarkScaleFactor, 10);
        }),
        (Level::Advice, |case| {
            knob(case, Knob::WatermarkBoostFactor, 150_000);
        }),
        (Level::Advice, |case| {
            case.observed.sample.memory.swap_total = Some(Bytes::ZERO);
        }),
        (Level::Advice, |case| {
            case.observed.sample.swaps = vec![Swap {
                kind: SwapKind::Zram,
                ..Swap::default()
            }];
        }),
        (Level::Advice, |case| knob(case, Knob::Swappiness, 0)),
        (Level::Advice, |case| case.settings.overcommit = Some(1)),
        (Level::Problem, |case| {
            case.settings.overcommit = Some(2);
            case.observed.sample.memory.commit_limit = Some(Bytes::mib(100));
            case.observed.sample.memory.committed = Some(Bytes::mib(95));
        }),
        (Level::Advice, |case| {
            case.settings.huge_pages = Some("always".to_owned());
            case.settings.defrag = Some("always".to_owned());
        }),
        (Level::Advice, |case| case.settings.zone_reclaim = Some(1)),
        (Level::Advice, |case| {
            case.settings.dirty_bytes = Some(4 << 30);
        }),
    ];
    let mut all = String::new();
    for (level, fault) in faults {
        let findings = found(fault);
        assert_eq!(
            findings.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
            [level],
            "{findings:?}"
        );
        let _ = writeln!(all, "{level:?}: {}", findings[0].1);
    }
    expect![[r#"
        Problem: tuned (process 12): we drive nothing while it runs
        Advice: DAMON (process 12): we leave it alone
        Advice: vm.watermark_scale_factor (process 12): we never go below that value, and put it back
        Problem: the kernel does not account for pressure (PSI)
        Advice: this was not run by root
        Advice: this looks like a container (lxc)
        Advice: processes of other users are hidden (hidepid on /proc)
        Advice: the memory controller is on version 1 of control groups
        Problem: vm.min_free_kbytes reserves 488 MiB, 6.1 % of memory
        Advice: vm.watermark_scale_factor = 10 has no effect on this machine
        Advice: vm.watermark_boost_factor = 150000
        Advice: there is no swap
        Advice: swap is on zram, and vm.page-cluster = 3
        Advice: vm.swappiness = 0 while there is swap
        Advice: vm.overcommit_memory = 1: memory is promised without limit
        Problem: vm.overcommit_memory = 2, and 95 MiB of 100 MiB are promised (95 %)
        Advice: transparent huge pages: always, defrag always
        Advice: vm.zone_reclaim_mode = 1
        Advice: vm.dirty_bytes is 4 GiB, more than a fifth of memory
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_guard_that_kills_is_no_problem_and_can_be_taken_over() {
    let beside = |case: &mut Case| {
        case.observed
            .rivals
            .push(rival("earlyoom", RivalKind::Guard));
    };
    assert_eq!(
        found(beside)
            .into_iter()
            .map(|(level, _)| level)
            .collect::<Vec<_>>(),
        [Level::Advice]
    );
    let mut case = healthy();
    beside(&mut case);
    let text = text(&examine(&case), Paint::Plain);
    assert!(text.contains("warmset import earlyoom"), "{text}");
}

#[test]
fn what_is_unknown_is_said_and_gives_no_advice() {
    let mut case = healthy();
    case.observed.sample = pressure::Sample::default();
    case.settings = Settings::default();
    let text = text(&examine(&case), Paint::Plain);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expect![[r#"
        What memory pressure has cost since boot, 0 ns ago
        waited     some task unknown; all tasks unknown
        stalled    unknown allocations reclaimed for themselves, unknown compacted
        refaults   unknown pages refaulted, unknown in all
        swap       unknown in, unknown out
        killed     unknown processes by the kernel, because memory ran out

        problem: the kernel does not account for pressure (PSI)
          Without PSI the time that tasks wait for memory is unknown. The guard is not
          woken when they wait; it samples at intervals instead.
          → Boot with psi=1; the kernel needs CONFIG_PSI.

        ok:
          nothing else tunes or guards memory here
          control groups are of version 2
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_configuration_that_the_guard_refuses_is_a_problem() {
    let what = "hooks.ended: /opt/hook: others may write to it; chmod go-w";
    let found = found(|case| {
        case.root = true;
        case.settings.refused = Some(what.to_owned());
    });
    assert_eq!(found, [(Level::Problem, what.to_owned())]);
}

#[test]
fn the_worst_finding_comes_first() {
    let levels: Vec<Level> = found(|case| {
        case.settings.zone_reclaim = Some(1);
        case.observed.sample.memory_pressure.some_total = None;
    })
    .into_iter()
    .map(|(level, _)| level)
    .collect();
    assert_eq!(levels, [Level::Problem, Level::Advice]);
}
