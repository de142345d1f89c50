//! A real C project, compiled: the founding report's third kind of program.

use super::{Out, Words};
use crate::clock::now;
use anyhow::{Context, Result};
use std::process::{Command, Stdio};

/// Runs `make -jN` in a directory that has been cleaned.
pub(super) fn make(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let directory = words.text(0)?;
    let jobs: u32 = words.number(1)?;
    anyhow::ensure!(run_make(directory, &["clean"])?, "make clean failed");
    let began = now();
    if run_make(directory, &["-j", &jobs.to_string(), "all"])? {
        out.op("build", began);
        out.sum("built", 1.0);
    } else {
        out.sum("built", 0.0);
    }
    Ok(())
}

/// Returns true if make succeeded.
fn run_make(directory: &str, arguments: &[&str]) -> Result<bool> {
    let status = Command::new("/usr/bin/make")
        .current_dir(directory)
        .args(arguments)
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("cannot run make")?;
    Ok(status.success())
}
