//! What a person at the machine waits for: a prompt that answers, a login, a window that reacts.
//!
//! The side that measures is locked in memory. What it measures is not: its pages are evicted as those of any program, and it may
//! be killed. A person then starts it again, and that time counts, too. An answer that has not come when the load is over counts
//! with the time that it was waited for.

use super::code::Code;
use super::memory::{PAGE, take, touch_page};
use super::probe::lock;
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use crate::terminal;
use anyhow::{Context, Result};
use memmap2::Advice;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long an answer is waited for after the load, in ms: less than the time in which its processes may end.
const PATIENCE: f64 = 12_000.0;
/// Pause before a program is started again that could not be started, in ms.
const AGAIN: f64 = 100.0;
/// Pages that a window touches to draw itself anew: of its heap, and of its code.
const DRAWN: u64 = 128;

/// A program that answers each line that it is sent.
struct Answering {
    child: Child,
    orders: Box<dyn Write>,
    answers: Receiver<String>,
}

/// What came of a question.
enum Heard {
    Answer,
    /// It has ended.
    Nobody,
    /// Nothing came in time.
    Silence,
}

impl Answering {
    fn new(child: Child, orders: Box<dyn Write>, said: impl Read + Send + 'static) -> Self {
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(said).lines() {
                // A terminal whose program has ended gives an error.
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            orders,
            answers,
        }
    }

    /// A shell at a terminal of its own.
    fn shell() -> Result<Self> {
        let (person, path) = terminal::open()?;
        let child = Command::new("/proc/self/exe")
            .args(["terminal", &path, "/bin/sh", "-l"])
            .env("PS1", "$ ")
            .spawn()
            .context("cannot start a shell")?;
        let orders = Box::new(person.try_clone()?);
        Ok(Self::new(child, orders, person))
    }

    /// A program with a window: a heap of so many MiB, and code in this file.
    fn window(heap: &str, code: &str) -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .args(["work", "draw", heap, code])
            .env("WARMSET_NAME", "window")
            .env("WARMSET_OOM", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a window")?;
        let orders = Box::new(child.stdin.take().context("no pipe")?);
        let said = child.stdout.take().context("no pipe")?;
        Ok(Self::new(child, orders, said))
    }

    /// Sends a line, and waits until a line of its answer is `wanted`.
    fn ask(&mut self, line: &str, wanted: &str, until: f64) -> Heard {
        if writeln!(self.orders, "{line}").is_err() {
            return Heard::Nobody;
        }
        loop {
            let left = ((until - now()) / 1e3).max(0.0);
            match self.answers.recv_timeout(Duration::from_secs_f64(left)) {
                Ok(said) if said.trim() == wanted => return Heard::Answer,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Heard::Silence,
                Err(RecvTimeoutError::Disconnected) => return Heard::Nobody,
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell at a terminal that is typed into again and again.
pub(super) fn prompt(words: &Words<'_>) -> Result<()> {
    let period = words.number(0)?;
    keep_asking("prompt", period, "echo ", Answering::shell)
}

/// A program with a window that is clicked at again and again.
pub(super) fn window(words: &Words<'_>) -> Result<()> {
    let period = words.number(0)?;
    let heap = words.text(1)?;
    let code = words.text(2)?;
    keep_asking("window", period, "", || Answering::window(heap, code))
}

/// Asks one program every so many ms, and starts it again when it has ended.
fn keep_asking(
    name: &str,
    period: f64,
    ask: &str,
    start: impl Fn() -> Result<Answering>,
) -> Result<()> {
    let out = Out::new();
    lock()?;
    let mut program = Some(start()?);
    let mut number: u64 = 0;
    out.every(period, |began| {
        number += 1;
        // No line that a shell says by itself is this.
        let wanted = format!("answer-{number}");
        let line = format!("{ask}{wanted}");
        let until = out.window.until + PATIENCE;
        loop {
            let heard = match &mut program {
                Some(program) => program.ask(&line, &wanted, until),
                None => Heard::Nobody,
            };
            if !matches!(heard, Heard::Nobody) || !out.goes_on() {
                break;
            }
            out.sum(&format!("{name}_ended"), 1.0);
            program = start().ok();
            if program.is_none() {
                sleep_until(now() + AGAIN, out.window.until);
            }
        }
        out.op(name, began);
        Ok(())
    })
}

/// Logs in every so many ms: a new session at a new terminal, in which a shell reads its profile and answers.
pub(super) fn login(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let period: f64 = words.number(0)?;
    lock()?;
    out.every(period, |began| {
        let until = out.window.until + PATIENCE;
        while !is_logged_in(until) && out.goes_on() {
            out.sum("login_ended", 1.0);
            sleep_until(now() + AGAIN, out.window.until);
        }
        out.op("login", began);
        Ok(())
    })
}

/// Returns false if the shell ended, or could not be started.
fn is_logged_in(until: f64) -> bool {
    let Ok(mut shell) = Answering::shell() else {
        return false;
    };
    !matches!(
        shell.ask("echo welcome-$((1 + 1))", "welcome-2", until),
        Heard::Nobody
    )
}

/// A window's program: for each line it draws itself anew, which takes pages of its heap and of its code, and says the line.
pub(super) fn draw(words: &Words<'_>) -> Result<()> {
    let mut heap = take(words.number(0)?, Advice::NoHugePage)?;
    let code = Code::of(words.text(1)?)?;
    let mut dice = Dice::seeded(words.own());
    // What zram cannot compress.
    dice.fill(&mut heap);
    let heap_pages = (heap.len() / PAGE) as u64;
    let mut said = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        for _ in 0..DRAWN {
            touch_page(&mut heap, dice.below(heap_pages) as usize);
            code.touch(&mut dice);
        }
        writeln!(said, "{line}")?;
        said.flush()?;
    }
    Ok(())
}
