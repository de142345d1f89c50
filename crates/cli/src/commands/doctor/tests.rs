#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use super::*;
use crate::example;
use crate::ui::text::Paint;
use expect_test::expect;
use host::{Acts, Rival, RivalKind, SysctlLine, WithoutEffect};
use pressure::config::Share;
use pressure::knob::{Knob, KnobSet};
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
        lxcfs: false,
        memory_controller_disabled: false,
        controllers: Some("cpuset cpu io memory pids\n".to_owned()),
        sysctl_lines: Vec::new(),
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

fn rival(name: &str, kind: RivalKind, acts: Acts) -> Rival {
    let floor = (acts == Acts::KillsAnywhere).then_some(Share::Percent(Percent::new(10)));
    Rival {
        name: name.to_owned(),
        kind,
        evidence: "process 12".to_owned(),
        pid: Some(12),
        unit: None,
        arguments: Vec::new(),
        floor,
        acts,
    }
}

/// What a tuner sets.
fn tuner(knobs: Option<KnobSet>) -> Acts {
    Acts::Sets {
        profile: String::new(),
        knobs,
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
            case.observed
                .rivals
                .push(rival("tuned", RivalKind::Tuner, tuner(None)));
        }),
        (Level::Advice, |case| {
            case.observed
                .rivals
                .push(rival("DAMON", RivalKind::Damon, Acts::AsItsKind));
        }),
        (Level::Advice, |case| {
            case.observed.rivals.push(rival(
                "vm.watermark_scale_factor",
                RivalKind::Sysctl,
                Acts::AsItsKind,
            ));
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
        Problem: tuned (process 12): which knobs it sets cannot be read; Warmset leaves all knobs alone
        Advice: DAMON (process 12): it reclaims or sorts memory by access; Warmset leaves it alone
        Advice: vm.watermark_scale_factor (process 12): Warmset never goes below that value, and puts it back
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
            .push(rival("earlyoom", RivalKind::Guard, Acts::KillsAnywhere));
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
    assert!(text.contains("sudo warmset take-over earlyoom"), "{text}");
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

/// The findings as they are printed, without those that are ok.
fn printed(change: impl FnOnce(&mut Case)) -> String {
    let mut case = healthy();
    change(&mut case);
    let mut page = Page::new(Paint::Plain);
    for finding in examine(&case).findings {
        if finding.level != Level::Ok {
            show(&mut page, &finding);
        }
    }
    page.text
}

#[test]
fn a_tuner_is_told_by_the_knobs_that_it_sets() {
    let beside = |knobs: &'static [Knob]| {
        move |case: &mut Case| {
            let mut set = KnobSet::NONE;
            for knob in knobs {
                set.insert(*knob);
            }
            let acts = Acts::Sets {
                profile: "hpc-compute".to_owned(),
                knobs: Some(set),
            };
            case.observed
                .rivals
                .push(rival("tuned", RivalKind::Tuner, acts));
        }
    };
    assert_eq!(found(beside(&[])), []);
    expect![[r#"

        advice: tuned (profile hpc-compute) sets vm.min_free_kbytes; Warmset leaves that
        knob alone and drives the others
          Two programs on one knob undo each other's work, so only one of them drives
          it.
          → Nothing, if that is wanted. Otherwise choose a profile without these knobs:
          tuned-adm list shows them.
    "#]]
    .assert_eq(&printed(beside(&[Knob::MinFreeKbytes])));
}

/// hakavlad/nohang#142: the unit that runs is named, not the program.
#[test]
fn the_unit_that_runs_is_taken_over() {
    let text = printed(|case| {
        let mut nohang = rival("nohang", RivalKind::Guard, Acts::KillsAnywhere);
        nohang.unit = Some("nohang-desktop.service".to_owned());
        case.observed.rivals.push(nohang);
    });
    assert!(
        text.contains("sudo warmset take-over\n  nohang-desktop"),
        "{text}"
    );
}

#[test]
fn a_guard_that_kills_nothing_is_no_advice() {
    let acts = Acts::KillsNothing("runs with --dryrun");
    assert_eq!(
        found(|case| case
            .observed
            .rivals
            .push(rival("earlyoom", RivalKind::Guard, acts))),
        []
    );
}

/// lxc/lxcfs#438: memory is the container's, watermarks are the host's, and no check compares the two.
#[test]
fn under_lxcfs_nothing_of_the_host_is_measured_by_the_container() {
    let text = printed(|case| {
        case.observed.facts.container = Some("lxc".to_owned());
        case.observed.sample.memory.total = Some(Bytes::mib(64));
        case.settings.lxcfs = true;
    });
    expect![[r#"

        advice: this looks like a container (lxc) with lxcfs
          lxcfs shows the container's own memory and swap. Zones, watermarks, knobs and
          what the kernel counts are the host's, so no check here compares the two. A
          guard in the container can only observe.
          → Run the guard on the host.
    "#]]
    .assert_eq(&text);
}

/// microsoft/WSL#6662.
#[test]
fn advice_for_wsl2_can_be_followed_there() {
    let text = printed(|case| {
        case.observed.facts.kernel = "5.15.167.4-microsoft-standard-WSL2".to_owned();
        case.observed.facts.cgroups = Cgroups::Hybrid;
        case.observed.sample.memory_pressure.some_total = None;
    });
    assert!(!text.contains("systemd.unified"), "{text}");
    expect![[r#"

        problem: the kernel does not account for pressure (PSI)
          Without PSI the time that tasks wait for memory is unknown. The guard is not
          woken when they wait; it samples at intervals instead.
          → On Windows, have kernelCommandLine = psi=1 below [wsl2] in
          %UserProfile%\.wslconfig, beside what that line has already; then run wsl
          --shutdown.

        advice: the memory controller is on version 1 of control groups
          Pressure, protection and limits of single services need version 2.
          → On Windows, have kernelCommandLine = cgroup_no_v1=all below [wsl2] in
          %UserProfile%\.wslconfig, beside what that line has already; then run wsl
          --shutdown.
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_kernel_without_psi_is_named_as_too_old() {
    let text = printed(|case| {
        case.observed.facts.kernel = "4.4.0-210-generic".to_owned();
        case.observed.sample.memory_pressure.some_total = None;
    });
    assert!(text.contains("PSI came with Linux 4.20"), "{text}");
}

/// raspberrypi/linux#7085: OOM kills while memory is free, as the distribution has set min_ttl_ms.
#[test]
fn min_ttl_is_named_beside_the_kills() {
    let kills = |count: u64| {
        move |case: &mut Case| {
            knob(case, Knob::MinTtlMs, 1000);
            case.observed.sample.counters.oom_kill = Some(count);
        }
    };
    assert_eq!(
        found(kills(0)),
        [(Level::Advice, "mm.lru_gen.min_ttl_ms = 1000".to_owned())]
    );
    expect![[r#"

        problem: mm.lru_gen.min_ttl_ms = 1000, and the kernel has OOM-killed 14
        processes
          With it the kernel OOM-kills rather than evict what was used within 1000 ms,
          even while memory is free.
          → echo 0 > /sys/kernel/mm/lru_gen/min_ttl_ms, and look for what sets it: a
          file in tmpfiles.d, a udev rule or a service of the distribution.
    "#]]
    .assert_eq(&printed(kills(14)));
}

#[test]
fn a_disabled_memory_controller_is_named_for_what_it_is() {
    expect![[r#"

        problem: the kernel runs with cgroup_disable=memory
          Without the memory controller no unit can be measured, throttled or protected;
          a kill ends single processes only.
          → Take cgroup_disable=memory off the kernel command line. Firmware of a
          Raspberry Pi adds it: there, append cgroup_enable=memory to
          /boot/firmware/cmdline.txt. Then reboot.
    "#]]
    .assert_eq(&printed(|case| {
        case.settings.memory_controller_disabled = true;
    }));
}

#[test]
fn a_missing_memory_controller_is_told_from_a_disabled_one() {
    let without = |case: &mut Case| case.settings.controllers = Some("cpu io pids\n".to_owned());
    let what = "the kernel has no memory controller of version 2".to_owned();
    assert_eq!(found(without), [(Level::Problem, what)]);
    // On version 1 it is elsewhere, and that is said by another check.
    let on_version_1 = found(|case| {
        without(case);
        case.observed.facts.cgroups = Cgroups::Hybrid;
    });
    assert_eq!(on_version_1.len(), 1);
    assert_eq!(found(|case| case.settings.controllers = None), []);
}

#[test]
fn sysctl_lines_without_effect_are_named_with_what_hides_them() {
    let line = |key: &str, file: &str, without_effect| SysctlLine {
        key: key.to_owned(),
        value: "10".to_owned(),
        file: file.to_owned(),
        line: 3,
        without_effect,
    };
    let hidden = WithoutEffect::Hidden {
        by: "etc/sysctl.d/50-a.conf".to_owned(),
    };
    let later = |value: &str| WithoutEffect::Overridden {
        by: "usr/lib/sysctl.d/99-b.conf:1".to_owned(),
        value: value.to_owned(),
    };
    let file = "usr/lib/sysctl.d/50-a.conf";
    let lines = vec![
        line("vm.swappiness", file, Some(hidden.clone())),
        line("vm.page-cluster", file, Some(later("0"))),
        line("vm.min_free_kbytes", file, Some(later("10"))),
        line("vm.dirty_ratio", file, None),
        line("kernel.panic", file, Some(hidden)),
    ];
    expect![[r#"

        advice: usr/lib/sysctl.d/50-a.conf:3: vm.swappiness = 10 has no effect:
        etc/sysctl.d/50-a.conf hides this file
          Of files of one name only that in the first directory is read: etc, run,
          usr/local/lib, usr/lib.
          → Nothing, if that is wanted. Otherwise delete etc/sysctl.d/50-a.conf, or
          write the line into a file of another name.

        advice: usr/lib/sysctl.d/50-a.conf:3: vm.page-cluster = 10 has no effect:
        usr/lib/sysctl.d/99-b.conf:1 sets 0 later
          Files are read in the order of their names, whatever their directory, and the
          last line counts.
          → Delete one of the two lines.
    "#]]
    .assert_eq(&printed(|case| case.settings.sysctl_lines = lines));
}
