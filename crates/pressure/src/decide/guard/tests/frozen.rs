//! A user is asked before a unit is killed.

use super::machine::{Machine, process};
use crate::decision::{Action, Reason};
use crate::distress::Extent;
use crate::groups::{Answer, CgroupAction, Frozen};
use crate::scan::{Group, Name, Place, Signal, UnitName};
use units::{Bytes, Span};

const PERSON: u32 = 1000;

/// A hog that grows by `speed` MiB/s in a unit of its own, and a user that can answer.
fn machine(speed: u64) -> Machine {
    let mut hog = process(20, "hog", 10, speed);
    hog.candidate.place = Place::App;
    hog.candidate.unit = UnitName::from("app-hog.scope").unwrap();
    hog.candidate.group = Some(Group {
        id: 9,
        processes: 1,
        ..Group::default()
    });
    let mut machine = Machine::new(vec![process(10, "editor", 200, 0), hog]);
    machine.sample.groups.users = vec![PERSON];
    machine
}

/// Runs until a unit is frozen.
fn frozen(speed: u64) -> Machine {
    let mut machine = machine(speed);
    for _ in 0..400 {
        machine.tick();
        if !machine.sample.groups.frozen.is_empty() {
            return machine;
        }
    }
    panic!(
        "no unit was frozen: {:?} {:?}",
        machine.cgroup_actions, machine.signals
    );
}

fn answer(machine: &mut Machine, answer: Answer) {
    machine.sample.groups.frozen[0].answer = Some(answer);
}

fn thawed(machine: &Machine) -> bool {
    matches!(
        machine
            .cgroup_actions
            .iter()
            .rfind(|cgroup_action| matches!(
                cgroup_action,
                CgroupAction::Freeze { .. } | CgroupAction::Thaw { .. }
            )),
        Some(CgroupAction::Thaw { .. })
    )
}

#[test]
fn without_an_answer_it_is_killed_when_time_is_over() {
    for speed in [20, 80, 150] {
        let mut machine = frozen(speed);
        assert!(machine.signals.is_empty(), "{:?}", machine.signals);
        machine.run(14.0);
        assert!(
            machine.signals.is_empty(),
            "there is time yet: {:?}",
            machine.signals
        );
        machine.run(3.0);
        assert_eq!(machine.signalled(), [(20, Signal::Kill)], "{speed}");
        assert!(machine.ended == [20] && !machine.out_of_memory && thawed(&machine));
    }
}

#[test]
fn what_is_answered_is_done() {
    let mut machine = frozen(80);
    machine.run(2.0);
    answer(&mut machine, Answer::Kill);
    machine.tick();
    assert_eq!(machine.signals, [(20, Signal::Kill, Extent::Process)]);
    let why = machine
        .decision
        .steps
        .iter()
        .find(|step| matches!(step.action, Action::Kill { .. }))
        .map(|step| step.why);
    assert!(
        matches!(
            why,
            Some(Reason::Answered {
                answer: Answer::Kill,
                ..
            })
        ),
        "{why:?}"
    );

    let mut machine = frozen(80);
    answer(&mut machine, Answer::Keep);
    machine.run(60.0);
    assert!(machine.signals.is_empty() && !thawed(&machine), "it waits");
    machine
        .processes
        .retain(|process| process.candidate.identity.pid == 20);
    machine.run(3.0);
    assert!(
        thawed(&machine),
        "there is headroom again: {:?}",
        machine.cgroup_actions
    );
}

#[test]
fn a_unit_that_may_go_on_is_thawed_and_later_killed_if_it_must_be() {
    let mut machine = frozen(80);
    answer(&mut machine, Answer::GoOn);
    machine.run(30.0);
    assert!(thawed(&machine));
    let asked = machine
        .cgroup_actions
        .iter()
        .filter(|cgroup_action| matches!(cgroup_action, CgroupAction::Freeze { .. }))
        .count();
    assert_eq!(asked, 1, "no user is asked the same again at once");
    assert!(
        machine.ended == [20] && !machine.out_of_memory,
        "{:?}",
        machine.signals
    );
}

#[test]
fn a_frozen_unit_does_not_delay_a_kill() {
    let mut machine = frozen(60);
    machine.processes.push(process(30, "other", 10, 60));
    machine.run(12.0);
    assert_eq!(
        machine.signalled().first(),
        Some(&(20, Signal::Kill)),
        "it holds the most, and is what made it"
    );
    assert!(!machine.out_of_memory);
}

/// Two frozen units, and no answer.
#[test]
fn of_several_frozen_units_one_is_killed_at_a_time() {
    let mut machine = frozen(80);
    let mut other = process(30, "other", 150, 0);
    other.candidate.place = Place::App;
    other.candidate.unit = UnitName::from("app-other.scope").unwrap();
    other.candidate.group = Some(Group {
        id: 8,
        processes: 1,
        ..Group::default()
    });
    machine.processes.push(other);
    let first = machine.sample.groups.frozen[0];
    machine.sample.groups.frozen.push(Frozen { id: 8, ..first });
    machine.run(15.0);
    assert_eq!(machine.signals.len(), 1, "{:?}", machine.signals);
    machine.tick();
    assert_eq!(
        machine.signals.len(),
        1,
        "its memory is on its way: {:?}",
        machine.signals
    );
}

#[test]
fn a_unit_of_which_no_process_was_scanned_stays_frozen() {
    let mut machine = frozen(80);
    answer(&mut machine, Answer::Kill);
    machine
        .processes
        .retain(|process| process.candidate.identity.pid != 20);
    machine.tick();
    assert!(
        machine.signals.is_empty() && !thawed(&machine),
        "{:?}",
        machine.cgroup_actions
    );
}

#[test]
fn no_unit_is_frozen_where_no_user_can_answer() {
    let mut alone = machine(80);
    alone.sample.groups.users = vec![PERSON + 1];
    let mut off = machine(80);
    off.config.guard.ask_for = Span::default();
    let mut session = machine(80);
    for process in &mut session.processes {
        process.candidate.place = Place::Session;
        process.candidate.group = None;
    }
    for machine in [&mut alone, &mut off, &mut session] {
        machine.run(40.0);
        assert!(
            machine
                .cgroup_actions
                .iter()
                .all(|cgroup_action| !matches!(cgroup_action, CgroupAction::Freeze { .. })),
            "{:?}",
            machine.cgroup_actions
        );
        assert_eq!(machine.ended, [20]);
    }
}

#[test]
fn a_unit_with_an_exempt_process_is_never_frozen() {
    let mut machine = machine(80);
    let mut shell = process(21, "gnome-shell", 30, 0);
    let hog = machine.processes[1].candidate;
    shell.candidate.place = hog.place;
    shell.candidate.unit = hog.unit;
    shell.candidate.group = hog.group;
    shell.candidate.program = Some(Name::from("gnome-shell").unwrap());
    machine.processes.push(shell);
    machine.run(40.0);
    assert!(
        machine
            .cgroup_actions
            .iter()
            .all(|cgroup_action| !matches!(cgroup_action, CgroupAction::Freeze { .. })),
        "{:?}",
        machine.cgroup_actions
    );
    assert!(machine.ended == [20] && !machine.out_of_memory);
}

#[test]
fn a_user_that_leaves_may_come_back_before_time_is_over() {
    let mut machine = frozen(80);
    machine.run(2.0);
    machine.sample.groups.users.clear();
    machine.run(11.0);
    assert_eq!(
        machine.signalled(),
        [],
        "their notices may only have been started again"
    );
    machine.run(4.0);
    assert_eq!(
        machine.signalled(),
        [(20, Signal::Kill)],
        "no user is there to answer"
    );
}

#[test]
fn with_headroom_again_no_unit_is_killed_for_silence() {
    let mut machine = frozen(80);
    machine
        .processes
        .retain(|process| process.candidate.identity.pid != 10);
    let hog = &mut machine.processes[0];
    hog.speed = 0;
    hog.candidate.resident = hog.candidate.resident.min(Bytes::mib(700));
    machine.run(20.0);
    assert!(
        machine.signals.is_empty() && thawed(&machine),
        "{:?} {:?}",
        machine.signals,
        machine.cgroup_actions
    );
}

#[test]
fn the_kill_switch_thaws_every_unit() {
    let mut machine = frozen(80);
    machine.sample.circumstances.disabled = Some(1);
    machine.tick();
    assert!(thawed(&machine) && machine.signals.is_empty());
}
