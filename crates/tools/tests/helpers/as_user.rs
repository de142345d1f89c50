//! The program as a user runs it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn warmset(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .args(arguments)
        .output()
        .expect("warmset runs")
}

/// What was printed, if all went well.
pub(crate) fn said(arguments: &[&str]) -> String {
    let output = warmset(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

/// What was complained of.
pub(crate) fn complaint(arguments: &[&str]) -> String {
    let output = warmset(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

pub(crate) fn made(directory: &Path, name: &str, kind: &str) -> String {
    let path = directory.join(name).display().to_string();
    said(&["synth", kind, "-n", "20000", "-o", &path]);
    path
}
