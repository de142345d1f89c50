//! What we read agrees with the `procfs` crate on this machine's own files.

use host::SystemReader;
use pressure::Sample;
use procfs::Current;
use std::path::Path;
use units::Bytes;

fn sample() -> Sample {
    let mut sample = Sample::default();
    SystemReader::open(Path::new("/"))
        .expect("a machine")
        .read(&mut sample);
    sample
}

#[test]
fn meminfo_agrees() {
    let ours = sample().memory;
    let theirs = procfs::Meminfo::current().expect("meminfo");
    assert_eq!(ours.total, Some(Bytes::new(theirs.mem_total)));
    assert_eq!(ours.swap_total, Some(Bytes::new(theirs.swap_total)));
    assert_eq!(ours.percpu, theirs.per_cpu.map(Bytes::new));
    // These move between the two readings.
    let near = |ours: Option<Bytes>, theirs: u64| {
        let ours = ours.expect("known");
        let theirs = Bytes::new(theirs);
        assert!(
            ours.less(theirs) + theirs.less(ours) < Bytes::mib(512),
            "{ours} and {theirs}"
        );
    };
    near(ours.free, theirs.mem_free);
    near(ours.available, theirs.mem_available.expect("known"));
    near(ours.cached, theirs.cached);
    near(ours.slab_unreclaimable, theirs.s_unreclaim.expect("known"));
}

#[test]
fn vmstat_lies_between_two_readings_of_theirs() {
    let before = procfs::vmstat().expect("vmstat");
    let ours = sample().counters;
    let after = procfs::vmstat().expect("vmstat");
    for (name, ours) in [
        ("pgfault", ours.pgfault),
        ("pgfree", ours.pgfree),
        ("pgpgin", ours.pgpgin),
        ("pgsteal_kswapd", ours.pgsteal_kswapd),
        ("compact_stall", ours.compact_stall),
        ("oom_kill", ours.oom_kill),
        ("workingset_refault_file", ours.workingset_refault_file),
    ] {
        let bound = |all: &std::collections::HashMap<String, i64>| all[name].unsigned_abs();
        let ours = ours.expect(name);
        assert!(
            (bound(&before)..=bound(&after)).contains(&ours),
            "{name}: {ours}"
        );
    }
}

#[test]
fn pressure_agrees() {
    let ours = sample().memory_pressure;
    if let Ok(theirs) = procfs::MemoryPressure::current() {
        for (ours, theirs) in [
            (ours.some_total, theirs.some.total),
            (ours.full_total, theirs.full.total),
        ] {
            let ours = ours.expect("known").get();
            assert!(theirs.abs_diff(ours) < 1_000_000, "{ours} and {theirs}");
        }
    }
}
