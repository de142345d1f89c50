//! `warmset size` on machines in directories, and on this one.

#![allow(clippy::unwrap_used, reason = "a test may")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;
/// Short windows, so that a measurement takes seconds.
const QUICK: [&str; 6] = ["--for", "3s", "--window", "500ms", "--interval", "100ms"];

/// A machine with one unit, which has 64 MiB.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.file("proc/7/cgroup", "0::/system.slice/db.service\n");
        machine.file("proc/7/stat", "7 (db) S 1 7 7\n");
        machine.file("proc/meminfo", "SwapFree:        0 kB\n");
        machine.has(8 * MIB, 56 * MIB, 0);
        machine.put("memory.max", "max\n");
        machine.put("memory.reclaim", "");
        machine.waited(0);
        machine
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    fn group(&self) -> PathBuf {
        self.root().join("sys/fs/cgroup/system.slice/db.service")
    }

    fn put(&self, name: &str, text: &str) {
        write(&self.group().join(name), text);
    }

    /// Anonymous memory, files, and what of them is shared.
    fn has(&self, anon: u64, file: u64, shared: u64) {
        let stat = format!(
            "anon {anon}\nfile {file}\nshmem {shared}\nworkingset_refault_anon 0\nworkingset_refault_file 0\n"
        );
        self.put("memory.stat", &stat);
        self.put("memory.current", &format!("{}\n", anon + file));
    }

    fn waited(&self, micros: u64) {
        write(&self.group().join("memory.pressure"), &pressure(micros));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warmset-tools"));
        command
            .arg("--root")
            .arg(self.root())
            .arg("size")
            .args(arguments);
        command
    }

    fn size(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    fn quick(&self, arguments: &[&str]) -> Said {
        self.size(&[arguments, &QUICK].concat())
    }

    fn drop_in(&self) -> PathBuf {
        self.root()
            .join("etc/systemd/system/db.service.d/50-warmset-size.conf")
    }
}

/// Whole or not at all: it is read meanwhile.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

fn pressure(micros: u64) -> String {
    let line = |kind| format!("{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={micros}\n");
    line("some") + &line("full")
}

/// What the program said.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn notes(&self) -> String {
        self.json()["notes"].to_string()
    }
}

/// Does something again and again until it is dropped.
struct Meanwhile(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Meanwhile {
    fn each(mut what: impl FnMut() + Send + 'static) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let thread = spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                what();
                sleep(Duration::from_millis(20));
            }
        });
        Self(ends, Some(thread))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.take().unwrap().join().unwrap();
    }
}

#[test]
fn a_unit_that_answers_nothing_needs_at_most_what_it_has() {
    let machine = Machine::new();
    let said = machine.quick(&["db", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let found = said.json();
    assert_eq!(
        (&found["unit"], &found["by"]),
        (&"db.service".into(), &"reclaim".into())
    );
    assert_eq!(found["working_set"]["lower"], Value::Null);
    assert_eq!(found["working_set"]["p95"], Value::Null);
    assert_eq!(found["working_set"]["upper"], 64 * MIB);
    assert_eq!(found["suggestions"]["memory_low"], Value::Null);
    assert_eq!(found["suggestions"]["memory_high"], 80 * MIB);
    assert_eq!(found["suggestions"]["memory_max"], 120 * MIB);
    assert!(found["reclaim"]["taken"].as_u64().unwrap() > 0, "{found}");
    assert!(
        said.notes().contains("nothing came back that lasted"),
        "{said:?}"
    );
    assert!(said.notes().contains("no swap"), "{said:?}");
    let asked = fs::read_to_string(machine.group().join("memory.reclaim")).unwrap();
    assert!(asked.parse::<u64>().unwrap() <= 64 * MIB / 100, "{asked}");
    let said = machine.quick(&["7"]);
    assert!(said.out.starts_with("7: at most 64 MiB"), "{said:?}");
    assert!(said.out.contains("no limit was set"), "{said:?}");
    assert!(said.out.contains("MemoryHigh=80M"), "{said:?}");
}

#[test]
fn memory_that_is_shared_is_said() {
    let machine = Machine::new();
    machine.has(0, 64 * MIB, 48 * MIB);
    let said = machine.quick(&["db", "--json"]);
    assert!(
        said.notes()
            .contains("48 MiB of it is shared memory or tmpfs"),
        "{said:?}"
    );
    let hints = said.json()["hints"].to_string();
    assert!(hints.contains("shared_buffers"), "{hints}");
}

#[test]
fn a_unit_that_waits_at_its_limit_is_bounded_below() {
    let machine = Machine::new();
    machine.put("memory.max", &format!("{}\n", 65 * MIB));
    let path = machine.group().join("memory.pressure");
    let began = Instant::now();
    let _waits = Meanwhile::each(move || {
        let micros = began.elapsed().as_micros() as u64;
        write(&path, &pressure(micros / 2));
    });
    let said = machine.quick(&["db", "--json", "--apply"]);
    assert_eq!(said.json()["working_set"]["lower"], 64 * MIB, "{said:?}");
    assert_eq!(said.json()["working_set"]["upper"], Value::Null);
    assert_eq!(said.json()["suggestions"], Value::Null);
    assert!(said.notes().contains("at its limit of 65 MiB"), "{said:?}");
    assert_eq!(
        fs::read_to_string(machine.group().join("memory.reclaim")).unwrap(),
        ""
    );
    assert!(
        said.err
            .contains("nothing is written: it was short of memory"),
        "{said:?}"
    );
    assert_eq!((said.code, machine.drop_in().exists()), (Some(1), false));
}

#[test]
fn a_unit_that_vanishes_leaves_a_part_and_a_failure() {
    let machine = Machine::new();
    let group = machine.group();
    let began = Instant::now();
    let _ends = Meanwhile::each(move || {
        if began.elapsed() > Duration::from_secs(1) {
            let _ = fs::remove_dir_all(&group);
        }
    });
    let said = machine.size(&[
        "db",
        "--json",
        "--for",
        "1min",
        "--window",
        "500ms",
        "--interval",
        "100ms",
    ]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.json()["ended"], "vanished");
    assert!(
        said.notes().contains("ended while it was measured"),
        "{said:?}"
    );
}

#[test]
fn ctrl_c_shows_what_was_found() {
    let machine = Machine::new();
    let mut command = machine.command(&["db", "--json", "--for", "10min"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It answers the signal from when it shows that it has begun, and by default before.
    sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    if said.code.is_none() {
        // On a machine so loaded that it had not begun.
        assert_eq!(said.out, "");
        return;
    }
    assert_eq!(
        (said.code, said.json()["ended"].clone()),
        (Some(0), "signal".into())
    );
    assert!(said.notes().contains("interrupted"), "{said:?}");
}

#[test]
fn limits_are_written_and_taken_away() {
    let machine = Machine::new();
    let said = machine.quick(&["db", "--apply"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = fs::read_to_string(machine.drop_in()).unwrap();
    let expected = format!(
        "[Service]\nMemoryHigh={}\nMemoryMax={}\n",
        80 * MIB,
        120 * MIB
    );
    assert!(text.ends_with(&expected), "{text}");
    assert!(
        said.out
            .contains("warmset size --undo db.service takes it away"),
        "{said:?}"
    );
    // A file of ours is written anew.
    assert_eq!(machine.quick(&["db", "--apply"]).code, Some(0));
    let said = machine.size(&["db", "--undo"]);
    assert_eq!(
        (said.code, machine.drop_in().exists()),
        (Some(0), false),
        "{said:?}"
    );
    let said = machine.size(&["db", "--undo"]);
    assert!(said.err.contains("there is no such file"), "{said:?}");
    write(&machine.drop_in(), "[Service]\nMemoryMax=1G\n");
    let began = Instant::now();
    let said = machine.size(&["db", "--apply", "--for", "1h"]);
    assert_eq!(said.code, Some(1), "before the measurement: {said:?}");
    assert!(began.elapsed() < Duration::from_secs(600));
    assert!(said.err.contains("did not write this file"), "{said:?}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let machine = Machine::new();
    let said = machine.size(&["db.servcie"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("hint: did you mean db.service?"),
        "{said:?}"
    );
    let said = machine.size(&["8"]);
    assert!(said.err.contains("8: no such process"), "{said:?}");
    for (options, what) in [
        (["--for", "20s"], "three windows"),
        (["--window", "2s"], "4 looks"),
        (["--interval", "1ms"], "at least 100 ms"),
        (["--budget", "60%"], "at most 50 %"),
        (["--step", "0%"], "above 0 %"),
    ] {
        let said = machine.size(&["db", options[0], options[1]]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(what), "{said:?}");
    }
    let said = machine.size(&["db", "--by", "damon"]);
    assert!(said.err.contains("CONFIG_DAMON_SYSFS"), "{said:?}");
    assert!(
        said.err.contains("--by accessed needs no DAMON"),
        "{said:?}"
    );
    fs::remove_file(machine.group().join("memory.reclaim")).unwrap();
    let said = machine.size(&["db", "--by", "reclaim"]);
    assert!(said.err.contains("needs Linux 5.19"), "{said:?}");
    // Without it, the accessed bits of its processes are asked for, which a machine in a directory has not.
    let said = machine.quick(&["db", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.out.contains("5.19") && said.out.contains("accessed"),
        "{said:?}"
    );
    let said = machine.quick(&["db", "--apply"]);
    assert!(said.err.contains("nothing is written"), "{said:?}");
    machine.file(
        "proc/9/cgroup",
        "0::/user.slice/user-1.slice/user@1.service/app.slice/app.service\n",
    );
    let said = machine.size(&["app", "--apply"]);
    assert!(said.err.contains("systemctl --user edit"), "{said:?}");
}

#[test]
fn a_command_is_measured_until_it_ends() {
    let quick = [
        "--window",
        "1s",
        "--interval",
        "250ms",
        "--by",
        "accessed",
        "--json",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmset-tools"));
    command.args(["size", "--for", "1h"]).args(quick);
    command.args(["--", "sleep", "3"]);
    let said = Said::of(command.output().unwrap());
    if said.err.contains("scope") || said.err.contains("systemd") {
        // A systemd that makes none for this user, as in a container.
        return;
    }
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        (&said.json()["unit"], &said.json()["ended"]),
        (&"sleep".into(), &"vanished".into())
    );
}

#[test]
fn a_process_of_this_machine_is_measured_by_accessed_bits() {
    let mut memory = vec![1_u8; (96 * MIB) as usize];
    let pid = std::process::id().to_string();
    let _uses = Meanwhile::each(move || {
        let used = (64 * MIB) as usize;
        memory[..used]
            .iter_mut()
            .step_by(4096)
            .for_each(|byte| *byte = byte.wrapping_add(1));
    });
    let arguments = [
        "--json",
        "size",
        &pid,
        "--by",
        "accessed",
        "--for",
        "6s",
        "--window",
        "2s",
        "--interval",
        "500ms",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_warmset-tools"));
    let said = Said::of(command.args(arguments).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    let found = said.json();
    let most = found["working_set"]["most"].as_u64().unwrap();
    assert!(most >= 44 * MIB, "{found}");
    assert_eq!(
        (&found["by"], &found["why"]),
        (&"accessed".into(), &"as asked".into())
    );
    assert!(
        said.notes().contains("only read and written is not seen"),
        "{said:?}"
    );
}
