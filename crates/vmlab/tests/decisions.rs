//! Cases that users reported, played in machines with systemd beside the packaged guard.
//!
//! `make decisions` plays more of them, and beside the other guards.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// The situations that stand for the cases.
const CASES: [&str; 7] = [
    // A program fills a memfd, which is no memory of its own in its size, beside an innocent one.
    "memfd-hog",
    // Sixty small programs grow in one session, and none stands out.
    "family-sixty-small",
    // Three programs thrash, nobody grows, and swap is free.
    "thrash-swap-free",
    // A build in a terminal's scope, beside the user's editor and shell.
    "terminal-build-editor",
    // A parallel build in a session of ssh.
    "family-build-ssh",
    // The compositor's file is .NAME-wrapped.
    "compositor-behind-a-wrapper",
    // Files of a tmpfs fill memory.
    "tmpfs-writer",
];

#[test]
#[ignore = "boots machines: make vm"]
fn every_case_is_decided_right_in_a_machine() {
    let directory = tempfile::tempdir().unwrap();
    let lines = directory.path().join("lines");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let done = Command::new(env!("CARGO_BIN_EXE_warmset-lab"))
        .current_dir(root)
        .args(["decisions", "--arms", "warmset", "--jobs", "1", "--only"])
        .arg(CASES.join(","))
        .arg("--json")
        .arg(&lines)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    for case in CASES {
        assert!(said.contains(&format!("| {case} | right |")), "{said}");
    }
}
