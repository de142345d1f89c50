//! Each worker of a load, run on this machine for a moment: it does its work and prints what it measured.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const GUEST: &str = env!("CARGO_BIN_EXE_warmset-guest");

/// Milliseconds since boot, as the workers count.
fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn output(command: &mut Command, ms: f64) -> Output {
    let from = now();
    command
        .env("WARMSET_FROM", from.to_string())
        .env("WARMSET_UNTIL", (from + ms).to_string())
        .output()
        .unwrap()
}

/// Sums by name, and the number of operations by name.
fn said(output: &Output) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["op", name, _, took] => {
                assert!(took.parse::<f64>().unwrap() >= 0.0, "{line}");
                *all.entry(format!("op {name}")).or_default() += 1.0;
            }
            ["sum", name, value] => {
                *all.entry((*name).to_owned()).or_default() += value.parse::<f64>().unwrap();
            }
            ["hog", _] => *all.entry("hog".to_owned()).or_default() += 1.0,
            _ => panic!("{line}"),
        }
    }
    all
}

fn work(words: &[&str], ms: f64) -> BTreeMap<String, f64> {
    let output = output(Command::new(GUEST).arg("work").args(words).arg("0"), ms);
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    said(&output)
}

fn file(directory: &Path, name: &str, mib: usize) -> String {
    let path = directory.join(name);
    fs::write(&path, vec![7; mib << 20]).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_are_filled_streamed_and_scanned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    file(directory.path(), "f00", 2);
    file(directory.path(), "f01", 2);
    let fill = work(&["fill", path, "2", "1", "1"], 300.0);
    assert!(
        fill["read_mib"] >= 4.0 && fill["written_mib"] >= 1.0,
        "{fill:?}"
    );
    assert!(!directory.path().join("new-0").exists());
    let once = work(&["once", path, "2"], 5000.0);
    assert_eq!(once["scan_mib"], 4.0);
    let stream = work(&["stream", &file(directory.path(), "huge", 3)], 300.0);
    assert!(stream["stream_mib"] > 3.0, "again and again: {stream:?}");
}

#[test]
fn the_hot_file_is_read_whole_and_its_own_refaults_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let read = work(&["read", &file(directory.path(), "hot", 4)], 5000.0);
    assert_eq!(read["reads"], 1.0);
    assert_eq!(read["op read"], 1.0);
    assert_eq!(read["hot_pages_read"], 1024.0);
    assert_eq!(read["hot_pages_refaulted"], 0.0, "it was written just now");
}

#[test]
fn a_part_of_a_file_is_touched_once_a_second() {
    let directory = tempfile::tempdir().unwrap();
    let passes = work(&["part", &file(directory.path(), "it", 3), "2"], 2500.0);
    assert!(passes["op pass"] >= 1.0, "{passes:?}");
    // A pass that begins at the end of the load is counted, too.
    assert!(passes["op pass"] <= 4.0, "{passes:?}");
}

#[test]
fn memory_is_touched_swept_and_given_back() {
    assert!(work(&["touch", "4"], 1500.0)["op touch"] >= 2.0);
    assert!(work(&["sweep", "4"], 1500.0)["swept_mib"] > 4.0);
    assert_eq!(work(&["sweep-once", "4"], 5000.0)["swept_mib"], 4.0);
    let burst = work(&["burst", "4", "4"], 5000.0);
    assert_eq!(burst["bursts"], 1.0);
    assert_eq!(burst["op fault_worst"], 1.0);
    assert_eq!(burst["op huge_fault_worst"], 1.0);
    assert!(work(&["ramp", "1000", "8"], 1500.0)["ramp_mib"] >= 8.0);
    assert!(work(&["leak", "400000", "16"], 1200.0)["leaks"] >= 1.0);
}

#[test]
fn a_hog_takes_memory_until_it_gets_no_more() {
    for bytes in ["zeros", "noise"] {
        let script = format!("ulimit -v 200000; exec {GUEST} work hog {bytes} 1 0");
        let output = output(Command::new("sh").args(["-c", &script]), 10_000.0);
        assert!(!output.status.success(), "the limit stops it");
        let said = said(&output);
        assert!(
            said["hog"] == 1.0 && said["hog_mib"] > 50.0 && said["hog_mib"] < 200.0,
            "{bytes}: {said:?}"
        );
    }
}

#[test]
fn probes_time_how_a_machine_responds() {
    let exec = work(&["exec", GUEST, "20"], 400.0);
    assert!(
        exec["op exec"] >= 3.0 && !exec.contains_key("exec_failed"),
        "{exec:?}"
    );
    let beat = work(&["beat", "10"], 400.0);
    assert!(beat["op beat_late"] >= 5.0, "{beat:?}");
}

#[test]
fn forks_come_in_waves() {
    let forks = work(&["forks", "4", "1"], 300.0);
    assert!(
        forks["forks"] >= 4.0 && forks["op wave"] >= 1.0,
        "{forks:?}"
    );
}

#[test]
fn lookups_find_what_was_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    work(&["fill-database", path, "2000", "500"], 60_000.0);
    let index = fs::metadata(directory.path().join("index.db"))
        .unwrap()
        .len();
    let data = fs::metadata(directory.path().join("data.db"))
        .unwrap()
        .len();
    assert!(data > 5 * index, "{data} {index}");
    let found = work(&["lookup", path], 300.0);
    assert!(
        found["lookups"] >= 32.0 && found["op index"] == found["op lookup"],
        "{found:?}"
    );
    assert!(found["index_resident_pages"] > 0.0);
}

#[test]
fn wrong_arguments_are_refused_with_the_reason() {
    for (words, why) in [
        (vec!["nap"], "no work 'nap'"),
        (vec!["touch", "many"], "'many' is not a number"),
        (vec!["read"], "cannot read 0"),
    ] {
        let output = output(Command::new(GUEST).arg("work").args(&words).arg("0"), 100.0);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && error.contains(why),
            "{words:?}: {error}"
        );
    }
}

#[test]
fn a_user_prints_notices_and_answers_until_the_guard_ends() {
    use std::io::{BufRead, BufReader, Write};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notice.sock");
    let guard = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let user = std::thread::spawn(move || {
        Command::new(GUEST)
            .args(["work", "user"])
            .arg(&path)
            .args(["keep", "0"])
            .output()
            .unwrap()
    });
    let asks = std::thread::spawn(move || {
        let (mut client, _) = guard.accept().unwrap();
        client
            .write_all(
                b"{\"tell\":\"warn\",\"room\":1}\n{\"tell\":\"ask\",\"id\":9,\"unit\":\"x\"}\n",
            )
            .unwrap();
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).unwrap();
        line
    });
    assert_eq!(asks.join().unwrap(), "{\"id\":9,\"answer\":\"keep\"}\n");
    let heard = String::from_utf8(user.join().unwrap().stdout).unwrap();
    assert_eq!(heard.lines().count(), 2, "{heard}");
}
