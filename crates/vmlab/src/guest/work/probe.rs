//! How a machine responds: how long a command takes to start, and how late a process wakes.

use super::{Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::{Context, Result};
use rustix::mm::{MlockAllFlags, mlockall};
use std::process::{Command, Stdio};

/// Starts a program again and again and waits for it. It is locked itself, so that only the program's pages are read.
pub(super) fn exec(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let program = words.text(0)?;
    let period: f64 = words.number(1)?;
    lock()?;
    out.every(period, |began| {
        let status = Command::new(program)
            .arg("nothing")
            .stdin(Stdio::null())
            .status();
        let status = status.with_context(|| format!("cannot execute {program}"))?;
        if status.success() {
            out.op("exec", began);
        } else {
            out.sum("exec_failed", 1.0);
        }
        Ok(())
    })
}

/// Sleeps and wakes, locked in memory. It prints only at the end: a write could wait for memory.
pub(super) fn beat(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let period: f64 = words.number(0)?;
    let beats = ((out.window.until - now()).max(0.0) / period) as usize + 16;
    let mut late = vec![(0.0, 0.0); beats];
    lock()?;
    let mut count = 0;
    while let Some(slot) = late.get_mut(count) {
        let due = now() + period;
        if !sleep_until(due, out.window.until) {
            break;
        }
        let lateness = (now() - due).max(0.0);
        *slot = (due, lateness);
        count += 1;
    }
    for (due, lateness) in late.iter().take(count) {
        out.took("beat_late", *due, *lateness);
    }
    Ok(())
}

/// Locks all pages. Where that is not allowed, as for a user outside of the lab, the probe goes on without.
pub(super) fn lock() -> Result<()> {
    match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        Err(rustix::io::Errno::PERM | rustix::io::Errno::NOMEM) => Ok(()),
        other => Ok(other?),
    }
}
