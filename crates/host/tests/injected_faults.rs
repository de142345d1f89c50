//! A guard is killed, or a system call fails, at each of its system calls in turn: all is put back, and nothing is left.
//!
//! strace(1) injects the faults into `examples/holds.rs`, on a copy of a recorded machine with two units. What is compared is
//! every knob, every limit and the freezer of both units, and what is in the run directory. Locks need no such test: they
//! are mappings of `warmset-hold`, and end with it.

#![allow(clippy::print_stdout, reason = "how many faults there were")]

use host::{Places, restore};
use pressure::knob::{KNOBS, Knob};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;
use testsupport::recorded_machine;

const FACTOR: Knob = Knob::WatermarkScaleFactor;
/// A unit that is protected.
const SSH: &str = "sys/fs/cgroup/system.slice/ssh.service";
/// A unit that is throttled and frozen.
const HOG: &str = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/hog.scope";
/// What a guard may change of a unit or of those above it.
const LIMITS: [&str; 3] = ["memory.min", "memory.high", "cgroup.freeze"];
/// A cgroup's files, as it is found.
const CGROUP: [(&str, &str); 9] = [
    ("memory.min", "0\n"),
    ("memory.high", "max\n"),
    ("memory.current", "41943040\n"),
    ("memory.swap.current", "0\n"),
    ("memory.events", "low 0\nhigh 7\nmax 0\n"),
    (
        "memory.stat",
        "anon 40960000\nfile 1\nactive_anon 1048576\nactive_file 2097152\nworkingset_refault_file 256\n",
    ),
    ("cgroup.freeze", "0\n"),
    ("cgroup.events", "populated 1\nfrozen 0\n"),
    ("pids.current", "1\n"),
];
/// The files of the only process of the unit that is throttled.
const PROCESS: [(&str, &str); 3] = [
    (
        "stat",
        "600 (hog) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 6000 99 10000 1 2 3\n",
    ),
    (
        "status",
        "Name:\thog\nUid:\t1000\t1000\nRssAnon:\t40000 kB\nVmSwap:\t0 kB\n",
    ),
    ("oom_score_adj", "0\n"),
];
/// Calls by which a run changes anything that outlives it, or begins to. Between two of them a kill is like one before the
/// second.
const CHANGES: [&str; 8] = [
    "openat", "write", "fsync", "rename", "unlink", "mkdir", "flock", "fchmod",
];
/// Calls of the start of a program and of its threads, before any of our code or beside it: nothing of ours answers for them.
const OF_THE_START: [&str; 18] = [
    "execve",
    "brk",
    "mmap",
    "munmap",
    "mprotect",
    "arch_prctl",
    "set_tid_address",
    "set_robust_list",
    "rseq",
    "prlimit64",
    "rt_sigaction",
    "rt_sigprocmask",
    "sigaltstack",
    "clone3",
    "futex",
    "gettid",
    "exit",
    "exit_group",
];
/// Fewer cannot be: such a run has put nothing back.
const LEAST_FAULTS: usize = 20;

/// What is done at a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// SIGKILL before the call: at all of [`CHANGES`].
    Kill,
    /// The call fails with this error, which strace knows by its name.
    Error(&'static str),
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

/// A unit's control group and those above it, but for the root, which has no limits.
fn groups(unit: &str) -> impl Iterator<Item = &str> {
    let above = Path::new(unit).ancestors().filter_map(Path::to_str);
    above.take_while(|group| group.starts_with("sys/fs/cgroup/"))
}

/// A recorded machine, with cgroup v2 and two units.
fn machine() -> TempDir {
    let machine = recorded_machine::machine();
    let write = |path: &str, text: &str| {
        let path = machine.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    };
    write(
        "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,memory_recursiveprot\n",
    );
    write("proc/self/cgroup", "0::/system.slice/warmsetd.service\n");
    for unit in [SSH, HOG] {
        for group in groups(unit) {
            for (file, text) in CGROUP {
                write(&format!("{group}/{file}"), text);
            }
        }
    }
    let group = HOG.trim_start_matches("sys/fs/cgroup");
    for (file, text) in PROCESS {
        write(&format!("proc/600/{file}"), text);
    }
    write("proc/600/cgroup", &format!("0::{group}\n"));
    machine
}

/// The contents of all that a guard may change: knobs, limits, the freezer.
fn changeable(places: &Places) -> Vec<(String, String)> {
    let mut paths: Vec<String> = KNOBS.iter().map(|spec| spec.path.to_owned()).collect();
    for unit in [SSH, HOG] {
        for group in groups(unit) {
            for limit in LIMITS {
                paths.push(format!("{group}/{limit}"));
            }
        }
    }
    let mut contents = Vec::new();
    for path in paths {
        let content = fs::read_to_string(places.root.join(&path)).unwrap_or_default();
        contents.push((path, content.trim().to_owned()));
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

/// Runs the scene below strace with these options. Returns how it ended and what strace saw.
fn trace(scene: Scene, options: &[&str], places: &Places) -> (ExitStatus, String) {
    let task = match scene {
        Scene::Guard | Scene::AfterAnother => "set",
        Scene::Restore => "restore",
    };
    let seen = places.root.join("strace.out");
    let status = Command::new("strace")
        .args(["-f", "-qq", "-y", "-a", "1", "-s", "32", "-o"])
        .arg(&seen)
        .args(options)
        .arg(program())
        .arg(task)
        .arg(&places.root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("strace(1) is installed by `make setup-test`");
    let seen = fs::read_to_string(&seen).expect("strace wrote what it saw");
    (status, seen)
}

/// Which calls the scene makes, and how often each: the most of any of its threads, as strace counts them.
fn calls(scene: Scene, places: &Places) -> BTreeMap<String, u32> {
    prepare(scene, places);
    let (_, seen) = trace(scene, &[], places);
    let mut each: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for line in seen.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((call, _)) = rest.trim_start().split_once('(') else {
            continue;
        };
        *each.entry((thread, call)).or_default() += 1;
    }
    let mut most = BTreeMap::new();
    for ((_, call), count) in each {
        let is_name = call
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name && !OF_THE_START.contains(&call) {
            let known: &mut u32 = most.entry(call.to_owned()).or_default();
            *known = count.max(*known);
        }
    }
    most
}

/// The kernel's files ignore truncation, and those of this machine do not: where a write failed after it, what was there is
/// there again.
fn ignore_truncation(before: &[(String, String)], seen: &str, places: &Places) {
    for (path, content) in before {
        let whole = places.root.join(path);
        if fs::read_to_string(&whole).is_ok_and(|now| !now.is_empty()) || content.is_empty() {
            continue;
        }
        let place = format!("{}>, \"", whole.display());
        let written = seen.lines().rev().find_map(|line| {
            let (call, rest) = line.split_once(&place)?;
            if !call.contains("write(") {
                return None;
            }
            let (text, result) = rest.split_once('"')?;
            let is_done = !result.contains("= -1") && !result.contains("= ?");
            is_done.then(|| text.replace("\\n", ""))
        });
        let last = written.unwrap_or_else(|| content.clone());
        fs::write(&whole, format!("{last}\n")).expect("written");
    }
}

/// Every fault of one kind in one scene. Returns how many there were.
fn all_faults(scene: Scene, fault: Fault) -> usize {
    let dir = machine();
    let places = Places::at(dir.path());
    let before = changeable(&places);
    let found = [
        (FACTOR.spec().path.to_owned(), "10"),
        (format!("{SSH}/memory.min"), "0"),
        (format!("{HOG}/memory.high"), "max"),
        (format!("{HOG}/cgroup.freeze"), "0"),
    ];
    for (path, value) in found {
        assert!(before.contains(&(path, value.to_owned())), "{before:?}");
    }
    let mut injected = 0;
    for (call, count) in calls(scene, &places) {
        if fault != Fault::Error("EIO") && !CHANGES.contains(&call.as_str()) {
            continue;
        }
        for nth in 1..=count {
            let at = format!("{scene:?}, {fault:?} at {call} {nth}");
            injected += usize::from(is_undone(scene, fault, (&call, nth), &before, &places, &at));
        }
    }
    injected
}

/// Runs the scene with a fault at the nth call of this name, and compares. Returns false if it never came to it.
fn is_undone(
    scene: Scene,
    fault: Fault,
    (call, nth): (&str, u32),
    before: &[(String, String)],
    places: &Places,
    at: &str,
) -> bool {
    prepare(scene, places);
    let found = changeable(places);
    let effect = match fault {
        Fault::Kill => "signal=KILL".to_owned(),
        Fault::Error(name) => format!("error={name}"),
    };
    let inject = format!("inject={call}:{effect}:when={nth}");
    // The writes tell what was last in a file.
    let seen = format!("trace=write,{call}");
    let mut options = vec!["-e", &seen, "-e", &inject];
    if fault != Fault::Kill {
        // Other calls do not stop the program, which takes a third of the time; strace 6.1 delivers no signal with it.
        options.push("--seccomp-bpf");
    }
    let (_, seen) = trace(scene, &options, places);
    ignore_truncation(&found, &seen, places);
    let restored = restore(places).expect("a log that is ours");
    assert!(restored.failed.is_empty(), "{at}: {restored}");
    assert_eq!(changeable(places), before, "{at}: {restored}");
    for name in ["undo", "undo.new"] {
        assert!(!places.run.join(name).exists(), "{at}: {name} is left");
    }
    seen.contains("(INJECTED)") || seen.contains("+++ killed by SIGKILL +++")
}

fn withstands(scene: Scene, fault: Fault) {
    let faults = all_faults(scene, fault);
    println!("{scene:?}: {fault:?} at {faults} system calls");
    assert!(faults >= LEAST_FAULTS, "{scene:?}: {faults} system calls");
}

/// Without a fault, the guard does what the other tests let fail: on a machine that refuses it, they would show nothing.
#[test]
fn without_a_fault_all_is_set_and_put_back() {
    let dir = machine();
    let places = Places::at(dir.path());
    let before = changeable(&places);
    let (status, written) = trace(Scene::Guard, &[], &places);
    assert!(status.success(), "{status}");
    assert_eq!(changeable(&places), before);
    for write in [
        "watermark_scale_factor>, \"240",
        "ssh.service/memory.min>, \"2097152",
        "hog.scope/memory.high>, \"419430400",
        "hog.scope/cgroup.freeze>, \"1",
    ] {
        assert!(written.contains(write), "{write} is not in {written}");
    }
}

#[test]
fn a_guard_killed_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Kill);
}

#[test]
fn a_guard_with_an_error_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Error("EIO"));
}

#[test]
fn a_guard_on_a_full_disk_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Error("ENOSPC"));
}

#[test]
fn a_guard_that_is_refused_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Error("EACCES"));
}

#[test]
fn a_guard_interrupted_at_any_system_call_is_undone() {
    withstands(Scene::Guard, Fault::Error("EINTR"));
}

#[test]
fn an_upgraded_guard_killed_at_any_system_call_is_undone() {
    withstands(Scene::AfterAnother, Fault::Kill);
}

#[test]
fn an_upgraded_guard_with_an_error_at_any_system_call_is_undone() {
    withstands(Scene::AfterAnother, Fault::Error("EIO"));
}

#[test]
fn a_restore_killed_at_any_system_call_is_repeated() {
    withstands(Scene::Restore, Fault::Kill);
}

#[test]
fn a_restore_with_an_error_at_any_system_call_is_repeated() {
    withstands(Scene::Restore, Fault::Error("EIO"));
}

#[test]
fn a_restore_on_a_full_disk_at_any_system_call_is_repeated() {
    withstands(Scene::Restore, Fault::Error("ENOSPC"));
}
