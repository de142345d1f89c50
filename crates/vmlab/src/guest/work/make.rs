//! A real C project, compiled: the founding report's third kind of program.

use super::{Out, Words};
use crate::clock::now;
use anyhow::{Context, Result};
use std::process::{Command, Stdio};

/// `make -jN` in a folder that has been cleaned.
pub(super) fn make(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let (directory, jobs): (&str, u32) = (words.text(0)?, words.number(1)?);
    let make = |arguments: &[&str]| -> Result<bool> {
        let mut command = Command::new("/usr/bin/make");
        command
            .current_dir(directory)
            .args(arguments)
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", directory);
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("cannot run make")?;
        Ok(status.success())
    };
    anyhow::ensure!(make(&["clean"])?, "make clean failed");
    let began = now();
    let done = make(&["-j", &jobs.to_string(), "all"])?;
    if done {
        out.op("build", began);
    }
    out.sum("built", if done { 1.0 } else { 0.0 });
    Ok(())
}
