//! Starting and stopping units.

use anyhow::{Context as _, Result, bail};
use std::process::{Command, Output};

/// The program, found by `PATH`.
const PROGRAM: &str = "systemctl";

/// Our own unit.
pub(crate) const WARMSETD: &str = "warmsetd.service";

/// Runs `systemctl` with these arguments, which has to succeed.
pub(crate) fn systemctl(arguments: &[&str]) -> Result<()> {
    let output = run(arguments)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().next().unwrap_or("it said nothing");
    bail!("{}: {}: {said}", line(arguments), output.status)
}

/// Whether the unit runs.
pub(crate) fn is_active(unit: &str) -> Result<bool> {
    Ok(run(&["is-active", "--quiet", unit])?.status.success())
}

/// Whether the unit is started at boot.
pub(crate) fn is_enabled(unit: &str) -> Result<bool> {
    Ok(run(&["is-enabled", "--quiet", unit])?.status.success())
}

fn run(arguments: &[&str]) -> Result<Output> {
    Command::new(PROGRAM)
        .args(arguments)
        .output()
        .with_context(|| format!("{}: cannot run", line(arguments)))
}

fn line(arguments: &[&str]) -> String {
    format!("{PROGRAM} {}", arguments.join(" "))
}
