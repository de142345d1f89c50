//! The unit lets the daemon write to every knob it knows, and to nothing else in the kernel.

use pressure::knob::KNOBS;
use std::collections::BTreeSet;

const UNIT: &str = include_str!("../../../packaging/systemd/warmsetd.service");

/// The values of every line `key=…`, split at spaces, without the "-" for files that may be absent.
fn values(key: &str) -> BTreeSet<String> {
    let lines = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_start_matches('-').to_owned())
        .collect()
}

#[test]
fn writable_paths_are_the_table_of_knobs() {
    let mut expected: BTreeSet<String> =
        KNOBS.iter().map(|spec| format!("/{}", spec.path)).collect();
    expected.extend(["/sys/devices/system/node", "/sys/fs/cgroup"].map(str::to_owned));
    assert_eq!(values("ReadWritePaths"), expected);
}

#[test]
fn all_other_kernel_files_are_read_only() {
    assert_eq!(
        values("ReadOnlyPaths"),
        BTreeSet::from(["/proc/sys".to_owned(), "/sys".to_owned()])
    );
}
