//! The daemon runs as root and locked in memory, so each crate in it is chosen: this is the list.
//!
//! A crate that comes or goes changes the list, so that a reviewer sees it. Accept a change with `UPDATE_EXPECT=1 cargo test -p warmset-daemon --test dependencies`.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates linked into the daemon on this platform, without their versions.
///
/// Asks cargo, which reads `Cargo.lock` and needs no network.
fn linked() -> String {
    let cargo = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package=warmset-daemon",
            "--edges=normal,no-proc-macro",
            "--prefix=none",
            "--format={p}",
            "--locked",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        cargo.status.success(),
        "cargo tree: {}",
        String::from_utf8_lossy(&cargo.stderr)
    );
    let tree = String::from_utf8(cargo.stdout).expect("names are text");
    let names: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    names.into_iter().flat_map(|name| [name, "\n"]).collect()
}

#[test]
fn the_daemon_links_these_crates_and_no_other() {
    expect_test::expect_file!["dependencies.expected"].assert_eq(&linked());
}
