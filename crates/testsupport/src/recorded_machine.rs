//! A copy of a recorded machine, for tests that change it.

use std::fs;
use std::path::{Path, PathBuf};

/// Copies a directory with everything in it.
pub fn copy(from: &Path, to: &Path) {
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

/// The recorded machine that is copied.
pub fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/firecracker-6.18-hybrid-cgroup")
}

/// A machine that is gone with its directory.
pub fn machine() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    copy(&fixture(), dir.path());
    dir
}
