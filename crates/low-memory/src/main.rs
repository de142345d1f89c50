//! The program `warmset-low-memory`, which `warmset notice --low-memory-monitor` starts: warns programs on the system bus.
//!
//! It is a program of its own because the library that speaks D-Bus is as large as the rest of the guard's command. It says
//! `ready` when it owns its name. Then it reads a level from each line of standard input, and ends with it.

mod bus;

use anyhow::{Context, Result};
use bus::Monitor;
use std::io::{Write, stderr, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    match warn_programs() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn warn_programs() -> Result<()> {
    let monitor = Monitor::open()?;
    writeln!(stdout(), "ready")?;
    for line in stdin().lines() {
        let line = line?;
        let level = line
            .parse()
            .with_context(|| format!("{line:?} is no level from 0 to 255"))?;
        monitor.warn(level)?;
    }
    Ok(())
}
