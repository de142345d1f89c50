//! What a person would feel: how long a command takes to start, how long the machine does not answer.

use super::{Out, Words, line};
use crate::clock::{now, sleep_until};
use anyhow::{Context, Result};
use rustix::mm::{MlockAllFlags, mlockall};
use std::process::{Command, Stdio};

/// Starts a program again and again and waits for it; itself locked, so that the program's start is what is timed.
pub(super) fn exec(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let (program, period): (&str, f64) = (words.text(0)?, words.number(1)?);
    lock()?;
    let mut due = now();
    while out.goes_on() {
        let began = now();
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
        due = (due + period).max(now());
        sleep_until(due, out.window.until);
    }
    Ok(())
}

/// Sleeps and wakes, locked in memory. What it finds is kept until the end: to write would be to wait.
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
        *slot = (due, (now() - due).max(0.0));
        count += 1;
    }
    for (due, took) in late
        .iter()
        .take(count)
        .filter(|(due, _)| out.window.has(*due))
    {
        line(&format!("op beat_late {due:.3} {took:.4}"));
    }
    Ok(())
}

/// Where it is not allowed, as on a person's own machine, it measures less but goes on.
fn lock() -> Result<()> {
    match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        Err(rustix::io::Errno::PERM | rustix::io::Errno::NOMEM) => Ok(()),
        other => Ok(other?),
    }
}
