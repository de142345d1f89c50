//! A copy of a recorded machine, for tests that change it.

use std::fs;
use std::path::Path;

/// Copies a directory with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).expect("read")).expect("written");
        }
    }
}

/// A machine that is gone with its directory.
pub(crate) fn machine() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/firecracker-6.18-hybrid-cgroup"),
        dir.path(),
    );
    dir
}
