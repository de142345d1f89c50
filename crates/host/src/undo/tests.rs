use super::*;
use proptest::prelude::*;

const BOOT: &str = "11111111-2222-3333-4444-555555555555";
const FACTOR: Knob = Knob::WatermarkScaleFactor;

/// A machine with two knobs and an undo log.
fn machine(log: &[u8]) -> (tempfile::TempDir, Places) {
    let dir = tempfile::tempdir().unwrap();
    let places = Places::at(dir.path());
    for directory in ["proc/sys/vm", "proc/sys/kernel/random", "run"] {
        fs::create_dir_all(dir.path().join(directory)).unwrap();
    }
    fs::write(
        dir.path().join("proc/sys/kernel/random/boot_id"),
        format!("{BOOT}\n"),
    )
    .unwrap();
    set(&places, FACTOR, 240);
    set(&places, Knob::Swappiness, 60);
    own_directory(&places.run).unwrap();
    fs::write(places.log(), log).unwrap();
    (dir, places)
}

fn set(places: &Places, knob: Knob, value: u64) {
    fs::write(places.knob(knob), format!("{value}\n")).unwrap();
}

fn get(places: &Places, knob: Knob) -> u64 {
    read_number(&places.knob(knob)).unwrap().unwrap()
}

fn log(lines: &str) -> Vec<u8> {
    format!("{MAGIC}{BOOT}\n{lines}").into_bytes()
}

const FACTOR_LINE: &str = "proc/sys/vm/watermark_scale_factor\t10\t240\t160\n";

#[test]
fn what_a_killed_guard_left_is_put_back() {
    let (_dir, places) = machine(&log(FACTOR_LINE));
    let restored = restore(&places).unwrap();
    assert_eq!(
        restored.back,
        [Change::back(
            "vm.watermark_scale_factor".to_owned(),
            240,
            10
        )]
    );
    assert_eq!(get(&places, FACTOR), 10);
    assert!(!places.log().exists());
    assert_eq!(
        restore(&places).unwrap().to_string(),
        "nothing to put back\n"
    );
}

#[test]
fn a_guard_killed_between_log_and_write_is_undone_too() {
    let (_dir, places) = machine(&log(FACTOR_LINE));
    set(&places, FACTOR, 160);
    assert_eq!(restore(&places).unwrap().back.len(), 1);
    assert_eq!(get(&places, FACTOR), 10);
}

#[test]
fn a_log_of_a_newer_version_is_refused_and_stays_as_it_is() {
    let newer =
        format!("warmset-undo 2 {BOOT}\nknob vm.watermark_scale_factor found 10 ours 240\n");
    let (_dir, places) = machine(newer.as_bytes());
    let error = restore(&places).unwrap_err().to_string();
    assert!(error.contains("of a newer version"), "{error}");
    assert!(error.contains("warmset restore"), "{error}");
    // A guard does not start over it.
    let mut undo = UndoLog::open(&places, BOOT).unwrap();
    assert!(undo.restore().is_err());
    assert_eq!(fs::read_to_string(places.log()).unwrap(), newer);
    assert_eq!(get(&places, FACTOR), 240);
    let (_dir, places) = machine(b"#!/bin/sh\n");
    let error = restore(&places).unwrap_err().to_string();
    assert!(error.contains("which no undo log does"), "{error}");
}

#[test]
fn a_draft_that_a_killed_guard_left_does_not_stay() {
    for lines in ["", FACTOR_LINE] {
        let (_dir, places) = machine(&log(lines));
        let draft = places.run.join("undo.new");
        fs::write(&draft, "half").unwrap();
        restore(&places).unwrap();
        assert!(!draft.exists());
    }
}

#[test]
fn a_log_that_cannot_be_written_leaves_no_draft() {
    let (_dir, places) = machine(&log(""));
    // A directory of its name: the draft cannot become the log.
    fs::remove_file(places.log()).unwrap();
    fs::create_dir(places.log()).unwrap();
    let error = places.replace_log("text").unwrap_err().to_string();
    assert!(error.contains("undo: cannot be written: "), "{error}");
    assert!(!places.run.join("undo.new").exists());
}

#[test]
fn what_someone_else_has_set_since_is_theirs() {
    let (_dir, places) = machine(&log(FACTOR_LINE));
    set(&places, FACTOR, 77);
    let restored = restore(&places).unwrap();
    assert!(restored.back.is_empty());
    assert_eq!(
        restored.to_string(),
        "left vm.watermark_scale_factor alone: it is 77, which another program has set since; we had set 240, and found 10\n"
    );
    assert_eq!(get(&places, FACTOR), 77);
}

/// The other program had saved our value, and sets it again when it ends.
#[test]
fn our_value_does_not_stay_because_another_program_restored_it() {
    let (_dir, places) = machine(&log(FACTOR_LINE));
    set(&places, FACTOR, 77);
    // A guard comes and goes, and drives the same knob.
    let mut undo = UndoLog::open(&places, BOOT).unwrap();
    undo.restore().unwrap();
    undo.set(
        FACTOR,
        Some(Held {
            found: 77,
            ours: 500,
            before: 77,
        }),
    )
    .unwrap();
    set(&places, FACTOR, 500);
    let restored = restore(&places).unwrap();
    assert_eq!(get(&places, FACTOR), 77, "what it found");
    assert_eq!(restored.left_alone.len(), 1, "{restored}");
    set(&places, FACTOR, 240);
    assert_eq!(restore(&places).unwrap().back.len(), 1);
    assert_eq!(get(&places, FACTOR), 10, "what was found first");
    assert!(!places.log().exists());
}

#[test]
fn a_knob_that_another_program_set_stays_in_the_log_of_a_running_guard() {
    let (_dir, places) = machine(b"");
    let mut undo = UndoLog::open(&places, BOOT).unwrap();
    let held = Held {
        found: 10,
        ours: 240,
        before: 160,
    };
    undo.set(FACTOR, Some(held)).unwrap();
    undo.yield_knob(FACTOR).unwrap();
    undo.set(
        Knob::Swappiness,
        Some(Held {
            found: 60,
            ours: 1,
            before: 60,
        }),
    )
    .unwrap();
    undo.set(Knob::Swappiness, None).unwrap();
    assert_eq!(undo.held(FACTOR), None);
    let left = fs::read(places.log()).unwrap();
    assert_eq!(left, log(FACTOR_LINE));
}

#[test]
fn a_log_of_another_boot_is_dropped() {
    let (_dir, places) = machine(format!("{MAGIC}another\n{FACTOR_LINE}").as_bytes());
    assert!(restore(&places).unwrap().notes[0].contains("another boot"));
    assert_eq!(get(&places, FACTOR), 240);
    assert!(!places.log().exists());
}

#[test]
fn a_half_written_line_was_never_acted_on() {
    let (_dir, places) = machine(&log(&format!("{FACTOR_LINE}proc/sys/vm/swappi")));
    let restored = restore(&places).unwrap();
    assert_eq!(restored.back.len(), 1);
    assert!(restored.notes[0].contains("half-written"));
}

#[test]
fn a_log_that_is_not_ours_is_refused_and_left() {
    let (_dir, places) = machine(b"#!/bin/sh\n");
    let error = restore(&places).unwrap_err().to_string();
    assert!(error.contains("run/warmset/undo"), "{error}");
    assert!(places.log().exists());
}

#[test]
fn a_line_that_is_not_ours_is_told_and_left() {
    for bad in [
        "etc/passwd\t0\t1\t1\n",
        "proc/sys/vm/swappiness\t9999\t60\t60\n",
    ] {
        let (_dir, places) = machine(&log(bad));
        let restored = restore(&places).unwrap();
        assert!(
            restored.failed[0].contains("run/warmset/undo"),
            "{restored}"
        );
        assert_eq!(fs::read(places.log()).unwrap(), log(bad));
        assert_eq!(get(&places, Knob::Swappiness), 60);
    }
}

#[test]
fn a_linked_or_open_run_directory_is_refused() {
    let (dir, places) = machine(b"");
    fs::remove_dir_all(&places.run).unwrap();
    std::os::unix::fs::symlink(dir.path(), &places.run).unwrap();
    assert!(
        UndoLog::open(&places, BOOT)
            .unwrap_err()
            .to_string()
            .contains("not a directory of ours")
    );
    fs::remove_file(&places.run).unwrap();
    fs::create_dir(&places.run).unwrap();
    fs::set_permissions(&places.run, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(
        UndoLog::open(&places, BOOT)
            .unwrap_err()
            .to_string()
            .contains("others can write")
    );
}

#[test]
fn the_log_of_a_guard_is_read_back_by_restore() {
    let (_dir, places) = machine(b"");
    fs::remove_file(places.log()).unwrap();
    let mut undo = UndoLog::open(&places, BOOT).unwrap();
    undo.set(
        FACTOR,
        Some(Held {
            found: 10,
            ours: 240,
            before: 10,
        }),
    )
    .unwrap();
    assert_eq!(fs::metadata(places.log()).unwrap().mode() & 0o777, 0o600);
    assert_eq!(restore(&places).unwrap().back.len(), 1);
    undo.set(FACTOR, None).unwrap();
    assert!(!places.log().exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_log_makes_restore_panic_or_write_elsewhere(bytes in prop::collection::vec(any::<u8>(), 0..400), ours in any::<bool>()) {
        let text = if ours { [&log("")[..], &bytes].concat() } else { bytes };
        let (dir, places) = machine(&text);
        let before = fs::read_dir(dir.path().join("proc/sys/vm")).unwrap().count();
        let _ = restore(&places);
        prop_assert_eq!(fs::read_dir(dir.path().join("proc/sys/vm")).unwrap().count(), before);
        prop_assert_eq!(get(&places, Knob::Swappiness), 60);
    }
}

/// A log that version 0.1.0 has left: two knobs, the floor of a service and the limit of a scope.
const LEFT_BY_0_1_0: &str = include_str!("../../../../fixtures/undo/0.1.0");
const SERVICE: &str = "sys/fs/cgroup/system.slice/ssh.service";
const SCOPE: &str = "sys/fs/cgroup/user.slice/a b.scope";

/// The machine on which that log was left, as the guard was killed, and its log with the inodes of this machine.
fn machine_of_0_1_0() -> (tempfile::TempDir, Places, String) {
    let (dir, places) = machine(b"");
    set(&places, Knob::Swappiness, 1);
    let mut log = LEFT_BY_0_1_0.to_owned();
    for (path, file, value, inode) in [
        (SERVICE, "memory.min", "25165824\n", "\t4711\t"),
        (SCOPE, "memory.high", "1073741824\n", "\t4712\t"),
    ] {
        let directory = dir.path().join(path);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(file), value).unwrap();
        let own = fs::metadata(&directory).unwrap().ino();
        log = log.replace(inode, &format!("\t{own}\t"));
    }
    (dir, places, log)
}

fn limit_of(places: &Places, path: &str) -> String {
    fs::read_to_string(places.root.join(path)).unwrap()
}

fn assert_all_is_back(places: &Places) {
    assert_eq!(get(places, FACTOR), 10);
    assert_eq!(get(places, Knob::Swappiness), 60);
    assert_eq!(limit_of(places, &format!("{SERVICE}/memory.min")), "0");
    assert_eq!(limit_of(places, &format!("{SCOPE}/memory.high")), "max");
}

#[test]
fn a_log_of_0_1_0_is_put_back() {
    let (_dir, places, log) = machine_of_0_1_0();
    fs::write(places.log(), log).unwrap();
    let restored = restore(&places).unwrap();
    assert_eq!(restored.back.len(), 4, "{restored}");
    assert_all_is_back(&places);
    assert!(!places.log().exists());
}

/// Fails when the format changes. Then keep this fixture, add one of the new version, and test that both are read.
#[test]
fn a_log_is_written_as_0_1_0_wrote_it() {
    let (_dir, places, log) = machine_of_0_1_0();
    let mut undo = UndoLog::open(&places, BOOT).unwrap();
    let held = |found, ours, before| {
        Some(Held {
            found,
            ours,
            before,
        })
    };
    undo.set(FACTOR, held(10, 240, 160)).unwrap();
    undo.set(Knob::Swappiness, held(60, 1, 60)).unwrap();
    for (path, kind, held) in [
        (SERVICE, limit::Kind::Min, held(0, 25_165_824, 0)),
        (SCOPE, limit::Kind::High, held(u64::MAX, 1 << 30, u64::MAX)),
    ] {
        let limit = Limit {
            directory: path.into(),
            inode: fs::metadata(places.root.join(path)).unwrap().ino(),
            kind,
        };
        undo.set_limit(&limit, held).unwrap();
    }
    let written = fs::read_to_string(places.log()).unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&written), sorted(&log));
}

#[test]
fn a_line_of_another_version_is_kept_and_told_and_all_else_is_put_back() {
    let (_dir, places, log) = machine_of_0_1_0();
    let unknown = "sys/kernel/mm/lru_gen/min_ttl_ms2\t0\t1000\t0\n";
    let (head, lines) = log.split_once('\n').unwrap();
    for log in [
        format!("{log}{unknown}"),
        format!("{head}\n{unknown}{lines}"),
    ] {
        fs::write(places.log(), log).unwrap();
        let error = restore(&places).unwrap().failed.concat();
        assert!(
            error.contains("run/warmset/undo: \"sys/kernel/mm/lru_gen/min_ttl_ms2")
                && error.contains("names no knob or limit that this version knows"),
            "{error}"
        );
        assert_all_is_back(&places);
        let left = fs::read_to_string(places.log()).unwrap();
        assert_eq!(left, format!("{head}\n{unknown}"), "nothing is forgotten");
    }
}

#[test]
fn a_knob_that_cannot_be_put_back_stays_in_the_log_and_keeps_no_other_from_it() {
    let (_dir, places, log) = machine_of_0_1_0();
    fs::write(places.log(), &log).unwrap();
    fs::write(places.knob(Knob::Swappiness), "many\n").unwrap();
    let error = restore(&places).unwrap().failed.concat();
    assert!(error.contains("swappiness"), "{error}");
    assert_eq!(get(&places, FACTOR), 10);
    let left = fs::read_to_string(places.log()).unwrap();
    assert!(
        left.ends_with("\nproc/sys/vm/swappiness\t60\t1\t60\n"),
        "{left}"
    );
    assert_eq!(left.lines().count(), 2);
    set(&places, Knob::Swappiness, 1);
    restore(&places).unwrap();
    assert_all_is_back(&places);
}
