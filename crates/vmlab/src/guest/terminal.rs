//! A terminal of its own for a program: the side that a person sees, and the side that the program has.

use anyhow::{Context, Result};
use rustix::process::setsid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A new terminal: the side of the person, and the path of the program's side.
pub(crate) fn open() -> Result<(File, String)> {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&person)?;
    unlockpt(&person)?;
    let path = ptsname(&person, Vec::new())?;
    Ok((person.into(), path.to_str()?.to_owned()))
}

/// Makes the terminal at this path that of this process, of its children, and of nobody else.
pub(crate) fn take(path: &str) -> Result<File> {
    setsid()?;
    let side = File::options()
        .read(true)
        .write(true)
        .open(path)
        .context("cannot open a terminal")?;
    rustix::process::ioctl_tiocsctty(&side)?;
    Ok(side)
}

/// Becomes a program at the terminal of this path.
pub(crate) fn become_program(path: &str, program: &str, arguments: &[&str]) -> Result<()> {
    let side = take(path)?;
    // Who started it may be exempt from the kernel's kills; what it starts is not.
    fs::write("/proc/self/oom_score_adj", "0")?;
    let error = Command::new(program)
        .args(arguments)
        .stdin(side.try_clone()?)
        .stdout(side.try_clone()?)
        .stderr(side)
        .exec();
    Err(error).with_context(|| format!("cannot start {program}"))
}
