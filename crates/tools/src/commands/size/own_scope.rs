//! A command that is started to be sized, in a scope of its own where systemd is.

use crate::ui::hinted::Hinted;
use anyhow::{Context as _, Result};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::stderr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What exists while systemd manages this machine (`sd_booted`).
const BOOTED: &str = "run/systemd/system";
/// Time for systemd to make a scope, which takes it milliseconds, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks at whether it has.
const NAP: Duration = Duration::from_millis(20);

/// A command that runs.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
}

impl Started {
    /// Starts it. What it prints goes to standard error, so that the result is alone on standard output.
    ///
    /// Errors: it cannot be started, or systemd makes no scope for it.
    pub(super) fn of(root: &Path, words: &[OsString]) -> Result<Self> {
        let name = words.first().context("no command is given")?;
        if !root.join(BOOTED).exists() {
            let mut command = Command::new(name);
            command.args(&words[1..]);
            return Ok(Self {
                child: spawned(command, name)?,
            });
        }
        // It becomes the command once the scope is made, so the number of the process stays.
        let mut command = Command::new("systemd-run");
        command.args(["--scope", "--quiet", "--collect"]);
        if !rustix::process::geteuid().is_root() {
            command.arg("--user");
        }
        command.arg("--").args(words);
        let mut started = Self {
            child: spawned(command, OsStr::new("systemd-run"))?,
        };
        started.wait_for_scope(root)?;
        Ok(started)
    }

    /// The number of its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self) -> Result<()> {
        self.child.wait()?;
        Ok(())
    }

    fn wait_for_scope(&mut self, root: &Path) -> Result<()> {
        let groups = |pid: &str| fs::read(root.join(format!("proc/{pid}/cgroup"))).ok();
        let ours = groups("self");
        let pid = self.pid().to_string();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                let what = format!("the command ended before it was measured: {status}");
                return Err(Hinted::new(what, "measure what runs for longer").into());
            }
            if groups(&pid) != ours {
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
        // It has not become the command yet, so nothing is lost.
        self.child.kill()?;
        self.wait()?;
        let what = "systemd made no scope for the command within 20 s";
        Err(Hinted::new(what, "systemctl status shows what it does").into())
    }
}

fn spawned(mut command: Command, name: &OsStr) -> Result<Child> {
    let child = command.stdout(stderr()).spawn();
    child.with_context(|| format!("{}: cannot be started", name.to_string_lossy()))
}
