//! `warmset size` on programs with a working set that is known, in a machine with control groups of version 2.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Machine, hardware, store};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use units::Bytes;
use warmset_vmlab::image::{self, Programs};
use warmset_vmlab::kernel;
use warmset_vmlab::vm::disk::{self, Drive, Filled, Throttle};
use warmset_vmlab::vm::guest_program;

/// What is used once a second, of what was used once.
const HOT: Bytes = Bytes::mib(64);
const COLD: Bytes = Bytes::mib(96);
/// A disk with 200 µs for each operation: slower than what is assumed of one that has read little.
const DISK: Throttle = Throttle {
    bytes: Bytes::mib(200),
    operations: 5000,
};
/// Makes a unit, and defines `inside COMMAND`, which runs it there.
const PRELUDE: &str = r#"
unit=system.slice/known.service
mkdir -p /sys/fs/cgroup/$unit
echo +memory >/sys/fs/cgroup/system.slice/cgroup.subtree_control
inside() { (echo 0 >/sys/fs/cgroup/$unit/cgroup.procs; exec "$@") >/dev/null 2>&1 & }
"#;

/// A machine with `warmset-tools`, and a disk at /data with the files `hot` and `cold`, and `part`, which is as large as both.
fn machine() -> Machine {
    let store = store();
    let kernel = kernel::find(&store, "6.12").unwrap();
    let mut programs = Programs::alone(guest_program().unwrap());
    programs.others = vec![tools()];
    let root = image::root(&store, &programs, &BTreeSet::new()).unwrap();
    let mut hardware = hardware(&store, &kernel, root);
    let file = |name: &str, size| Filled {
        name: name.to_owned(),
        size,
    };
    let files = [
        file("hot", HOT),
        file("cold", COLD),
        file("part", HOT + COLD),
    ];
    let data = disk::with_files(&store, &files, Bytes::mib(8)).unwrap();
    hardware.drives.push(Drive::new(data, Some(DISK)));
    Machine::boot(&store, &kernel, &hardware)
}

/// `warmset-tools`, as `make build` makes it.
fn tools() -> PathBuf {
    let path = guest_program().unwrap().with_file_name("warmset-tools");
    assert!(path.exists(), "{}: make build", path.display());
    path
}

/// What was found about the unit while this script runs in it.
fn sized(machine: &mut Machine, script: &str, options: &str) -> Value {
    let said = machine.sh(&format!(
        "{PRELUDE}{script}\nsleep 20\n/lab/warmset-tools size known --json {options}\n"
    ));
    serde_json::from_str(&said).unwrap()
}

fn mib(found: &Value) -> f64 {
    found.as_f64().unwrap() / f64::from(1 << 20)
}

/// Nearer than a tenth to the truth, of which the unit's own pages, page tables and records of the kernel are no part.
fn assert_near(found: &Value) {
    let truth = HOT.get() as f64 / f64::from(1 << 20);
    let set = &found["working_set"];
    assert!((mib(&set["p50"]) - truth).abs() < truth / 10.0, "{found:#}");
    assert!(mib(&set["lower"]) < truth * 1.1, "{found:#}");
    assert!(mib(&set["upper"]) > truth * 0.9, "{found:#}");
    assert_eq!(found["ended"], "time");
}

#[test]
#[ignore = "boots a machine: make vm"]
fn a_file_of_which_a_part_is_in_use_is_sized() {
    let mut machine = machine();
    let part = "export WARMSET_UNTIL=1e9\ninside /lab/guest work part /data/part 64 0";
    let found = sized(&mut machine, part, "--for 10min");
    println!("{found:#}");
    assert_near(&found);
    // wss and accessed bits see mapped memory, and so the truth, too.
    assert!(
        (mib(&found["accessed"]["used"]) - 64.0).abs() < 4.0,
        "{found:#}"
    );
    // Nothing is set, and the program goes on.
    let limits = machine.sh(
        "cd /sys/fs/cgroup/system.slice/known.service; cat memory.high memory.max memory.low cgroup.procs",
    );
    let lines: Vec<&str> = limits.lines().collect();
    assert_eq!(
        (&lines[..3], lines.len()),
        (&["max", "max", "0"][..], 4),
        "{limits}"
    );
}

#[test]
#[ignore = "boots a machine: make vm"]
fn files_that_are_only_read_are_sized_where_accessed_bits_see_nothing() {
    let mut machine = machine();
    let reads = "inside sh -c 'cat /data/cold; while :; do cat /data/hot; sleep 1; done'";
    let found = sized(&mut machine, reads, "--for 10min");
    println!("{found:#}");
    assert_near(&found);
    assert!(mib(&found["accessed"]["used"]) < 8.0, "{found:#}");
}
