//! `warmset-lab trace`: a machine's references to its physical memory.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use warmset_vmlab::vm::guest_program;

const PAGE: u64 = 4096;

/// The trace of a script, and what is said of it.
fn traced(script: &str, options: &[&str], out: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_warmset-lab"))
        .args(["trace", "--json", "--script", script, "--out"])
        .arg(out)
        .args(options)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What `warmset-tools analyze` says of a trace: its references, and its different pages.
fn analyzed(trace: &Path) -> Value {
    let tools = Path::new(env!("CARGO_BIN_EXE_warmset-lab")).with_file_name("warmset-tools");
    let output = Command::new(tools)
        .args(["analyze", "--json"])
        .arg(trace)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    all[0]["program"].clone()
}

#[test]
#[ignore = "boots machines: make smoke"]
fn a_file_that_is_read_is_in_the_trace() {
    let directory = tempfile::tempdir().unwrap();
    let file = std::fs::metadata(guest_program().unwrap()).unwrap().len() / PAGE;
    let without = directory.path().join("without.parquet");
    let with = directory.path().join("with.parquet");
    traced("true", &[], &without);
    let said = traced("md5sum /lab/guest", &[], &with);
    assert_eq!(said["is_whole"], true, "{said}");
    let without = analyzed(&without);
    let with = analyzed(&with);
    let pages = |trace: &Value| trace["pages"].as_u64().unwrap();
    assert!(
        pages(&with) >= pages(&without) + file,
        "{} pages with a file of {file} pages, {} without",
        pages(&with),
        pages(&without)
    );
    assert_eq!(said["references"], with["references"]);
    // All are frames of the machine's memory.
    assert_eq!(with["regions"][0]["pages"], with["pages"]);
    assert_eq!(with["clock"], "instructions");
}

#[test]
#[ignore = "boots a machine: make smoke"]
fn a_trace_ends_after_as_many_references_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("endless.parquet");
    let said = traced("while :; do :; done", &["--references", "1000000"], &out);
    assert_eq!(said["references"], 1_000_000);
    assert_eq!(said["is_whole"], false, "{said}");
}

#[test]
fn a_machine_that_is_too_large_is_refused_before_it_boots() {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_warmset-lab"))
        .args(["trace", "--script", "true", "--memory", "3G", "--out"])
        .arg(directory.path().join("x.parquet"))
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("at most 2048 MiB"), "{said}");
}
