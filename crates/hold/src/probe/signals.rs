//! Whether a process can be signalled as the guard does it: by its descriptor, with the right to signal any user's.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// Bit of `CAP_DAC_OVERRIDE` in a set of capabilities (`linux/capability.h`).
pub(super) const DAC_OVERRIDE: u32 = 1;
/// Bit of `CAP_KILL`.
const KILL: u32 = 5;

/// Kills a child that waits, and sees that it ended by the signal.
pub(super) fn kill_child() -> io::Result<()> {
    has(KILL)?;
    // It waits for the end of its input, which does not come.
    let mut child = Command::new("/proc/self/exe")
        .arg("--wait")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env_clear()
        .spawn()?;
    let sent = kill(child.id());
    if sent.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    sent?;
    if status.signal() == Some(Signal::KILL.as_raw()) {
        Ok(())
    } else {
        Err(io::Error::other(
            "a child was signalled, and did not end by it",
        ))
    }
}

fn kill(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a child without a number"))?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    pidfd_send_signal(&process, Signal::KILL)?;
    Ok(())
}

/// An error if this process does not have a capability.
pub(super) fn has(capability: u32) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    let set = set.ok_or_else(|| io::Error::other("/proc/self/status: no CapEff"))?;
    if set >> capability & 1 == 1 {
        Ok(())
    } else {
        Err(io::Error::other("not permitted to this service"))
    }
}
