//! The program as people run it: options, configuration, signals, the recording it leaves.

use host::recordings::{Reader, list};
use pressure::recording::Entry;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn warmsetd() -> Command {
    Command::new(env!("CARGO_BIN_EXE_warmsetd"))
}

/// A guard that only observes, with its directories in `dir`.
fn observer(dir: &Path, time: &str) -> Command {
    let mut command = warmsetd();
    command
        .args(["--observe", "--for", time, "--state"])
        .arg(dir.join("state"))
        .arg("--run")
        .arg(dir.join("run"));
    command
}

/// Standard output and standard error.
fn texts(output: &Output) -> (String, String) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn signal(child: &std::process::Child, name: &str) {
    let killed = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .status();
    assert!(killed.expect("kill runs").success());
}

#[test]
fn help_and_version_are_printed_and_a_wrong_option_is_refused() {
    for (option, text) in [("--help", "--observe"), ("--version", "warmsetd ")] {
        let output = warmsetd().arg(option).output().expect("it runs");
        assert!(output.status.success());
        assert!(texts(&output).0.contains(text), "{option}");
    }
    let output = warmsetd().arg("--obsrve").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("--obsrve"));
}

/// The lines are `pattern<TAB>kind<TAB>undone by<TAB>what`.
#[test]
fn the_table_of_writes_is_printed_with_every_knob() {
    let output = warmsetd().arg("--list-writes").output().expect("it runs");
    assert!(output.status.success());
    let (list, _) = texts(&output);
    for spec in pressure::knob::KNOBS {
        let line = format!("/{}\tknob\tthe undo log\t{}\n", spec.path, spec.name);
        assert!(list.contains(&line), "{line}");
    }
    assert!(list.contains("/sys/fs/cgroup/*/memory.min\tcgroup limit\tthe undo log\t"));
    assert!(list.lines().all(|line| line.split('\t').count() == 4));
}

#[test]
fn an_error_in_the_configuration_names_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("warmset.toml");
    fs::write(&config, "mode = \"tune\"\n[gap]\nmaximum = 1\n").expect("written");
    let output = observer(dir.path(), "1s")
        .arg("--config")
        .arg(&config)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        texts(&output)
            .1
            .contains("warmset.toml:3:1: unknown field `maximum`"),
        "{:?}",
        texts(&output)
    );
}

#[test]
fn an_observer_writes_nothing_and_leaves_a_recording_that_replays_exactly() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = observer(dir.path(), "3s").output().expect("it runs");
    let (summary, log) = texts(&output);
    assert!(output.status.success(), "{log}");
    assert!(
        summary.contains("observing only (mode observe)")
            && summary.contains("0 writes, 0 put back"),
        "{summary}"
    );
    assert!(
        !dir.path().join("run").exists(),
        "an observer leaves no run directory"
    );
    let files = list(&dir.path().join("state/recordings")).expect("recordings");
    let entries: Vec<Entry> = files
        .iter()
        .flat_map(|file| Reader::open(file).expect("readable"))
        .map(|entry| entry.expect("whole"))
        .collect();
    let again = pressure::replay::decide_again(&entries, None).expect("replayed");
    assert!(
        again.samples >= 3 && again.differing.is_empty(),
        "{again:?}"
    );
}

#[test]
fn sigterm_ends_it_with_a_summary_and_a_wrong_configuration_does_not_end_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("warmset.toml");
    fs::write(&config, "verbosity = 1\n").expect("written");
    let mut command = observer(dir.path(), "30s");
    command
        .arg("--config")
        .arg(&config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    // It catches signals once the directory of recordings exists.
    while !dir.path().join("state/recordings").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(&config, "verbosity = 9\n").expect("written");
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "TERM");
    let output = child.wait_with_output().expect("it ends");
    let (summary, log) = texts(&output);
    assert!(output.status.success(), "{log}");
    assert!(
        log.contains("9 is not a verbosity of 0 to 5")
            && log.contains("the old configuration stays"),
        "{log}"
    );
    assert!(summary.contains("warmset ran for"), "{summary}");
}
