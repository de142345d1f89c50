//! The kernel's own kills, as it reports them in `/dev/kmsg`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Mutex, PoisonError};

/// A kill by the kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelKill {
    /// Milliseconds since boot.
    pub(crate) at: f64,
    /// `kernel`, or `cgroup` for a limit of a cgroup.
    pub(crate) by: String,
    /// Name of the process.
    pub(crate) victim: String,
}

/// Adds each kill to the list as it is reported. A read waits for the next message, so this never ends.
pub(crate) fn follow(messages: File, kills: &Mutex<Vec<KernelKill>>) {
    for line in BufReader::new(messages).lines() {
        // The kernel overwrote messages that were not read yet: the next read goes on after them.
        let Ok(line) = line else { continue };
        if let Some(kill) = parse(&line) {
            kills
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(kill);
        }
    }
}

/// `6,1234,5678901,-;Out of memory: Killed process 321 (hog) …`: the third number is microseconds.
fn parse(line: &str) -> Option<KernelKill> {
    let (head, text) = line.split_once(';')?;
    let (before, rest) = text.split_once("Killed process ")?;
    let by = if before.contains("cgroup") {
        "cgroup"
    } else {
        "kernel"
    };
    let (victim, _) = rest.split_once('(')?.1.split_once(')')?;
    let microseconds: f64 = head.split(',').nth(2)?.parse().ok()?;
    Some(KernelKill {
        at: microseconds / 1e3,
        by: by.to_owned(),
        victim: victim.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kills_are_read() {
        let line = "3,812,61234567,-;Out of memory: Killed process 88 (hog) total-vm:1kB";
        let kill = parse(line).unwrap();
        assert_eq!(kill.at, 61234.567);
        assert_eq!(kill.by, "kernel");
        assert_eq!(kill.victim, "hog");
        let line =
            "3,812,1000,-;Memory cgroup out of memory: Killed process 88 (burst) total-vm:1kB";
        assert_eq!(parse(line).unwrap().by, "cgroup");
        let other = "3,812,1000,-;oom-kill:constraint=CONSTRAINT_NONE";
        assert_eq!(parse(other), None);
    }
}
