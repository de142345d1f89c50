//! A runaway with a unit of its own is throttled first.

use super::machine::{Machine, process};
use crate::config::{Config, Mode};
use crate::decision::{Action, Notice, Reason};
use crate::distress::Extent;
use crate::groups::CgroupAction;
use crate::scan::{Group, Name, Place, Signal, UnitName};
use proptest::prelude::*;
use units::{Bytes, Micros, Span};

/// A hog that grows by `speed` MiB/s, in a unit of its own.
fn unit(speed: u64) -> super::Process {
    let mut hog = process(20, "hog", 10, speed);
    hog.candidate.place = Place::Service;
    hog.candidate.unit = UnitName::from("batch.service").unwrap();
    hog.candidate.group = Some(Group {
        id: 9,
        processes: 1,
        ..Group::default()
    });
    hog
}

fn editor() -> super::Process {
    process(10, "editor", 200, 0)
}

#[test]
fn it_is_throttled_then_gets_sigterm_and_the_reserve_stays() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    let mut least = Bytes::mib(1024);
    for _ in 0..300 {
        machine.tick();
        least = least.min(
            machine
                .decision
                .forecast
                .outlook
                .map_or(least, |outlook| outlook.expected_headroom()),
        );
    }
    assert!(
        matches!(
            machine.cgroup_actions[0],
            CgroupAction::Throttle { id: 9, .. }
        ),
        "{:?}",
        machine.cgroup_actions
    );
    assert_eq!(
        machine.signalled(),
        [(20, Signal::Term)],
        "a moment after, and gently"
    );
    assert!(machine.ended == [20] && !machine.out_of_memory);
    assert!(
        least >= Bytes::mib(50),
        "headroom was left to all others all the time: {least}"
    );
    assert!(
        matches!(
            machine.cgroup_actions.last(),
            Some(CgroupAction::Free { id: 9, .. })
        ),
        "and it is undone"
    );
    assert!(machine.sample.groups.throttled.is_empty());
}

#[test]
fn the_end_of_the_culprit_undoes_the_limit_although_the_machine_thrashed() {
    // Its last process goes, and what is left of the unit takes little.
    let mut rest = unit(0);
    rest.candidate.identity.pid = 21;
    let mut machine = Machine::new(vec![editor(), unit(80), rest]);
    while machine.signals.is_empty() {
        machine.tick();
    }
    assert_eq!(machine.sample.groups.throttled.len(), 1);
    machine.history.distress.thrashed = Some(machine.sample.at);
    machine.run(8.0);
    assert_eq!(machine.ended, [20]);
    assert_eq!(machine.sample.groups.throttled, []);
}

/// With swap and no time lost, a unit may swap its idle pages out, so it is not throttled. That changes for ten minutes
/// after something was signalled.
#[test]
fn ten_minutes_after_a_signal_the_next_unit_is_throttled_first() {
    for (ago, is_first) in [(Some(300), true), (Some(601), false), (None, false)] {
        let mut machine = Machine::new(vec![editor(), unit(80)]);
        machine.swap = Bytes::mib(512);
        let now = machine.sample.at;
        machine.history.distress.signalled =
            ago.map(|ago| Span::new(now.get().saturating_sub(Span::secs(ago).get())));
        while machine.signals.is_empty() && machine.cgroup_actions.is_empty() {
            machine.tick();
        }
        let is_throttled = !machine.cgroup_actions.is_empty();
        assert_eq!(is_throttled, is_first, "{ago:?}");
        machine.run(60.0);
        assert!(!machine.out_of_memory);
    }
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_although_it_grows_no_more() {
    let mut hog = unit(80);
    hog.deaf = true;
    let mut machine = Machine::new(vec![editor(), hog]);
    machine.run(40.0);
    assert_eq!(
        machine.signalled(),
        [(20, Signal::Term), (20, Signal::Kill)]
    );
    assert!(machine.ended == [20] && !machine.out_of_memory);
}

#[test]
fn a_unit_that_stops_growing_is_no_longer_throttled_and_lives() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    for _ in 0..600 {
        machine.tick();
        let hog = machine
            .processes
            .iter_mut()
            .find(|process| process.candidate.identity.pid == 20)
            .unwrap();
        if hog.candidate.resident >= Bytes::mib(560) {
            hog.speed = 0;
        }
    }
    assert!(machine.signals.is_empty(), "{:?}", machine.signals);
    assert!(
        machine
            .cgroup_actions
            .iter()
            .any(|cgroup_action| matches!(cgroup_action, CgroupAction::Throttle { .. }))
    );
    assert!(matches!(
        machine.cgroup_actions.last(),
        Some(CgroupAction::Free { .. })
    ));
}

#[test]
fn a_unit_at_its_limit_gets_what_others_free_and_is_killed_when_that_is_used_up() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    while machine
        .sample
        .groups
        .throttled
        .first()
        .is_none_or(|one| one.pushes < 5)
    {
        machine.tick();
    }
    let other = machine
        .processes
        .iter_mut()
        .find(|process| process.candidate.identity.pid == 10);
    other.unwrap().candidate.resident = Bytes::mib(165);
    machine.run(40.0);
    let memory_highs: Vec<_> = machine
        .cgroup_actions
        .iter()
        .filter_map(|cgroup_action| match cgroup_action {
            CgroupAction::Throttle { memory_high, .. } => Some(*memory_high),
            _ => None,
        })
        .collect();
    assert!(
        memory_highs.len() > 1 && memory_highs.is_sorted(),
        "{memory_highs:?}"
    );
    assert!(
        memory_highs[memory_highs.len() - 1] > memory_highs[0] + Bytes::mib(15),
        "{memory_highs:?}"
    );
    assert_eq!(machine.ended, [20]);
}

/// It has what it needs and reads files at its limit: it is throttled for ever, and is no runaway.
#[test]
fn a_unit_at_its_limit_that_reads_files_is_no_longer_throttled_and_lives() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    for _ in 0..400 {
        machine.tick();
        let throttled = machine.sample.groups.throttled.first_mut();
        let hog = machine
            .processes
            .iter_mut()
            .find(|process| process.candidate.identity.pid == 20)
            .unwrap();
        if let Some(one) = throttled.filter(|one| one.pushes > 0) {
            one.pushes += 1;
            hog.speed = 0;
        }
    }
    assert!(machine.signals.is_empty(), "{:?}", machine.signals);
    assert!(
        machine
            .cgroup_actions
            .iter()
            .any(|cgroup_action| matches!(cgroup_action, CgroupAction::Throttle { .. }))
    );
    assert!(
        matches!(
            machine.cgroup_actions.last(),
            Some(CgroupAction::Free { .. })
        ),
        "{:?}",
        machine.cgroup_actions
    );
}

#[test]
fn a_unit_at_its_limit_with_cache_is_not_killed() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    machine.cache = Bytes::mib(200);
    machine.run(12.0);
    let pushes = machine
        .sample
        .groups
        .throttled
        .iter()
        .any(|one| one.pushes > 20);
    assert!(
        machine.signals.is_empty() && pushes,
        "{:?} {:?}",
        machine.signals,
        machine.sample.groups
    );
}

#[test]
fn a_session_an_exempt_unit_and_a_unit_with_a_tighter_limit_are_not_throttled() {
    let mut session = unit(80);
    session.candidate.place = Place::Session;
    session.candidate.group = None;
    let mut exempt = unit(80);
    exempt.candidate.unit = UnitName::from("ssh.service").unwrap();
    exempt.candidate.user = 0;
    let mut small = unit(80);
    small.candidate.group = small
        .candidate
        .group
        .map(|group| Group { exempt: 1, ..group });
    let mut tight = unit(80);
    tight.candidate.group = tight.candidate.group.map(|group| Group {
        high: Some(Bytes::mib(1)),
        ..group
    });
    let mut held = unit(80);
    let mut inside = process(21, "sshd", 5, 0);
    inside.candidate.group = held.candidate.group;
    inside.candidate.program = Name::from("sshd").ok();
    held.candidate.unit = UnitName::from("both.service").unwrap();
    for processes in [
        vec![session],
        vec![exempt],
        vec![small],
        vec![tight],
        vec![held, inside],
    ] {
        let mut machine = Machine::new(processes.into_iter().chain([editor()]).collect());
        machine.run(15.0);
        assert!(
            machine.cgroup_actions.is_empty(),
            "{:?}",
            machine.cgroup_actions
        );
    }
}

#[test]
fn zero_seconds_throttles_no_unit() {
    let mut config = Config {
        mode: Mode::Guard,
        ..Config::default()
    };
    config.guard.throttle_ahead = Span::default();
    let mut machine = Machine::with(config, vec![editor(), unit(80)]);
    machine.run(20.0);
    assert!(machine.cgroup_actions.is_empty() && machine.ended == [20]);
}

#[test]
fn a_unit_of_many_processes_is_killed_whole_after_its_respite() {
    let mut processes = vec![editor()];
    for pid in 20..24 {
        let mut worker = unit(20);
        worker.candidate.identity.pid = pid;
        worker.candidate.identity.start = u64::from(pid);
        worker.candidate.group = Some(Group {
            id: 9,
            processes: 4,
            ..Group::default()
        });
        processes.push(worker);
    }
    let mut machine = Machine::new(processes);
    machine.run(40.0);
    assert_eq!(machine.signals.len(), 1, "{:?}", machine.signals);
    assert_eq!(
        (machine.signals[0].1, machine.signals[0].2),
        (Signal::Kill, Extent::Unit)
    );
    assert!(machine.ended.len() == 4 && !machine.out_of_memory);
}

#[test]
fn the_kill_switch_undoes_limits_at_once() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    while machine.sample.groups.throttled.is_empty() {
        machine.tick();
    }
    machine.sample.circumstances.disabled = Some(1);
    machine.tick();
    assert!(machine.sample.groups.throttled.is_empty());
}

#[test]
fn with_swap_no_unit_is_throttled_before_time_is_lost() {
    for (lost, throttled) in [(0, false), (40_000, true)] {
        let mut machine = Machine::new(vec![editor(), unit(60)]);
        machine.swap = Bytes::mib(2048);
        for _ in 0..140 {
            let full = machine
                .sample
                .memory_pressure
                .full_total
                .unwrap_or_default();
            machine.sample.memory_pressure.full_total = Some(Micros::new(full.get() + lost));
            machine.tick();
        }
        assert_eq!(
            !machine.cgroup_actions.is_empty(),
            throttled,
            "{lost} us of 100 ms: {:?}",
            machine.cgroup_actions
        );
    }
}

#[test]
fn what_is_said_has_its_numbers() {
    let mut machine = Machine::new(vec![editor(), unit(80)]);
    let mut lines = Vec::new();
    for _ in 0..300 {
        machine.tick();
        let told = machine
            .decision
            .steps
            .iter()
            .filter(|step| !matches!(step.action, Action::Set { .. }));
        lines.extend(told.map(ToString::to_string));
    }
    assert!(
        lines[0].starts_with("throttle batch.service, which has "),
        "{lines:?}"
    );
    assert!(lines[0].contains("reserved for all others"), "{lines:?}");
    assert!(
        lines[1].contains("SIGTERM to hog (20) of batch.service")
            && lines[1].contains("throttled at memory.high")
    );
    assert!(
        lines
            .last()
            .unwrap()
            .starts_with("memory.high of batch.service as it was found: headroom is "),
        "{lines:?}"
    );
    let gone = machine
        .said
        .iter()
        .any(|notice| matches!(notice, Notice::Gone { .. }));
    assert!(
        gone && machine
            .decision
            .steps
            .iter()
            .all(|step| step.why != Reason::Stop)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_limit_is_never_below_what_the_unit_has(speed in 5_u64..400, size in 1_u64..700, swap in 0_u64..1024) {
        let mut hog = unit(speed);
        hog.candidate.resident = Bytes::mib(size);
        let mut machine = Machine::new(vec![editor(), hog]);
        machine.swap = Bytes::mib(swap);
        for _ in 0..200 {
            machine.tick();
            for step in &machine.decision.steps {
                if let Action::Group(CgroupAction::Throttle { used, memory_high, .. }) = step.action {
                    prop_assert!(memory_high >= used && used > Bytes::ZERO);
                }
            }
        }
    }
}
