//! The installed package beside a storm for hours, in each mode; and what else happens to a machine that runs for long.
//!
//! `make soak HOURS=24` runs the storms, four machines side by side, and writes what it reads every five minutes to
//! `target/soak/MODE.tsv`. `packaging/tests/machines.sh soak:disturb` runs the rest, in minutes.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Machine, hardware, package, store};
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use units::Bytes;
use warmset_vmlab::vm::guest_program;
use warmset_vmlab::{image, kernel};

/// Unless the environment says MODES.
const MODES: &str = "observe tune guard protect";
/// A machine on a busy host, in a storm, may answer late.
const PATIENCE: Duration = Duration::from_secs(600);
/// Memory that a guard may grow by from the second quarter to the last, in KiB: its allocator keeps what it once needed.
const GROWTH_KIB: u64 = 256;
/// Descriptors that it may have more: a client that is being answered.
const MORE_FILES: u64 = 8;
/// What `recording.size` allows, as packaged, and the file that is being written, in KiB.
const RECORDINGS_KIB: u64 = (64 + 8) << 10;
/// Lines that it may log a minute: a storm each minute is told with what was done.
const LINES: u64 = 60;

/// A machine with the installed package.
fn machine(memory: Bytes, cpus: u32) -> Machine {
    let store = store();
    let root = image::debian(&store, &guest_program().unwrap(), &package()).unwrap();
    let kernel = kernel::find(&store, "6.12").unwrap();
    let mut hardware = hardware(&store, &kernel, root);
    hardware.cpus = cpus;
    hardware.memory = memory;
    hardware.append.push_str("warmset.init=/sbin/init");
    Machine::boot(&store, &kernel, &hardware)
}

/// Defines `within SECONDS COMMAND...`, `main_pid`, and `holder`.
const TOOLS: &str = r#"
within() {
    end=$(($(cut -d. -f1 /proc/uptime) + $1))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$(cut -d. -f1 /proc/uptime)" -lt "$end" ] || { echo "not within: $*"; journalctl -b --no-pager -u warmsetd | tail -n 30; exit 1; }
        sleep 0.2
    done
}
main_pid() { systemctl show -P MainPID warmsetd; }
holder() { for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = warmset-hold ] && echo "${p#/proc/}"; done | head -n 1; }
kib() { sed -n "s/^$2:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$1/status; }
ticks() { sed 's/.*) //' /proc/$1/stat | { read -r a b c d e f g h i j k user system rest; echo $((user + system)); }; }
"#;

/// A hot file that is read all the time, and every ten minutes a program that takes all memory, for half a minute at most. A kill by
/// the kernel does not end the unit, as systemd would have it: the next storm comes.
const STORM: &str = r"
head -c 40M /dev/urandom >/var/tmp/hot
systemd-run --quiet --unit=reader sh -c 'while :; do cat /var/tmp/hot >/dev/null; sleep 20; done'
systemd-run --quiet --unit=storms -p OOMPolicy=continue sh -c 'while :; do timeout -s KILL 30 tail /dev/zero; sleep 570; done'
";

/// One line: seconds; memory, of it anonymous, descriptors and processor time of the guard; anonymous memory of its holder;
/// recordings, lines that were logged, restarts.
const READING: &str = r#"
pid=$(main_pid)
hold=$(holder)
echo "$(cut -d. -f1 /proc/uptime) $(kib $pid VmRSS) $(kib $pid RssAnon) $(ls /proc/$pid/fd | wc -l) $(ticks $pid) $([ -z "$hold" ] && echo 0 || kib $hold RssAnon) $(du -sk /var/lib/warmset | cut -f1) $(journalctl -b -q -o cat -u warmsetd | wc -l) $(systemctl show -P NRestarts warmsetd)"
"#;
const COLUMNS: &str = "second\trss_kib\tanon_kib\tfiles\tticks\tholder_anon_kib\trecordings_kib\tlog_lines\trestarts\n";

/// What was read at one time, in the order of [`COLUMNS`].
type Reading = [u64; 9];

/// Storms in a machine for these hours of its own clock. It reads itself every five minutes, so that a busy host
/// changes nothing, and reading costs less than what is read.
fn readings(mode: &str, hours: f64, into: &PathBuf) -> Vec<Reading> {
    let mut machine = machine(Bytes::mib(512), 1);
    machine.sh(&format!(
        "{TOOLS}within 60 systemctl is-active warmsetd; warmset mode {mode} >/dev/null; {STORM}"
    ));
    let times = (hours * 12.0).ceil();
    let script = format!(
        "{TOOLS}i=0; while [ $i -lt {times} ]; do sleep 300; i=$((i + 1)); {READING}\ndone"
    );
    let mut readings = Vec::new();
    let mut text = COLUMNS.to_owned();
    // A machine that is busy all the time takes as long as its hours on a processor that is shared by two of them.
    let patience = Duration::from_secs_f64(hours * 3600.0 * 2.0) + PATIENCE;
    let status = machine.vm().script(&script, patience, |line| {
        let words: Vec<u64> = line
            .split_whitespace()
            .map(|word| word.parse().unwrap_or_else(|_| panic!("{mode}: {line}")))
            .collect();
        text.push_str(&line.split_whitespace().collect::<Vec<_>>().join("\t"));
        text.push('\n');
        fs::write(into, &text).unwrap();
        readings.push(
            words
                .try_into()
                .unwrap_or_else(|_| panic!("{mode}: {line}")),
        );
    });
    assert_eq!(status, Ok(0), "{mode}: {}", machine.vm().console());
    let last = machine.sh("journalctl -b -q -o cat -u warmsetd -p err; journalctl -b -q -k | grep -c 'Out of memory'; true");
    println!("{mode}: errors, and kills by the kernel: {last}");
    let storms = machine.sh("systemctl is-active storms; true");
    assert_eq!(storms, "active", "{mode}: there were storms to the end");
    readings
}

/// The largest of a column in these readings.
fn most(readings: &[Reading], column: usize) -> u64 {
    readings
        .iter()
        .map(|reading| reading[column])
        .max()
        .unwrap()
}

/// The smallest.
fn least(readings: &[Reading], column: usize) -> u64 {
    let values = readings.iter().map(|reading| reading[column]);
    values.min().unwrap()
}

fn is_flat(mode: &str, readings: &[Reading]) {
    assert!(readings.len() >= 8, "{mode}: {} readings", readings.len());
    let quarter = readings.len() / 4;
    // Of each quarter what is least: in a storm candidates are watched, which takes descriptors, and files are held.
    let early = &readings[quarter..2 * quarter];
    let late = &readings[3 * quarter..];
    // Of anonymous memory: pages of the program itself come in when its code first runs.
    for (column, what) in [(2, "its memory"), (5, "its holder's memory")] {
        let before = least(early, column);
        let after = least(late, column);
        assert!(
            after <= before + GROWTH_KIB,
            "{mode}: {what} grew from {before} to {after} KiB"
        );
    }
    let before = least(early, 3);
    let after = least(late, 3);
    assert!(
        after <= before + MORE_FILES,
        "{mode}: {before} descriptors became {after}"
    );
    let recordings = most(readings, 6);
    assert!(
        recordings <= RECORDINGS_KIB,
        "{mode}: {recordings} KiB of recordings"
    );
    let last = readings.last().unwrap();
    let minutes = (last[0] - readings[0][0]) / 60;
    let lines = last[7] - readings[0][7];
    assert!(
        lines <= LINES * minutes,
        "{mode}: {lines} lines in {minutes} minutes"
    );
    assert_eq!(last[8], 0, "{mode}: restarts");
    let ticks = last[4] - readings[0][4];
    println!(
        "{mode}: {minutes} min; memory {} to {} KiB, descriptors {} to {}, processor {:.2} %, recordings {recordings} KiB, {lines} lines",
        readings[0][1],
        last[1],
        readings[0][3],
        last[3],
        ticks as f64 / (last[0] - readings[0][0]) as f64
    );
}

#[test]
#[ignore = "takes hours: make soak"]
fn beside_storms_it_stays_as_large_as_it_was() {
    let hours: f64 = std::env::var("HOURS").map_or(8.0, |hours| hours.parse().unwrap());
    let directory = guest_program()
        .unwrap()
        .parent()
        .unwrap()
        .with_file_name("soak");
    fs::create_dir_all(&directory).unwrap();
    let modes = std::env::var("MODES").unwrap_or_else(|_| MODES.to_owned());
    let mut runs = Vec::new();
    for mode in modes.split_whitespace() {
        let mode = mode.to_owned();
        let into = directory.join(format!("{mode}.tsv"));
        runs.push(thread::spawn(move || {
            (mode.clone(), readings(&mode, hours, &into))
        }));
    }
    for run in runs {
        let (mode, readings) = run.join().unwrap();
        is_flat(&mode, &readings);
    }
}

/// Its status tells of a sample that is at most this old.
const GOES_ON: &str = r#"
same() { [ "$(main_pid)" = "$(cat /run/guard)" ] || { echo "another guard"; journalctl -b --no-pager -u warmsetd | tail -n 30; exit 1; }; }
samples() { warmset --json status | grep -o '"samples": *[0-9]*' | head -n 1 | grep -o '[0-9]*$'; }
goes_on() {
    same
    before=$(samples)
    more() { [ "$(samples)" -gt "$before" ]; }
    within 60 more
    same
}
"#;

/// A machine whose guard has taken its first samples, and which runs scripts that may use `goes_on`.
struct Disturbed(Machine);

impl Disturbed {
    fn boot(memory: Bytes) -> Self {
        let mut disturbed = Self(machine(memory, 2));
        disturbed.sh("within 60 systemctl is-active warmsetd; main_pid >/run/guard; goes_on");
        disturbed
    }

    fn sh(&mut self, script: &str) -> String {
        let script = format!("{TOOLS}{GOES_ON}{script}");
        let (status, said) = self
            .0
            .try_sh(&script, PATIENCE)
            .unwrap_or_else(|silence| panic!("{silence}: {}", self.0.vm().console()));
        assert_eq!(status, 0, "{script}: {said}");
        said
    }

    /// It was never started again, and did not panic.
    fn was_not_disturbed(mut self) {
        let told = self.sh("systemctl show -P NRestarts warmsetd; journalctl -b -q -u warmsetd | grep -c -i panick; true");
        assert_eq!(told, "0\n0");
    }
}

#[test]
#[ignore = "boots a machine: make vm"]
fn clocks_processors_and_memory_that_change_do_not_disturb_it() {
    let mut machine = Disturbed::boot(Bytes::mib(512));

    // The wall clock steps, as it does without a battery or by NTP.
    for step in ["+1 hour", "-2 days", "+10 years", "@0"] {
        machine.sh(&format!("date -s '{step}' >/dev/null; goes_on"));
    }
    machine.sh("date -s '2026-11-01' >/dev/null; goes_on; warmset why >/dev/null");

    // A processor goes and comes back.
    machine.sh(
        "echo 0 >/sys/devices/system/cpu/cpu1/online; goes_on; echo 1 >/sys/devices/system/cpu/cpu1/online; goes_on",
    );

    // Memory goes and comes back, as much of it as the kernel lets go.
    let gone = machine.sh(
        "gone=''; for m in /sys/devices/system/memory/memory*; do echo offline >$m/state 2>/dev/null && gone=\"$gone $m\"; [ $(echo $gone | wc -w) -lt 2 ] || break; done
         goes_on; for m in $gone; do echo online >$m/state; done; goes_on; echo $gone | wc -w",
    );
    println!("blocks of memory that went and came back: {gone}");
    machine.was_not_disturbed();
}

#[test]
#[ignore = "boots a machine: make vm"]
fn ten_thousand_units_that_come_and_go_do_not_disturb_it() {
    // Each of them takes some 50 KiB of the kernel's memory.
    let mut machine = Disturbed::boot(Bytes::mib(2048));
    machine.sh(
        "cd /sys/fs/cgroup/system.slice; i=0; while [ $i -lt 10000 ]; do echo many-$i.service; i=$((i + 1)); done | xargs mkdir; goes_on; warmset top --once >/dev/null; goes_on",
    );
    machine.sh("cd /sys/fs/cgroup/system.slice; echo many-*.service | xargs rmdir; goes_on");
    machine.sh(
        "end=$(($(cut -d. -f1 /proc/uptime) + 20)); cd /sys/fs/cgroup/system.slice; while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do mkdir a.service b.service c.service; rmdir a.service b.service c.service; done; goes_on",
    );
    machine.was_not_disturbed();
}
