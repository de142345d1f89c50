//! The processes that start programs: their parents. One has no terminal, the other has one, and so have its children.

use crate::terminal;
use anyhow::{Context, Result};
use rustix::process::{WaitOptions, wait};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Time between two attempts to take the exit codes of children, if there are none.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Both of them.
pub(super) struct Hands {
    plain: Hand,
    with_terminal: Hand,
}

struct Hand {
    // Kept, so that it is not waited for.
    _child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Hands {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            plain: Hand::start("plain")?,
            with_terminal: Hand::start("terminal")?,
        })
    }

    /// Starts a program in this process group, or in one of its own. Returns its number.
    pub(super) fn start(&mut self, terminal: bool, role: &str, group: Option<u32>) -> Result<u32> {
        let hand = if terminal {
            &mut self.with_terminal
        } else {
            &mut self.plain
        };
        let group = group.unwrap_or(0);
        writeln!(hand.orders, "{group} {role}")?;
        let mut answer = String::new();
        hand.answers.read_line(&mut answer)?;
        answer
            .trim()
            .parse()
            .with_context(|| format!("no process: {answer}"))
    }
}

impl Hand {
    fn start(kind: &str) -> Result<Self> {
        let mut child = Command::new("/lab/guest")
            .args(["hand", kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().context("no pipe")?;
        let answers = BufReader::new(child.stdout.take().context("no pipe")?);
        Ok(Self {
            _child: child,
            orders,
            answers,
        })
    }
}

/// Starts what it is told to, until its input ends.
pub(crate) fn hand(kind: &str) -> Result<()> {
    let _terminal = if kind == "terminal" {
        Some(take_terminal()?)
    } else {
        None
    };
    thread::spawn(take_exit_codes);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (group, role) = line.split_once(' ').context("no role")?;
        let group: i32 = group.parse()?;
        match start(group, role).or_else(|_| start(0, role)) {
            Ok(pid) => writeln!(out, "{pid}")?,
            Err(error) => writeln!(out, "{error:#}")?,
        }
        out.flush()?;
    }
    Ok(())
}

fn start(group: i32, role: &str) -> Result<u32> {
    let child = Command::new("/lab/guest")
        .args(["launch", role])
        .process_group(group)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    Ok(child.id())
}

/// No child stays a zombie: a guard would wait for it.
fn take_exit_codes() {
    loop {
        if !matches!(wait(WaitOptions::empty()), Ok(Some(_))) {
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Makes a new terminal that of this process and its children. It is there as long as what is returned.
fn take_terminal() -> Result<(File, File)> {
    let (person, path) = terminal::open()?;
    let side = terminal::take(&path)?;
    Ok((person, side))
}
