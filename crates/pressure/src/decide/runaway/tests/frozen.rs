//! A person is asked before anyone ends.

use super::machine::{Machine, process};
use crate::decision::{Action, Reason};
use crate::distress::Extent;
use crate::groups::{Answer, CgroupAction, Frozen};
use crate::scan::{Group, Name, Place, Signal, UnitName};
use units::{Bytes, Span};

const PERSON: u32 = 1000;

/// A hog of so many MiB a second in a unit of its own, and someone at the screen.
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

/// Runs until someone is stopped.
fn frozen(speed: u64) -> Machine {
    let mut machine = machine(speed);
    for _ in 0..400 {
        machine.tick();
        if !machine.sample.groups.frozen.is_empty() {
            return machine;
        }
    }
    panic!(
        "nobody was stopped: {:?} {:?}",
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
fn without_an_answer_it_ends_when_time_is_over() {
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
        "there is room again: {:?}",
        machine.cgroup_actions
    );
}

#[test]
fn who_may_go_on_goes_on_and_the_ladder_with_it() {
    let mut machine = frozen(80);
    answer(&mut machine, Answer::GoOn);
    machine.run(30.0);
    assert!(thawed(&machine));
    let asked = machine
        .cgroup_actions
        .iter()
        .filter(|cgroup_action| matches!(cgroup_action, CgroupAction::Freeze { .. }))
        .count();
    assert_eq!(asked, 1, "nobody is asked the same again at once");
    assert!(
        machine.ended == [20] && !machine.out_of_memory,
        "{:?}",
        machine.signals
    );
}

#[test]
fn a_stopped_one_does_not_stop_the_ladder() {
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

/// Two that stand still, and nobody who answers.
#[test]
fn of_several_that_are_stopped_one_ends_at_a_time() {
    let mut machine = frozen(80);
    let mut other = process(30, "other", 150, 0);
    (other.candidate.place, other.candidate.unit) =
        (Place::App, UnitName::from("app-other.scope").unwrap());
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
fn a_unit_of_which_nobody_was_seen_stands_still() {
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
fn nobody_is_stopped_where_nobody_can_answer() {
    let mut alone = machine(80);
    alone.sample.groups.users = vec![PERSON + 1];
    let mut off = machine(80);
    off.config.guard.ask_for = Span::default();
    let mut session = machine(80);
    for process in &mut session.processes {
        (process.candidate.place, process.candidate.group) = (Place::Session, None);
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
fn what_holds_who_is_spared_is_never_stopped() {
    let mut machine = machine(80);
    let mut shell = process(21, "gnome-shell", 30, 0);
    let hog = machine.processes[1].candidate;
    (
        shell.candidate.place,
        shell.candidate.unit,
        shell.candidate.group,
    ) = (hog.place, hog.unit, hog.group);
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
fn who_goes_may_come_back_before_time_is_over() {
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
        "nobody is there to answer"
    );
}

#[test]
fn where_there_is_room_again_nobody_ends_for_silence() {
    let mut machine = frozen(80);
    machine
        .processes
        .retain(|process| process.candidate.identity.pid != 10);
    let hog = &mut machine.processes[0];
    (hog.speed, hog.candidate.resident) = (0, hog.candidate.resident.min(Bytes::mib(700)));
    machine.run(20.0);
    assert!(
        machine.signals.is_empty() && thawed(&machine),
        "{:?} {:?}",
        machine.signals,
        machine.cgroup_actions
    );
}

#[test]
fn a_switch_to_off_lets_everyone_go_on() {
    let mut machine = frozen(80);
    machine.sample.circumstances.disabled = Some(1);
    machine.tick();
    assert!(thawed(&machine) && machine.signals.is_empty());
}
