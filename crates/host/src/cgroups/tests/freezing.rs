//! Cgroups that are frozen until their user has answered.

use super::*;

#[test]
fn a_unit_is_frozen_until_it_is_thawed_and_is_remembered_for_a_while() {
    let mut bench = Bench::new();
    bench.freeze().unwrap();
    assert_eq!(bench.get(HOG, "cgroup.freeze"), "1");
    bench.look(101);
    let told = bench.sample.groups.frozen[0];
    assert!(
        told.is_frozen()
            && told.answer.is_none()
            && told.user == 1000
            && told.headroom == Bytes::mib(60)
    );
    let id = bench.id(HOG);
    bench.groups.answered(id, 1001, Answer::Kill);
    bench.look(102);
    assert_eq!(
        bench.sample.groups.frozen[0].answer, None,
        "it is none of that user's"
    );
    bench.groups.answered(id, 1000, Answer::GoOn);
    bench.look(103);
    assert_eq!(bench.sample.groups.frozen[0].answer, Some(Answer::GoOn));
    bench.thaw().unwrap();
    assert_eq!(bench.get(HOG, "cgroup.freeze"), "0");
    assert!(!bench.places.run.join("undo").exists());
    bench.look(104);
    assert!(!bench.sample.groups.frozen[0].is_frozen());
    bench.look(200);
    assert!(bench.sample.groups.frozen.is_empty());
}

#[test]
fn what_a_killed_guard_stopped_is_let_go_on_and_nothing_else_is_touched() {
    let mut bench = Bench::new();
    bench.throttle(400).unwrap();
    bench.freeze().unwrap();
    let told = crate::undo::thaw(&bench.places).unwrap();
    assert_eq!(
        (told.back.len(), bench.get(HOG, "cgroup.freeze").as_str()),
        (1, "0")
    );
    assert_eq!(bench.get(HOG, "memory.high"), (400 * MIB).to_string());
    assert_eq!(bench.killed().back.len(), 1, "the rest is the next guard's");
    assert_eq!(bench.get(HOG, "memory.high"), "max");
    assert_eq!(
        crate::undo::thaw(&bench.places).unwrap(),
        Restored::default()
    );
}

#[test]
fn what_another_program_froze_or_thawed_is_left_to_it() {
    let mut bench = Bench::new();
    bench.set(HOG, "cgroup.freeze", "1");
    assert!(
        bench
            .freeze()
            .unwrap_err()
            .contains("another program has frozen it")
    );
    bench.look(101);
    assert!(bench.sample.groups.frozen.is_empty() && bench.get(HOG, "cgroup.freeze") == "1");
    let mut bench = Bench::new();
    bench.freeze().unwrap();
    bench.set(HOG, "cgroup.freeze", "0");
    bench.look(101);
    assert!(!bench.sample.groups.frozen[0].is_frozen());
    assert!(!bench.places.run.join("undo").exists());
}

#[test]
fn a_stopped_group_that_is_empty_or_gone_is_let_go_of() {
    let mut bench = Bench::new();
    bench.freeze().unwrap();
    bench.set(HOG, "cgroup.events", "populated 0\nfrozen 1\n");
    bench.look(101);
    assert_eq!(
        (
            bench.sample.groups.frozen.len(),
            bench.get(HOG, "cgroup.freeze").as_str()
        ),
        (0, "0")
    );
    bench.freeze().unwrap();
    fs::remove_dir_all(bench.file(HOG, "")).unwrap();
    bench.look(102);
    bench.look(103);
    assert!(bench.sample.groups.frozen.is_empty());
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!(restored.back, []);
}

#[test]
fn at_the_end_nothing_is_frozen() {
    let mut bench = Bench::new();
    bench.freeze().unwrap();
    let mut restored = Restored::default();
    bench.groups.restore(&mut bench.log, &mut restored);
    assert_eq!(
        (
            restored.back.len(),
            bench.get(HOG, "cgroup.freeze").as_str()
        ),
        (1, "0")
    );
}
