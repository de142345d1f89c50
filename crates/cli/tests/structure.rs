//! The order of the modules: subcommands above, what they share below.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// Lines of code that name `module`, as `FILE:LINE`.
fn uses(files: &[PathBuf], module: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if line.contains(module) && !is_comment {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    found
}

#[test]
fn no_subcommand_imports_another() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let commands = sources(&source.join("commands"));
    assert!(commands.len() > 20, "{} files", commands.len());
    assert_eq!(uses(&commands, "crate::commands"), Vec::<String>::new());
    // `super` of a file directly in `commands` is `commands` itself; its inline test module may say it.
    let mut tops = commands;
    tops.retain(|path| {
        path.parent()
            .is_some_and(|parent| parent.ends_with("commands"))
    });
    let mut climbing = uses(&tops, "super::");
    climbing.retain(|line| !line.ends_with("use super::*;"));
    assert_eq!(climbing, Vec::<String>::new());
}

#[test]
fn what_is_shared_imports_no_subcommand() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut shared = sources(&source);
    shared.retain(|path| {
        let is_above = path.ends_with("lib.rs") || path.ends_with("src/commands.rs");
        !is_above && !path.starts_with(source.join("commands"))
    });
    assert!(shared.len() > 3, "{} files", shared.len());
    assert_eq!(uses(&shared, "commands::"), Vec::<String>::new());
}

#[test]
fn no_two_files_have_one_name() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names: Vec<String> = sources(&source)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "tests.rs")
        .collect();
    names.sort();
    let mut twice = Vec::new();
    for pair in names.windows(2) {
        if pair[0] == pair[1] {
            twice.push(pair[0].clone());
        }
    }
    assert_eq!(twice, Vec::<String>::new());
}
