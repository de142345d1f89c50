//! Files that are missing, cut, binary, huge or not files; nodes that come and go. Each is a `None` and an error
//! that names the file, and everything else is still read.

use host::SystemReader;
use pressure::Sample;
use pressure::sample::Zone;
use std::fs;
use testsupport::recorded_machine::{copy, machine};

fn read(reader: &mut SystemReader) -> Sample {
    let mut sample = Sample::default();
    reader.read(&mut sample);
    sample
}

#[test]
fn a_blind_guard_refuses_to_start_and_names_what_it_cannot_see() {
    for file in ["proc/vmstat", "proc/meminfo", "proc/zoneinfo"] {
        let dir = machine();
        fs::remove_file(dir.path().join(file)).expect("removed");
        let error = SystemReader::open(dir.path()).expect_err(file).to_string();
        assert!(error.contains(file), "{error}");
        assert_eq!(error.matches("no such file").count(), 1, "{error}");
        assert!(error.contains("gVisor and WSL 1"), "{error}");
    }
}

#[test]
fn a_bad_file_is_unknown_and_named_and_the_rest_is_read() {
    let noise: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let bad = [
        Vec::new(),
        b"MemTotal:  99".to_vec(),
        noise,
        vec![b'7'; 10 << 20],
    ];
    for file in [
        "proc/meminfo",
        "proc/buddyinfo",
        "proc/swaps",
        "proc/pressure/memory",
        "proc/zoneinfo",
    ] {
        for content in &bad {
            let dir = machine();
            let mut reader = SystemReader::open(dir.path()).expect("a machine");
            fs::write(dir.path().join(file), content).expect("written");
            let sample = read(&mut reader);
            assert!(sample.counters.nr_free_pages.is_some(), "{file}");
            let error = reader.warnings().any(|error| error.path.ends_with(file));
            let silent = content.is_empty() || content.len() == 13;
            assert!(
                error || silent || file == "proc/swaps",
                "{file} of {} bytes",
                content.len()
            );
        }
    }
}

#[test]
fn a_folder_in_place_of_a_file_is_unreadable() {
    let dir = machine();
    fs::remove_file(dir.path().join("proc/swaps")).expect("removed");
    fs::create_dir(dir.path().join("proc/swaps")).expect("made");
    let mut reader = SystemReader::open(dir.path()).expect("a machine");
    read(&mut reader);
    let warnings: Vec<String> = reader.warnings().map(ToString::to_string).collect();
    assert!(
        warnings
            .iter()
            .any(|error| error.contains("proc/swaps: cannot read")),
        "{warnings:?}"
    );
}

#[test]
fn a_node_that_vanishes_takes_its_zones_with_it() {
    let dir = machine();
    let nodes = dir.path().join("sys/devices/system/node");
    copy(&nodes.join("node0"), &nodes.join("node1"));
    let zoneinfo = dir.path().join("proc/zoneinfo");
    let one = fs::read_to_string(&zoneinfo).expect("read");
    fs::write(
        &zoneinfo,
        format!("{one}{}", one.replace("Node 0", "Node 1")),
    )
    .expect("written");
    let mut reader = SystemReader::open(dir.path()).expect("a machine");
    let both = read(&mut reader);
    assert_eq!(
        both.nodes.iter().map(|node| node.id).collect::<Vec<_>>(),
        [0, 1]
    );
    let (first, second): (Vec<&Zone>, Vec<&Zone>) =
        both.zones.iter().partition(|zone| zone.node == 0);
    assert_eq!(first.len(), second.len());
    assert!(
        first
            .iter()
            .zip(&second)
            .all(|(a, b)| a.amounts == b.amounts),
        "each node has its own zones"
    );
    fs::remove_dir_all(nodes.join("node1")).expect("removed");
    fs::write(&zoneinfo, one).expect("written");
    read(&mut reader);
    let left = read(&mut reader);
    assert_eq!(left.nodes.len(), 1);
    assert_eq!(left.zones.len(), first.len());
}
