//! A guard is killed, or a system call fails, at each of its system calls in turn: all is put back, and nothing is left.
//!
//! strace(1) injects the faults into `examples/holds.rs`, on a copy of a recorded machine. What is compared is every knob, and
//! what is in the run directory.

#![allow(clippy::print_stdout, reason = "how many faults there were")]

use host::{Places, restore};
use pressure::knob::{KNOBS, Knob};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use testsupport::recorded_machine;

const FACTOR: Knob = Knob::WatermarkScaleFactor;
/// System calls of one run, at most: with more, a run would never end by itself.
const MOST_CALLS: u32 = 5000;
/// Fewer cannot be: such a run has put nothing back.
const LEAST_CALLS: u32 = 30;

/// What is done at a system call.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// SIGKILL before the call.
    Kill,
    /// The call fails with EIO.
    Error,
}

/// What is run, and what it finds.
#[derive(Debug, Clone, Copy)]
enum Scene {
    /// A guard on a machine that nobody changed.
    Guard,
    /// A guard after one that was killed, as in an upgrade.
    AfterAnother,
    /// `warmset restore` after a guard that was killed.
    Restore,
}

/// The example, built once.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "-p", "warmset-host"])
            .args(["--example", "holds"])
            .status()
            .expect("cargo starts");
        assert!(status.success(), "examples/holds.rs was not built");
        let tests = std::env::current_exe().expect("this program");
        let profile = tests.ancestors().nth(2).expect("target/debug");
        profile.join("examples/holds")
    })
}

/// The contents of all knobs of a machine.
fn knobs(places: &Places) -> Vec<(&'static str, String)> {
    let mut contents = Vec::new();
    for spec in KNOBS {
        let content = fs::read_to_string(places.root.join(spec.path)).unwrap_or_default();
        contents.push((spec.path, content.trim().to_owned()));
    }
    contents
}

/// A machine as the scene begins.
fn prepare(scene: Scene, places: &Places) {
    if matches!(scene, Scene::Guard) {
        return;
    }
    let boot = fs::read_to_string(places.root.join("proc/sys/kernel/random/boot_id"));
    let boot = boot.expect("a boot ID");
    let boot = boot.trim();
    let path = FACTOR.spec().path;
    fs::create_dir_all(&places.run).expect("made");
    let log = format!("warmset-undo 1 {boot}\n{path}\t10\t300\t10\n");
    fs::write(places.run.join("undo"), log).expect("written");
    fs::write(places.root.join(path), "300\n").expect("written");
}

/// Runs the scene with a fault at its `call`th system call. Returns false if it ended before.
fn run(scene: Scene, fault: Fault, call: u32, places: &Places) -> bool {
    let task = match scene {
        Scene::Guard | Scene::AfterAnother => "set",
        Scene::Restore => "restore",
    };
    let effect = match fault {
        Fault::Kill => "signal=KILL",
        Fault::Error => "error=EIO",
    };
    let seen = places.root.join("strace.out");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-a", "1", "-s", "0", "-o"])
        .arg(&seen)
        .args(["-e", &format!("inject=all:{effect}:when={call}")])
        .arg(program())
        .arg(task)
        .arg(&places.root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace(1) is installed by `make setup-test`");
    let text = fs::read_to_string(&seen).expect("strace wrote what it saw");
    let is_killed = status.signal() == Some(9);
    is_killed || text.contains("(INJECTED)")
}

/// Every fault of one kind in one scene. Returns how many there were.
fn all_faults(scene: Scene, fault: Fault) -> u32 {
    let dir = recorded_machine::machine();
    let places = Places::at(dir.path());
    let before = knobs(&places);
    let own = [(FACTOR.spec().path, "10")];
    for (path, value) in own {
        assert!(before.contains(&(path, value.to_owned())), "{before:?}");
    }
    for call in 1..MOST_CALLS {
        prepare(scene, &places);
        let is_injected = run(scene, fault, call, &places);
        let restored = restore(&places).expect("a log that is ours");
        let at = format!("{scene:?}, {fault:?} at system call {call}: {restored}");
        assert!(restored.failed.is_empty(), "{at}");
        assert_eq!(knobs(&places), before, "{at}");
        for name in ["undo", "undo.new"] {
            assert!(!places.run.join(name).exists(), "{name} is left: {at}");
        }
        if !is_injected {
            return call - 1;
        }
    }
    panic!("{scene:?}: it does not end by itself");
}

fn withstands(scene: Scene, fault: Fault) {
    let faults = all_faults(scene, fault);
    println!("{scene:?}: {faults} system calls, {fault:?} at each");
    assert!(faults >= LEAST_CALLS, "{scene:?}: {faults} system calls");
}

#[test]
fn a_guard_killed_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Kill);
}

#[test]
fn a_guard_with_an_error_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Error);
}

#[test]
fn an_upgraded_guard_killed_at_any_system_call_is_undone() {
    withstands(Scene::AfterAnother, Fault::Kill);
}

#[test]
fn an_upgraded_guard_with_an_error_at_any_system_call_is_undone() {
    withstands(Scene::AfterAnother, Fault::Error);
}

#[test]
fn a_restore_killed_at_any_system_call_is_repeated() {
    withstands(Scene::Restore, Fault::Kill);
}

#[test]
fn a_restore_with_an_error_at_any_system_call_is_repeated() {
    withstands(Scene::Restore, Fault::Error);
}
