//! Many alike processes, units, terminals.

use super::machine::{Machine, Process, in_unit, process};
use crate::config::{Config, Leaf, Mode};
use crate::decision::Phase;
use crate::distress::Extent;
use crate::groups::CgroupAction;
use crate::scan::{Ancestor, Family, Group, Identity, Name, Place, Signal, UnitName, Victim};
use std::time::Duration;
use units::{Bytes, Span};

/// Forty jobs of a build, in a session beside an editor.
fn build(jobs: u32) -> Vec<Process> {
    let mut all = vec![process(10, "editor", 150, 0)];
    for job in 0..jobs {
        let mut one = process(100 + job, "cc1plus", 2, 2);
        one.candidate.kin = 99;
        one.candidate.age = Span::secs(u64::from(200 - job));
        all.push(one);
    }
    all
}

fn pids(machine: &Machine) -> Vec<u32> {
    machine.signals.iter().map(|(pid, ..)| *pid).collect()
}

#[test]
fn of_a_build_jobs_are_signalled_and_the_editor_lives() {
    let mut machine = Machine::new(build(40));
    machine.run(25.0);
    assert!(!machine.signals.is_empty(), "never nobody");
    assert!(
        pids(&machine).iter().all(|pid| *pid >= 100),
        "{:?}",
        machine.signals
    );
    assert!(!machine.out_of_memory);
}

/// In a machine, the jobs after those that were ended had six seconds in which nobody looked.
#[test]
fn the_next_look_after_a_signal_is_soon_though_its_memory_is_taken_for_free() {
    let mut config = Config {
        mode: Mode::Guard,
        ..Config::default()
    };
    config.gap.enabled = false;
    let mut machine = Machine::with(config, build(40));
    while machine.signals.is_empty() {
        machine.tick();
    }
    machine.run(2.0);
    assert!(!machine.sample.scan.victims.is_empty());
    assert_eq!(machine.decision.phase, Phase::Calm);
    assert!(machine.decision.patience() <= Duration::from_millis(400));
}

#[test]
fn one_leaf_goes_where_that_gives_time_and_all_where_it_does_not() {
    let extents = |machine: &Machine| -> Vec<Extent> {
        machine.signals.iter().map(|(.., extent)| *extent).collect()
    };
    let mut machine = Machine::new(build(40));
    machine.run(25.0);
    assert_eq!(extents(&machine), [Extent::Family], "of forty small jobs");
    // Workers that hold much and grow slowly.
    let workers = (100..104)
        .map(|pid| process(pid, "worker", 150, 4))
        .collect();
    let mut machine = Machine::new(workers);
    while machine.signals.is_empty() {
        machine.tick();
    }
    assert_eq!(extents(&machine), [Extent::Process]);
}

#[test]
fn the_configuration_says_which_leaf_goes_first() {
    let mut config = Config {
        mode: Mode::Guard,
        ..Config::default()
    };
    config.guard.leaf = Leaf::Youngest;
    let mut machine = Machine::with(config, build(8));
    machine.processes[1].candidate.resident = Bytes::mib(60);
    for one in &mut machine.processes[1..] {
        one.speed = 12;
    }
    machine.run(20.0);
    let (first, ..) = machine.signals[0];
    let youngest = 107;
    assert_eq!(first, youngest, "{:?}", machine.signals);
}

#[test]
fn a_family_that_the_scan_lists_is_found_by_its_own_growth() {
    // Of sixty small growers twelve are listed: together they make a fifth of the growth.
    let mut growers = vec![process(10, "editor", 150, 0)];
    for job in 0..60 {
        let mut one = process(100 + job, "worker", 3, 1);
        one.candidate.kin = 7;
        growers.push(one);
    }
    let mut machine = Machine::new(growers);
    for _ in 0..400 {
        let size = machine.anon().less(Bytes::mib(150));
        machine.sample.scan.families.clear();
        machine.sample.scan.families.push(Family {
            kin: 7,
            name: Name::from("worker").unwrap(),
            processes: 60,
            size,
            ancestor: None,
        });
        machine.tick();
    }
    assert!(!machine.signals.is_empty(), "never nobody");
    assert!(
        pids(&machine).iter().all(|pid| *pid >= 100),
        "{:?}",
        machine.signals
    );
}

/// An editor that does not grow and a job that does, in one unit.
fn in_one_unit(unit: &str, place: Place) -> Vec<Process> {
    let group = Group {
        id: 77,
        processes: 2,
        ..Group::default()
    };
    let mut all = vec![process(10, "nvim", 200, 0), process(20, "rustc", 100, 60)];
    for one in &mut all {
        one.candidate.unit = UnitName::from(unit).unwrap();
        one.candidate.place = place;
        one.candidate.group = Some(group);
    }
    all
}

#[test]
fn a_terminal_is_neither_throttled_nor_killed_whole() {
    for unit in [
        "app-org.kde.konsole-4711.scope",
        "app-gnome-org.gnome.Terminal-12.scope",
        "vte-spawn-0123.scope",
        "tmux-spawn-0123.scope",
    ] {
        let mut machine = Machine::new(in_one_unit(unit, Place::App));
        machine.run(20.0);
        assert_eq!(machine.ended, [20], "{unit}");
        assert_eq!(machine.cgroup_actions, [], "{unit}");
    }
}

#[test]
fn a_unit_with_a_terminal_in_it_is_one_whatever_it_is_called() {
    let mut members = in_one_unit("run-u12.scope", Place::App);
    for one in &mut members {
        let group = one.candidate.group.unwrap();
        one.candidate.group = Some(Group {
            terminals: 1,
            ..group
        });
    }
    let mut machine = Machine::new(members);
    machine.run(20.0);
    assert_eq!(
        (machine.ended.as_slice(), machine.cgroup_actions.as_slice()),
        ([20].as_slice(), [].as_slice())
    );
}

#[test]
fn the_growth_of_a_unit_is_not_laid_to_a_member_that_does_not_grow() {
    // The unit grows by processes that no scan lists, as it lists the largest.
    let group = Group {
        id: 77,
        processes: 50,
        one_by_one: true,
        ..Group::default()
    };
    let mut members = vec![process(10, "nvim", 200, 0)];
    for job in 0..30 {
        members.push(process(100 + job, "cc1plus", 1, 2));
    }
    for one in &mut members {
        one.candidate.place = Place::App;
        one.candidate.group = Some(group);
    }
    let mut machine = Machine::new(members);
    machine.run(20.0);
    assert!(!machine.signals.is_empty());
    assert!(!pids(&machine).contains(&10), "{:?}", machine.signals);
}

#[test]
fn several_programs_of_one_unit_are_killed_one_by_one_unless_its_policy_says_otherwise() {
    let members = |oom_group: Option<bool>| -> Vec<Process> {
        (30..34)
            .map(|pid| {
                let group = Group {
                    processes: 4,
                    programs: Some(3),
                    oom_group,
                    ..Group::default()
                };
                in_unit(group, Place::Container, process(pid, "worker", 10, 20))
            })
            .collect()
    };
    let whole = |machine: &Machine| {
        machine
            .signals
            .iter()
            .any(|(.., extent)| *extent == Extent::Unit)
    };
    let mut machine = Machine::new(members(None));
    machine.run(15.0);
    assert!(
        !machine.signals.is_empty() && !whole(&machine),
        "{:?}",
        machine.signals
    );
    let mut machine = Machine::new(members(Some(true)));
    machine.run(15.0);
    assert!(whole(&machine), "{:?}", machine.signals);
}

#[test]
fn what_has_a_unit_of_its_own_is_throttled_before_it_is_signalled() {
    let mut members = in_one_unit("batch.service", Place::Service);
    members.remove(0);
    let mut machine = Machine::new(members);
    machine.run(30.0);
    let limited = machine
        .cgroup_actions
        .iter()
        .any(|action| matches!(action, CgroupAction::Throttle { .. }));
    assert!(limited);
    assert_eq!(
        machine.signalled().last().map(|(_, signal)| *signal),
        Some(Signal::Term)
    );
}

/// The first extent that workers of a service meet which are so old. All of their family were ended ten
/// seconds before the first sample, which is at 1,000 s.
fn extent_after_an_end(age: Span, ancestor: Option<Ancestor>, one_by_one: bool) -> Extent {
    let name = Name::from("worker").unwrap();
    let workers = (100..108).map(|pid| {
        let group = Group {
            processes: 9,
            programs: Some(2),
            one_by_one,
            ..Group::default()
        };
        let mut one = in_unit(group, Place::Service, process(pid, "worker", 40, 8));
        one.candidate.kin = 7;
        one.candidate.age = age;
        one
    });
    let mut config = Config {
        mode: Mode::Guard,
        ..Config::default()
    };
    // Without a limit the family is met at once.
    config.guard.throttle_ahead = Span::default();
    let mut machine = Machine::with(config, workers.collect());
    let before = Span::secs(990);
    machine.sample.scan.victims.push(Victim {
        identity: Identity { pid: 50, start: 1 },
        name,
        size: Bytes::mib(300),
        signal: Signal::Kill,
        at: before,
        gone: Some(before),
        kin: 7,
    });
    while machine.signals.is_empty() {
        let size = machine.anon();
        machine.sample.scan.families.clear();
        machine.sample.scan.families.push(Family {
            kin: 7,
            name,
            processes: 8,
            size,
            ancestor,
        });
        machine.tick();
    }
    let (.., extent) = machine.signals[0];
    extent
}

#[test]
fn a_family_that_comes_again_is_ended_with_what_starts_it() {
    let new = Span::secs(1);
    let sh = Ancestor {
        identity: Identity { pid: 40, start: 4 },
        name: Name::from("sh").unwrap(),
    };
    assert_eq!(extent_after_an_end(new, Some(sh), false), Extent::Ancestor);
    assert_eq!(extent_after_an_end(new, None, false), Extent::Unit);
    assert_eq!(extent_after_an_end(new, None, true), Extent::Family);
}

#[test]
fn members_that_are_older_than_the_end_of_their_family_did_not_come_again() {
    let sh = Ancestor {
        identity: Identity { pid: 40, start: 4 },
        name: Name::from("sh").unwrap(),
    };
    let extent = extent_after_an_end(Span::secs(100), Some(sh), false);
    assert!(
        matches!(extent, Extent::Process | Extent::Family),
        "{extent:?}"
    );
}
