//! A hook as it runs: what it is given, and what it is not.
#![allow(clippy::unwrap_used, reason = "a test may")]

use host::hook::{Ended, Hook};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const LAUNCHER: &str = env!("CARGO_BIN_EXE_warmset-hold");
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a script that writes to `told` beside it; how it ended, and what it wrote.
fn run(directory: &Path, text: &str, variables: &[(&str, String)]) -> (Ended, String) {
    let told = directory.join("told");
    let path = directory.join("hook");
    fs::write(
        &path,
        format!("#!/bin/sh\nexec >{}\n{text}\n", told.display()),
    )
    .unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    let hook = Hook::open(directory, "/hook").unwrap();
    let ended = hook.run(Path::new(LAUNCHER), variables, PATIENCE).unwrap();
    (ended, fs::read_to_string(told).unwrap_or_default())
}

fn is_success(ended: Ended) -> bool {
    matches!(ended, Ended::Itself(status) if status.success())
}

#[test]
fn its_environment_is_what_it_was_given_and_no_shell_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let hostile = "$(touch /x); `id` \"'\n".to_owned();
    let (ended, told) = run(
        dir.path(),
        "env -0; echo \"$0 $#\"; pwd",
        &[("WARMSET_NAME", hostile.clone())],
    );
    assert!(is_success(ended), "{ended:?} {told}");
    let mut parts: Vec<&str> = told.split('\0').collect();
    let last = parts.pop().unwrap();
    // A shell sets some of its own.
    parts.retain(|part| {
        !["PWD=", "OLDPWD=", "_=", "SHLVL="]
            .iter()
            .any(|own| part.starts_with(own))
    });
    parts.sort_unstable();
    let expected = format!("WARMSET_NAME={hostile}");
    assert_eq!(parts, ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", &expected]);
    assert!(last.ends_with(" 0\n/\n"), "{last}");
}

#[test]
fn it_has_nothing_that_the_guard_has() {
    let dir = tempfile::tempdir().unwrap();
    // Not closed on exec, as a careless library has it.
    let open = fs::File::open(LAUNCHER).unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let (ended, told) = run(
        dir.path(),
        "cat /proc/self/oom_score_adj; grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status\n\
         for fd in /proc/$$/fd/*; do readlink $fd; done; true",
        &[],
    );
    assert!(is_success(ended), "{ended:?} {told}");
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("0"));
    assert_eq!(lines.next(), Some("CapPrm:\t0000000000000000"));
    assert_eq!(lines.next(), Some("CapEff:\t0000000000000000"));
    assert_eq!(lines.next(), Some("NoNewPrivs:\t1"));
    // The script itself its interpreter reads; a shell keeps copies of what it redirects.
    let own = ["hook", "told"].map(|name| dir.path().join(name).display().to_string());
    for file in lines {
        assert!(
            file == "/dev/null" || own.contains(&file.to_owned()),
            "{told}"
        );
    }
}

#[test]
fn how_it_fails_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (ended, _) = run(dir.path(), "exit 3", &[]);
    assert!(
        matches!(ended, Ended::Itself(status) if status.code() == Some(3)),
        "{ended:?}"
    );
    fs::write(dir.path().join("hook"), "no program of any kind").unwrap();
    let hook = Hook::open(dir.path(), "/hook").unwrap();
    let ended = hook.run(Path::new(LAUNCHER), &[], PATIENCE).unwrap();
    assert!(
        matches!(ended, Ended::Itself(status) if status.code() == Some(126)),
        "{ended:?}"
    );
}
