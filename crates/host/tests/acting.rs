//! A guard's hands on a machine that is a copy of a recorded one.

use host::{Applied, Machine, Permission, Places, restore};
use pressure::decision::{Action, Decision, Forecast, Phase, Reason, Step};
use pressure::knob::Knob;
use pressure::{Config, Sample};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use testsupport::recorded_machine;
use units::Span;

const FACTOR: Knob = Knob::WatermarkScaleFactor;

fn machine() -> (tempfile::TempDir, Places) {
    let dir = recorded_machine::machine();
    let places = Places::at(dir.path());
    (dir, places)
}

fn guard(places: &Places) -> Machine {
    Machine::at(places, Permission::Act, &Config::default().wake).expect("a guard")
}

fn sample(machine: &mut Machine) -> Sample {
    let mut sample = Sample::default();
    machine.sample(&mut sample);
    sample
}

fn decision(actions: &[Action]) -> Decision {
    let steps = actions
        .iter()
        .map(|action| Step {
            action: *action,
            why: Reason::Stop,
        })
        .collect();
    Decision {
        phase: Phase::Guarding,
        forecast: Forecast::default(),
        steps,
        notices: [].into_iter().collect(),
        patience: Span::secs(1),
        attention: pressure::decision::Attention::Rest,
    }
}

fn set(knob: Knob, from: u64, to: u64) -> Action {
    Action::Set { knob, from, to }
}

fn value(places: &Places, knob: Knob) -> String {
    fs::read_to_string(places.root.join(knob.spec().path))
        .expect("read")
        .trim()
        .to_owned()
}

/// Every file with its content and time of change.
fn tree(root: &Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).expect("a directory").flatten() {
        if entry.path().is_dir() {
            files.extend(tree(&entry.path()));
        } else {
            let changed = entry.metadata().expect("known").modified().expect("known");
            files.push((entry.path(), fs::read(entry.path()).expect("read"), changed));
        }
    }
    files.sort();
    files
}

#[test]
fn what_is_set_is_logged_first_and_put_back_at_the_end() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    assert_eq!(sample(&mut guard).knobs.found.of(FACTOR), Some(10));
    let outcome = guard.act(&decision(&[set(FACTOR, 10, 200)]));
    assert_eq!(outcome.steps(), [Applied::Written]);
    assert_eq!(value(&places, FACTOR), "200");
    let log = fs::read_to_string(places.run.join("undo")).expect("a log");
    assert!(
        log.ends_with("proc/sys/vm/watermark_scale_factor\t10\t200\t10\n"),
        "{log}"
    );
    let knobs = sample(&mut guard).knobs;
    assert_eq!(
        (knobs.found.of(FACTOR), knobs.ours.of(FACTOR)),
        (Some(10), Some(200))
    );
    drop(guard);
    assert_eq!(value(&places, FACTOR), "10");
    assert!(!places.run.exists(), "nothing is left");
}

#[test]
fn a_guard_that_only_observes_writes_nothing() {
    let (_dir, places) = machine();
    let before = tree(&places.root);
    let observing = Permission::Observe("a test".to_owned());
    let mut guard = Machine::at(&places, observing, &Config::default().wake).expect("a guard");
    sample(&mut guard);
    let outcome = guard.act(&decision(&[
        set(FACTOR, 10, 200),
        Action::Compact { node: 0 },
    ]));
    assert_eq!(outcome, host::Outcome::default());
    guard.put_everything_back();
    drop(guard);
    assert_eq!(tree(&places.root), before);
}

#[test]
fn a_guard_that_is_told_to_only_observe_puts_back_and_writes_nothing_more() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    sample(&mut guard);
    guard.act(&decision(&[set(FACTOR, 10, 200)]));
    assert_eq!(guard.only_observe().back.len(), 1);
    assert_eq!(
        (
            value(&places, FACTOR).as_str(),
            guard.permission() == &Permission::Act
        ),
        ("10", false)
    );
    let outcome = guard.act(&decision(&[set(FACTOR, 10, 300)]));
    assert_eq!(outcome.steps(), []);
    assert_eq!(value(&places, FACTOR), "10");
    assert_eq!(sample(&mut guard).knobs.ours.of(FACTOR), None);
}

#[test]
fn what_someone_else_sets_is_left_alone_and_said() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    sample(&mut guard);
    guard.act(&decision(&[set(FACTOR, 10, 200)]));
    fs::write(places.root.join(FACTOR.spec().path), "77\n").expect("written");
    assert!(sample(&mut guard).knobs.is_foreign(FACTOR));
    assert!(sample(&mut guard).knobs.is_foreign(FACTOR), "and stays so");
    let restored = guard.put_everything_back();
    assert!(
        restored
            .to_string()
            .contains("we had set 200, and found 10"),
        "{restored}"
    );
    assert_eq!(value(&places, FACTOR), "77");
}

/// Found 10, set to 200; another program saves that, sets 400, and restores 200 when it ends.
#[test]
fn our_value_is_put_back_though_another_program_restored_it() {
    let (_dir, places) = machine();
    let write = |text| fs::write(places.root.join(FACTOR.spec().path), text).expect("written");
    for ends_before in [true, false] {
        let mut first = guard(&places);
        sample(&mut first);
        first.act(&decision(&[set(FACTOR, 10, 200)]));
        write("400\n");
        sample(&mut first);
        if ends_before {
            write("200\n");
            assert_eq!(first.put_everything_back().back.len(), 1);
        } else {
            assert_eq!(first.put_everything_back().left_alone.len(), 1);
            drop(first);
            write("200\n");
            assert_eq!(guard(&places).leftover().back.len(), 1);
        }
        assert_eq!(value(&places, FACTOR), "10");
    }
}

/// A line that this version does not know keeps no guard from its work.
#[test]
fn a_guard_starts_beside_what_cannot_be_put_back_and_keeps_it() {
    let (_dir, places) = machine();
    let unknown = "sys/kernel/mm/lru_gen/min_ttl_ms2\t0\t1000\t0\n";
    let boot = fs::read_to_string(places.root.join("proc/sys/kernel/random/boot_id"));
    let head = format!("warmset-undo 1 {}\n", boot.expect("read").trim());
    let log = places.run.join("undo");
    fs::create_dir_all(&places.run).expect("made");
    fs::write(&log, format!("{head}{unknown}")).expect("written");
    let mut guard = guard(&places);
    assert_eq!(guard.leftover().failed.len(), 1, "{}", guard.leftover());
    sample(&mut guard);
    guard.act(&decision(&[set(FACTOR, 10, 200)]));
    assert_eq!(value(&places, FACTOR), "200");
    guard.put_everything_back();
    assert_eq!(value(&places, FACTOR), "10");
    assert_eq!(
        fs::read_to_string(&log).expect("read"),
        format!("{head}{unknown}")
    );
}

#[test]
fn a_decision_on_a_value_that_has_changed_since_is_not_carried_out() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    sample(&mut guard);
    fs::write(places.root.join(FACTOR.spec().path), "77\n").expect("written");
    let outcome = guard.act(&decision(&[set(FACTOR, 10, 200)]));
    assert_eq!(outcome.steps(), [Applied::Overtaken]);
    assert_eq!(value(&places, FACTOR), "77");
    assert!(!places.run.join("undo").exists());
}

#[test]
fn a_knob_that_refuses_is_given_up_and_the_rest_goes_on() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    let swappiness = sample(&mut guard)
        .knobs
        .now
        .of(Knob::Swappiness)
        .expect("known");
    let path = places.root.join(FACTOR.spec().path);
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("made");
    let outcome = guard.act(&decision(&[
        set(FACTOR, 10, 200),
        set(Knob::Swappiness, swappiness, 1),
    ]));
    let [Applied::Refused { why }, Applied::Written] = outcome.steps() else {
        panic!("{outcome:?}")
    };
    assert!(why.contains("watermark_scale_factor"), "{why}");
    assert_eq!(value(&places, Knob::Swappiness), "1");
    assert_eq!(sample(&mut guard).knobs.now.of(FACTOR), None);
    assert!(
        guard
            .warnings()
            .iter()
            .any(|error| error.contains("watermark_scale_factor"))
    );
}

#[test]
fn a_value_out_of_bounds_is_never_written() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    sample(&mut guard);
    let outcome = guard.act(&decision(&[set(FACTOR, 10, 4000)]));
    let [Applied::Refused { why }] = outcome.steps() else {
        panic!("{outcome:?}")
    };
    assert!(why.contains("4000 is out of bounds"), "{why}");
    assert_eq!(value(&places, FACTOR), "10");
}

#[test]
fn a_second_guard_and_a_restore_beside_a_guard_are_refused() {
    let (_dir, places) = machine();
    let _first = guard(&places);
    let error = Machine::at(&places, Permission::Act, &Config::default().wake)
        .expect_err("only one")
        .to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
}

#[test]
fn the_next_guard_undoes_what_a_killed_one_left() {
    let (_dir, places) = machine();
    let mut first = guard(&places);
    sample(&mut first);
    first.act(&decision(&[set(FACTOR, 10, 200)]));
    let log = fs::read(places.run.join("undo")).expect("a log");
    drop(first);
    // As kill -9 leaves it.
    fs::create_dir(&places.run).expect("made");
    fs::write(places.run.join("undo"), log).expect("written");
    fs::write(places.root.join(FACTOR.spec().path), "200\n").expect("written");
    let mut next = guard(&places);
    assert_eq!(next.leftover().back.len(), 1, "{}", next.leftover());
    assert_eq!(sample(&mut next).knobs.found.of(FACTOR), Some(10));
    assert_eq!(
        restore(&places).expect("nothing to do").to_string(),
        "nothing to put back\n"
    );
}

#[test]
fn the_kill_switch_is_seen() {
    let (_dir, places) = machine();
    let mut guard = guard(&places);
    assert_eq!(sample(&mut guard).circumstances.disabled, Some(0));
    fs::write(places.run.join("disable"), "").expect("written");
    assert_eq!(sample(&mut guard).circumstances.disabled, Some(1));
}
