//! Unused memory of units is taken.

use super::*;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.set(HOG, "memory.reclaim", "");
    bench.set(
        HOG,
        "memory.stat",
        "active_anon 4096\nworkingset_refault_file 10\n",
    );
    bench.groups.squeeze(&["batch.service".to_owned()]);
    bench
}

#[test]
fn a_named_unit_is_read_and_asked_through_its_own_file() {
    let mut bench = bench();
    bench.look(100);
    let told = bench.sample.groups.squeezed[0];
    assert_eq!(told.unit.as_str(), "batch.service");
    assert_eq!(told.at, Span::secs(100));
    assert_eq!(told.used, Bytes::mib(40));
    assert_eq!(told.refaulted, Bytes::kib(40));
    assert_eq!(told.waited, Micros::new(5000));
    let cgroup = bench.groups.squeezed.shared(told.id).unwrap();
    cgroup.take(Bytes::mib(2)).unwrap();
    assert_eq!(bench.get(HOG, "memory.reclaim"), "2097152");
    bench.look(101);
    assert_eq!(bench.sample.groups.squeezed[0], told, "not due yet");
    bench.look(105);
    let told = bench.sample.groups.squeezed[0];
    assert_eq!(told.asked, Bytes::mib(2));
    assert_eq!(told.taken, Bytes::mib(2));
}

#[test]
fn a_unit_that_vanishes_is_forgotten_and_taking_of_it_is_no_failure() {
    let mut bench = bench();
    bench.look(100);
    let id = bench.sample.groups.squeezed[0].id;
    let cgroup = bench.groups.squeezed.shared(id).unwrap();
    fs::remove_dir_all(bench.file(HOG, "")).unwrap();
    bench.look(106);
    assert!(bench.sample.groups.squeezed.is_empty());
    assert!(bench.groups.squeezed.shared(id).is_none());
    cgroup.take(Bytes::mib(2)).unwrap();
}

#[test]
fn a_unit_of_a_user_does_not_pass_for_a_service() {
    let mut bench = bench();
    bench.set(IMPOSTOR, "memory.reclaim", "");
    bench.groups.squeeze(&["ssh.service".to_owned()]);
    bench.look(100);
    assert!(
        bench.sample.groups.squeezed.is_empty(),
        "the service itself has no memory.reclaim here"
    );
}

#[test]
fn a_kernel_without_memory_reclaim_squeezes_nothing() {
    let mut bench = bench();
    fs::remove_file(bench.file(HOG, "memory.reclaim")).unwrap();
    bench.look(100);
    assert!(bench.sample.groups.squeezed.is_empty());
    let warnings = bench.groups.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("batch.service is not squeezed: it has no memory.reclaim"),
        "{warnings:?}"
    );
}

#[test]
fn the_background_slice_of_each_user_is_found_by_its_name() {
    let mut bench = bench();
    let slice = DESKTOP.replace("session.slice", "background.slice");
    make(&bench.places.root, &slice);
    bench.set(&slice, "memory.reclaim", "");
    bench.set(&slice, "memory.stat", "workingset_refault_file 0\n");
    bench.groups.squeeze(&["background.slice".to_owned()]);
    bench.look(100);
    let found = &bench.sample.groups.squeezed;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].unit.as_str(), "background.slice");
}
