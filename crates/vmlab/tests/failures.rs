//! Failures: each has a message that says what to do and an exit code, and leaves nothing behind.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use warmset_vmlab::vm::Silence;

const LAB: &str = env!("CARGO_BIN_EXE_warmset-lab");

fn lab(arguments: &[&str], store: &Path, path: &str) -> Output {
    Command::new(LAB)
        .args(arguments)
        .arg("--store")
        .arg(store)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_qemu_the_package_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let said = error(&lab(
        &[
            "run",
            "idle",
            "--arms",
            "none",
            "--out",
            out.to_str().unwrap(),
        ],
        directory.path(),
        "/nonexistent",
    ));
    assert!(
        said.contains("install the package qemu-system-x86"),
        "{said}"
    );
}

#[test]
fn wrong_names_list_the_right_ones() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, word) in [
        (vec!["run", "strom"], "three-workers"),
        (vec!["run", "storm", "--arms", "oomd"], "earlyoom"),
        (vec!["run", "storm", "--arms", "static:0"], "1 to 3000"),
        (vec!["run", "storm", "--memory", "12"], "1G or 768M"),
        (vec!["run", "storm", "--lru", "arc"], "mglru"),
        (vec!["run", "storm", "--reps", "0"], "--reps 0"),
        (vec!["compare", "/nonexistent"], "is not there"),
    ] {
        let said = error(&lab(&arguments, directory.path(), "/usr/bin:/bin"));
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}

#[test]
fn without_apt_the_package_is_named() {
    // With this PATH no program is found.
    let directory = tempfile::tempdir().unwrap();
    let said = error(&lab(&["kernels", "6.12"], directory.path(), "/nonexistent"));
    assert!(
        said.contains("install the package apt") || said.contains("apt uses no Debian mirror"),
        "{said}"
    );
}

#[test]
#[ignore = "boots a machine: make vm"]
fn a_panic_is_reported_with_the_last_lines() {
    let mut machine = common::small("6.12");
    let silence = machine
        .try_sh("echo c >/proc/sysrq-trigger", Duration::from_secs(60))
        .unwrap_err();
    assert!(matches!(silence, Silence::Gone(_)), "{silence:?}");
    assert!(
        machine.vm().console().contains("Kernel panic"),
        "{}",
        machine.vm().console()
    );
}

#[test]
#[ignore = "boots a machine: make vm"]
fn a_wedged_machine_is_a_result() {
    let mut machine = common::small("6.12");
    let mut said = String::new();
    let silence = machine
        .vm()
        .script("echo first; sleep 1000", Duration::from_secs(2), |line| {
            said.push_str(line);
        });
    assert_eq!(silence.unwrap_err(), Silence::Wedged);
    assert_eq!(said, "first\n");
}

#[test]
#[ignore = "boots a machine: make vm"]
fn every_stock_kernel_boots_and_has_what_the_lab_counts() {
    for branch in ["6.1", "6.12", "7"] {
        let mut machine = common::small(branch);
        let said = machine.sh("uname -r; cat /proc/pressure/memory; cat /sys/fs/cgroup/cgroup.controllers; grep -c allocstall /proc/vmstat; ls /sys/kernel/mm/lru_gen; ls /dev/zram0");
        let grabbed = machine.sh("/lab/guest work grab 8 0; cat /proc/sys/vm/nr_hugepages");
        assert!(
            grabbed.contains("sum huge_pages_got 8") && grabbed.ends_with('0'),
            "{grabbed}"
        );
        assert!(said.starts_with(&format!("{branch}.")), "{said}");
        assert!(
            said.contains("full avg10")
                && said.contains("memory")
                && said.contains("min_ttl_ms")
                && said.contains("/dev/zram0"),
            "{said}"
        );
    }
}

#[test]
#[ignore = "boots a machine: make vm"]
fn an_interrupted_run_leaves_no_process_and_keeps_its_results() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("lines");
    let mut command = Command::new(LAB);
    command
        .args([
            "run",
            "idle",
            "--arms",
            "none",
            "--reps",
            "2",
            "--warm-up",
            "1",
            "--load",
            "3",
            "--calm",
            "1",
            "--out",
        ])
        .arg(&out);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first result is there; the second machine runs.
    for _ in 0..1200 {
        if std::fs::read_to_string(&out).is_ok_and(|text| text.lines().count() == 1) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(2));
    let children = || {
        Command::new("pgrep")
            .args(["-P", &child.id().to_string()])
            .output()
            .unwrap()
            .stdout
    };
    assert!(!children().is_empty(), "no machine runs");
    let machine = String::from_utf8(children()).unwrap();
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(
        !Path::new("/proc").join(machine.trim()).exists(),
        "QEMU is still there"
    );
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("\"state\":\"finished\""), "{text}");
}
