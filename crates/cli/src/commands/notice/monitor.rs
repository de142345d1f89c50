//! The program that warns programs on the system bus.

use crate::other_program;
use crate::ui::hinted::Hinted;
use anyhow::{Context, Result, bail};
use pressure::users::Tell;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

const PROGRAM: &str = "warmset-low-memory";

/// `G_MEMORY_MONITOR_WARNING_LEVEL_MEDIUM`: programs should free what they do not need.
const MEDIUM: u8 = 100;
/// `G_MEMORY_MONITOR_WARNING_LEVEL_CRITICAL`: processes are about to be killed.
const CRITICAL: u8 = 255;

/// The program at work. It ends with its input, when this is dropped.
#[derive(Debug)]
pub(super) struct Monitor {
    input: Option<ChildStdin>,
    child: Child,
}

impl Monitor {
    /// Starts the program, and waits until it owns its name on the bus.
    pub(super) fn open() -> Result<Self> {
        let started = Command::new(other_program::path(PROGRAM))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let hint =
                    "build it from Warmset's source with `make build`, and put it beside warmset";
                return Err(
                    Hinted::new(format_args!("{PROGRAM} is not installed here"), hint).into(),
                );
            }
            Err(error) => return Err(error).context(format!("cannot run {PROGRAM}")),
        };
        let mut ready = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut ready)?;
        }
        let input = child.stdin.take();
        let mut monitor = Self { input, child };
        if ready.is_empty() {
            // It has said why.
            let status = monitor.child.wait()?;
            bail!("no program is warned: {PROGRAM} ended with {status}");
        }
        Ok(monitor)
    }

    /// Warns every program that listens, if the message is a warning.
    pub(super) fn warn(&self, tell: &Tell) -> Result<()> {
        let Some((level, mut input)) = level(tell).zip(self.input.as_ref()) else {
            return Ok(());
        };
        writeln!(input, "{level}").with_context(|| format!("{PROGRAM} has ended"))
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// The level of a message; `None` if it is no warning.
fn level(tell: &Tell) -> Option<u8> {
    match tell {
        Tell::Warn { .. } | Tell::Short { .. } => Some(MEDIUM),
        Tell::Throttled { .. }
        | Tell::Ask { .. }
        | Tell::Ended { .. }
        | Tell::EndedElsewhere { .. } => Some(CRITICAL),
        Tell::Settled { .. } => None,
    }
}
