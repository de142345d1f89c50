//! `[squeeze]`: what a unit in the background does not use is taken before anybody needs it, in a machine with control groups
//! of version 2, beside the same machine without it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Machine, hardware, store};
use std::collections::BTreeSet;
use units::Bytes;
use warmset_vmlab::image::{self, Programs};
use warmset_vmlab::kernel;
use warmset_vmlab::vm::disk::{self, Drive, Filled, Throttle};
use warmset_vmlab::vm::guest_program;

/// What the unit maps, of which 64 MiB are used once a second and the rest once.
const PART: Bytes = Bytes::mib(160);
/// A disk with 200 µs for each operation.
const DISK: Throttle = Throttle {
    bytes: Bytes::mib(200),
    operations: 5000,
};
/// The unit, at work, and the guard. Ten minutes later it is told what became of the unit and of the machine.
const SCRIPT: &str = r#"
unit=/sys/fs/cgroup/system.slice/batch.service
mkdir -p $unit /etc/warmset
echo +memory >/sys/fs/cgroup/system.slice/cgroup.subtree_control
export WARMSET_UNTIL=1e9
(echo 0 >$unit/cgroup.procs; exec /lab/guest work part /data/part 64 0) >/dev/null 2>&1 &
sleep 20
printf 'mode = "tune"\n[squeeze]\nunits = [%s]\n' "$UNITS" >/etc/warmset/warmset.toml
/lab/warmsetd --config /etc/warmset/warmset.toml -v >/tmp/log 2>&1 &
guard=$!
sleep 600
refaults() { sed -n 's/^workingset_refault_file //p' $unit/memory.stat; }
full() { sed -n 's/^full.*total=//p' $unit/memory.pressure; }
free() { sed -n 's/^MemFree: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
echo "$(cat $unit/memory.current) $(refaults) $(full) $(free)"
kill -9 $guard
sleep 1
cat $unit/memory.high $unit/memory.max $unit/memory.low | tr '\n' ' '
grep -c 'take .* that batch.service does not use' /tmp/log || true
"#;

/// What became of the unit.
#[derive(Debug)]
struct Outcome {
    size: f64,
    /// Pages.
    refaulted: f64,
    /// Microseconds.
    waited: f64,
    /// KiB.
    free: f64,
    limits: String,
}

fn run(units: &str) -> Outcome {
    let store = store();
    let kernel = kernel::find(&store, "6.12").unwrap();
    let guest = guest_program().unwrap();
    let daemon = guest.with_file_name("warmsetd");
    let programs = Programs::with_daemon(guest, daemon).unwrap();
    let root = image::root(&store, &programs, &BTreeSet::new()).unwrap();
    let mut hardware = hardware(&store, &kernel, root);
    let part = Filled {
        name: "part".to_owned(),
        size: PART,
    };
    let data = disk::with_files(&store, &[part], Bytes::mib(8)).unwrap();
    hardware.drives.push(Drive::new(data, Some(DISK)));
    let mut machine = Machine::boot(&store, &kernel, &hardware);
    let said = machine.sh(&format!("UNITS='{units}'\n{SCRIPT}"));
    let (numbers, limits) = said.split_once('\n').unwrap();
    let numbers: Vec<f64> = numbers
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let &[size, refaulted, waited, free] = numbers.as_slice() else {
        panic!("{said}")
    };
    Outcome {
        size: size / f64::from(1 << 20),
        refaulted,
        waited,
        free,
        limits: limits.to_owned(),
    }
}

#[test]
#[ignore = "boots a machine: make vm"]
fn what_a_named_unit_does_not_use_becomes_free_and_it_does_not_wait() {
    let with = run("\"batch.service\"");
    let without = run("");
    println!("with {with:?}\nwithout {without:?}");
    assert!(without.size > 150.0, "{without:?}");
    assert!(with.size > 60.0 && with.size < 80.0, "{with:?}");
    let freed = with.free - without.free;
    assert!(freed > 70.0 * 1024.0, "{freed} KiB: {with:?} {without:?}");
    // Less came back than was gained.
    let read_again = with.refaulted / 256.0;
    assert!(read_again < freed / 1024.0, "{with:?} {without:?}");
    // 1 % of ten minutes.
    assert!(with.waited - without.waited < 6e6, "{with:?} {without:?}");
    // It sets no limit, also when it is killed; the last word counts the messages.
    assert!(with.limits.starts_with("max max 0 "), "{with:?}");
    assert!(with.limits.ends_with(" 1"), "{with:?}");
    assert!(without.limits.ends_with(" 0"), "{without:?}");
}
