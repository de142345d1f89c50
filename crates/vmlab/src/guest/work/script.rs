//! Commands of a shell, as a page has them for its readers: bash, which most of them type into.

use super::{Out, Words};
use crate::clock::sleep_until;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Runs commands in a process group of their own, and ends all of it with the load.
pub(super) fn script(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mut shell = Command::new("/bin/bash")
        .args(["-c", words.text(0)?])
        .process_group(0)
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start a shell")?;
    // It may end on its own: the founding demonstration reads the huge file once.
    while shell.try_wait()?.is_none() && out.goes_on() {
        sleep_until(crate::clock::now() + 100.0, out.window.until);
    }
    let _ = kill_process_group(Pid::from_child(&shell), Signal::KILL);
    shell.wait()?;
    Ok(())
}
