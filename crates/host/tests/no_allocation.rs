//! A steady tick allocates nothing and opens nothing, on the machine that runs the test.
#![allow(clippy::unwrap_used, reason = "a test may")]

use host::SystemReader;
use pressure::Sample;
use std::path::Path;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// One test, because the count is of the whole process.
#[test]
fn a_steady_tick_allocates_and_opens_nothing() {
    let mut reader = SystemReader::open(Path::new("/")).unwrap();
    let mut sample = Sample::default();
    for _ in 0..10 {
        reader.read(&mut sample);
    }
    let open = descriptors();
    let taken = allocation_counter::measure(|| (0..1000).for_each(|_| reader.read(&mut sample)));
    assert_eq!(taken.count_total, 0, "allocations in 1000 ticks");
    for _ in 0..9000 {
        reader.read(&mut sample);
    }
    assert_eq!(descriptors(), open, "descriptors after 10 000 ticks");
    assert_eq!(
        reader
            .warnings()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [""; 0]
    );
}
