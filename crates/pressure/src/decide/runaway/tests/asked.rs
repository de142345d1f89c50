//! A person is asked before anyone ends.

use super::machine::{Machine, process};
use crate::census::{Group, Name, Place, Signal, UnitName};
use crate::decision::{Action, Reason};
use crate::distress::Extent;
use crate::groups::{Answer, Grip, Stopped};
use units::{Bytes, Span};

const PERSON: u32 = 1000;

/// A hog of so many MiB a second in a unit of its own, and someone at the screen.
fn machine(speed: u64) -> Machine {
    let mut hog = process(20, "hog", 10, speed);
    hog.suspect.place = Place::App;
    hog.suspect.unit = UnitName::from("app-hog.scope").unwrap();
    hog.suspect.group = Some(Group {
        id: 9,
        processes: 1,
        ..Group::default()
    });
    let mut machine = Machine::new(vec![process(10, "editor", 200, 0), hog]);
    machine.sample.groups.people = vec![PERSON];
    machine
}

/// Runs until someone is stopped.
fn stopped(speed: u64) -> Machine {
    let mut machine = machine(speed);
    for _ in 0..400 {
        machine.tick();
        if !machine.sample.groups.stopped.is_empty() {
            return machine;
        }
    }
    panic!(
        "nobody was stopped: {:?} {:?}",
        machine.grips, machine.signals
    );
}

fn answer(machine: &mut Machine, answer: Answer) {
    machine.sample.groups.stopped[0].answer = Some(answer);
}

fn thawed(machine: &Machine) -> bool {
    matches!(
        machine
            .grips
            .iter()
            .rfind(|grip| matches!(grip, Grip::Freeze { .. } | Grip::Thaw { .. })),
        Some(Grip::Thaw { .. })
    )
}

#[test]
fn without_an_answer_it_ends_when_time_is_over() {
    for speed in [20, 80, 150] {
        let mut machine = stopped(speed);
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
    let mut machine = stopped(80);
    machine.run(2.0);
    answer(&mut machine, Answer::End);
    machine.tick();
    assert_eq!(machine.signals, [(20, Signal::Kill, Extent::Process)]);
    let why = machine
        .decision
        .steps
        .iter()
        .find(|step| matches!(step.action, Action::End { .. }))
        .map(|step| step.why);
    assert!(
        matches!(
            why,
            Some(Reason::Answered {
                answer: Answer::End,
                ..
            })
        ),
        "{why:?}"
    );

    let mut machine = stopped(80);
    answer(&mut machine, Answer::Keep);
    machine.run(60.0);
    assert!(machine.signals.is_empty() && !thawed(&machine), "it waits");
    machine
        .processes
        .retain(|process| process.suspect.who.pid == 20);
    machine.run(3.0);
    assert!(thawed(&machine), "there is room again: {:?}", machine.grips);
}

#[test]
fn who_may_go_on_goes_on_and_the_ladder_with_it() {
    let mut machine = stopped(80);
    answer(&mut machine, Answer::GoOn);
    machine.run(30.0);
    assert!(thawed(&machine));
    let asked = machine
        .grips
        .iter()
        .filter(|grip| matches!(grip, Grip::Freeze { .. }))
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
    let mut machine = stopped(60);
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
    let mut machine = stopped(80);
    let mut other = process(30, "other", 150, 0);
    (other.suspect.place, other.suspect.unit) =
        (Place::App, UnitName::from("app-other.scope").unwrap());
    other.suspect.group = Some(Group {
        id: 8,
        processes: 1,
        ..Group::default()
    });
    machine.processes.push(other);
    let first = machine.sample.groups.stopped[0];
    machine
        .sample
        .groups
        .stopped
        .push(Stopped { id: 8, ..first });
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
    let mut machine = stopped(80);
    answer(&mut machine, Answer::End);
    machine
        .processes
        .retain(|process| process.suspect.who.pid != 20);
    machine.tick();
    assert!(
        machine.signals.is_empty() && !thawed(&machine),
        "{:?}",
        machine.grips
    );
}

#[test]
fn nobody_is_stopped_where_nobody_can_answer() {
    let mut alone = machine(80);
    alone.sample.groups.people = vec![PERSON + 1];
    let mut off = machine(80);
    off.config.guard.ask_for = Span::default();
    let mut session = machine(80);
    for process in &mut session.processes {
        (process.suspect.place, process.suspect.group) = (Place::Session, None);
    }
    for machine in [&mut alone, &mut off, &mut session] {
        machine.run(40.0);
        assert!(
            machine
                .grips
                .iter()
                .all(|grip| !matches!(grip, Grip::Freeze { .. })),
            "{:?}",
            machine.grips
        );
        assert_eq!(machine.ended, [20]);
    }
}

#[test]
fn what_holds_who_is_spared_is_never_stopped() {
    let mut machine = machine(80);
    let mut shell = process(21, "gnome-shell", 30, 0);
    let hog = machine.processes[1].suspect;
    (shell.suspect.place, shell.suspect.unit, shell.suspect.group) =
        (hog.place, hog.unit, hog.group);
    shell.suspect.program = Some(Name::from("gnome-shell").unwrap());
    machine.processes.push(shell);
    machine.run(40.0);
    assert!(
        machine
            .grips
            .iter()
            .all(|grip| !matches!(grip, Grip::Freeze { .. })),
        "{:?}",
        machine.grips
    );
    assert!(machine.ended == [20] && !machine.out_of_memory);
}

#[test]
fn who_goes_may_come_back_before_time_is_over() {
    let mut machine = stopped(80);
    machine.run(2.0);
    machine.sample.groups.people.clear();
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
    let mut machine = stopped(80);
    machine
        .processes
        .retain(|process| process.suspect.who.pid != 10);
    let hog = &mut machine.processes[0];
    (hog.speed, hog.suspect.resident) = (0, hog.suspect.resident.min(Bytes::mib(700)));
    machine.run(20.0);
    assert!(
        machine.signals.is_empty() && thawed(&machine),
        "{:?} {:?}",
        machine.signals,
        machine.grips
    );
}

#[test]
fn a_switch_to_off_lets_everyone_go_on() {
    let mut machine = stopped(80);
    machine.sample.circumstances.disabled = Some(1);
    machine.tick();
    assert!(thawed(&machine) && machine.signals.is_empty());
}
