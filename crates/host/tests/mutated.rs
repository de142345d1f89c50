//! Inputs that are nearly right, for the undo log and for what the guard and its holder say to each other.

use host::holder::{check, wire};
use host::{Places, restore};
use pressure::protect::{Act, FileId, Ranges, Warm};
use std::fs;
use testsupport::{mutated, recorded_machine};
use units::Bytes;

#[test]
fn mutated_undo_logs_are_survived_and_write_nowhere_else() {
    let dir = recorded_machine::machine();
    let places = Places::at(dir.path());
    fs::create_dir_all(&places.run).expect("made");
    let boot = fs::read_to_string(places.root.join("proc/sys/kernel/random/boot_id"));
    let boot = boot.expect("a boot ID");
    let log = format!(
        "warmset-undo 1 {}\nproc/sys/vm/watermark_scale_factor\t10\t300\t10\nproc/sys/vm/swappiness\t60\t1\t60\n",
        boot.trim()
    );
    let overcommit = places.root.join("proc/sys/vm/overcommit_memory");
    fs::write(&overcommit, "0\n").expect("written");
    let other = b"warmset-undo 1 x\nproc/sys/vm/overcommit_memory\t2\t0\t0\nsys/fs/cgroup/a/memory.high\t1\t2\t3\t4\n";
    mutated::each(&[log.as_bytes(), other], |text| {
        fs::write(places.run.join("undo"), text).expect("written");
        let _ = restore(&places);
        assert_eq!(fs::read(&overcommit).expect("there"), b"0\n");
    });
}

#[test]
fn mutated_messages_of_the_holder_are_survived() {
    let file = FileId {
        device: 0xfe01,
        inode: 12,
    };
    let hold = wire::order(&Act::Hold {
        file,
        ranges: Ranges {
            shift: 9,
            segments: 0xff0,
        },
        amount: Bytes::ZERO,
    });
    let programs = wire::programs(&["/usr/bin/sshd".to_owned()]);
    let mut report = Vec::new();
    wire::report(&Warm::default(), &mut report);
    let mut name = Vec::new();
    wire::name(file, "usr/lib/libc.so.6", &mut name);
    let mut error = Vec::new();
    wire::error("no tracefs", &mut error);
    let mut warm = Warm::default();
    mutated::each(&[&hold, &programs, &report, &name, &error], |message| {
        let _ = wire::act(message);
        let _ = wire::programs_in(message);
        let _ = wire::tale(message, &mut warm);
        let _ = check::parse(&String::from_utf8_lossy(message));
    });
}
