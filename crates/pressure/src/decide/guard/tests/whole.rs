//! One process or its whole unit, and the process that the kernel would have killed.

use super::machine::{Machine, process};
use crate::decision::Notice;
use crate::distress::Extent;
use crate::scan::{Group, Place};

#[test]
fn an_application_is_killed_whole_if_no_process_stands_out_in_it() {
    let member = |pid, place| {
        let mut one = process(pid, "worker", 10, 20);
        let group = Group {
            id: 77,
            processes: 4,
            ..Group::default()
        };
        one.candidate.place = place;
        one.candidate.group = Some(group);
        one
    };
    let mut machine = Machine::new((30..34).map(|pid| member(pid, Place::App)).collect());
    machine.run(15.0);
    assert!(
        machine
            .signals
            .iter()
            .all(|(.., extent)| *extent == Extent::Unit),
        "{:?}",
        machine.signals
    );
    assert_eq!((machine.signals.len(), machine.ended.len()), (1, 4));
    let singly = |machine: &Machine| {
        machine
            .signals
            .iter()
            .all(|(.., extent)| *extent == Extent::Process)
    };
    let mut machine = Machine::new((30..34).map(|pid| member(pid, Place::Session)).collect());
    machine.run(15.0);
    assert!(singly(&machine), "never a whole session");
    let kept = [
        (
            "a compositor lives in it",
            Group {
                exempt: 1,
                ..Group::default()
            },
        ),
        (
            "it has no cgroup.kill",
            Group {
                one_by_one: true,
                ..Group::default()
            },
        ),
    ];
    for (why, group) in kept {
        let changed = |pid| {
            let mut one = member(pid, Place::App);
            one.candidate.group = Some(Group {
                id: 77,
                processes: 4,
                ..group
            });
            one
        };
        let mut machine = Machine::new((30..34).map(changed).collect());
        machine.run(15.0);
        assert!(!machine.signals.is_empty() && singly(&machine), "{why}");
    }
}

#[test]
fn the_kernels_choice_is_reported() {
    let mut tab = process(30, "tab", 100, 0);
    tab.candidate.oom_score_adj = 900;
    for (beside, worst) in [(process(30, "editor", 100, 0), 20), (tab, 30)] {
        let mut machine = Machine::new(vec![beside, process(20, "hog", 10, 80)]);
        machine.run(20.0);
        assert_eq!(machine.ended, [20]);
        let otherwise = machine.said.iter().find_map(|notice| match notice {
            Notice::Otherwise {
                identity, within, ..
            } => Some((identity.pid, within.is_some())),
            _ => None,
        });
        assert_eq!(otherwise, Some((worst, true)));
    }
}
