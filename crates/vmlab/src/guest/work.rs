//! The workers: each does one kind of work as a process of its own, and prints what it measured.
//!
//! They are deterministic except for the clock, and run on any Linux: `warmset-guest work NAME …` runs one for ten
//! seconds.

mod act;
mod burst;
mod code;
mod crowd;
mod files;
mod hog;
mod locked;
mod lookup;
mod make;
mod memory;
mod messages;
mod person;
mod probe;
mod resident;
mod script;
mod storms;
mod user;

pub(crate) use act::act;

use crate::clock::{Window, now, sleep_until};
use anyhow::{Context, Result};
use std::fs;
use std::io::{self, Write};
use std::str::FromStr;
use warmset_vmlab::dice::Dice;

/// The kinds of work.
const WORKS: &[Work] = &[
    Work {
        name: "fill",
        usage: "DIRECTORY FILES FILLERS NEW_MIB: read files in turn, write a new one, remove it",
        run: files::fill,
    },
    Work {
        name: "stream",
        usage: "FILE: read a file from end to end, again and again",
        run: files::stream,
    },
    Work {
        name: "once",
        usage: "DIRECTORY FILES: read every file once",
        run: files::once,
    },
    Work {
        name: "read",
        usage: "FILE: read a file once, timed, and count what of it had been evicted",
        run: files::read,
    },
    Work {
        name: "part",
        usage: "FILE MIB: map a file, touch all of it once, then its first part once a second",
        run: code::part,
    },
    Work {
        name: "lock",
        usage: "FILE: lock a file in memory until the end",
        run: locked::lock,
    },
    Work {
        name: "burst",
        usage: "SMALL_MIB HUGE_MIB: touch memory in pages and in huge pages, end",
        run: burst::burst,
    },
    Work {
        name: "ramp",
        usage: "MIB_A_SECOND MOST_MIB: grow steadily, give all back, again",
        run: burst::ramp,
    },
    Work {
        name: "leak",
        usage: "KIB_A_SECOND MOST_MIB: grow unevenly to the most, give all back, again",
        run: burst::leak,
    },
    Work {
        name: "hog",
        usage: "zeros|noise STEP_MIB: take memory until killed",
        run: hog::hog,
    },
    Work {
        name: "browse",
        usage: "KIB_A_SECOND PAGES CODE: take memory at this pace, run through pages of its code for each MiB, until killed",
        run: hog::browse,
    },
    Work {
        name: "touch",
        usage: "MIB: touch memory at random, timed",
        run: memory::touch,
    },
    Work {
        name: "holes",
        usage: "MIB: take memory, give every second page of it back, keep the others",
        run: memory::holes,
    },
    Work {
        name: "sweep",
        usage: "MIB: touch memory in order, again and again",
        run: memory::sweep,
    },
    Work {
        name: "sweep-once",
        usage: "MIB: touch memory in order once, give it back",
        run: memory::sweep_once,
    },
    Work {
        name: "exec",
        usage: "PROGRAM PERIOD_MS: fork and execute a program, timed",
        run: probe::exec,
    },
    Work {
        name: "beat",
        usage: "PERIOD_MS: sleep, locked in memory; how late it wakes",
        run: probe::beat,
    },
    Work {
        name: "prompt",
        usage: "PERIOD_MS: type into a shell at a terminal, timed",
        run: person::prompt,
    },
    Work {
        name: "login",
        usage: "PERIOD_MS: start a session with a shell at a new terminal, timed",
        run: person::login,
    },
    Work {
        name: "window",
        usage: "PERIOD_MS HEAP_MIB CODE: click at a window, timed",
        run: person::window,
    },
    Work {
        name: "draw",
        usage: "HEAP_MIB CODE: a window's program: for each line of its input it touches its heap and its code",
        run: person::draw,
    },
    Work {
        name: "script",
        usage: "COMMANDS: run a shell with these commands until the end",
        run: script::script,
    },
    Work {
        name: "forks",
        usage: "CHILDREN MIB: processes that touch memory and end, many at once",
        run: storms::forks,
    },
    Work {
        name: "crowd",
        usage: "PROCESSES: this many processes that wait until they are killed",
        run: crowd::crowd,
    },
    Work {
        name: "messages",
        usage: "COUNT: waves of messages, so many in blocks of order 3, 4 and 5 each",
        run: messages::messages,
    },
    Work {
        name: "grab",
        usage: "PAGES: ask for huge pages, give them back",
        run: storms::grab,
    },
    Work {
        name: "lookup",
        usage: "DIRECTORY [lock]: look up random keys in an indexed database",
        run: lookup::lookup,
    },
    Work {
        name: "fill-database",
        usage: "DIRECTORY RECORDS RECORD_BYTES: make the database",
        run: lookup::make,
    },
    Work {
        name: "user",
        usage: "SOCKET end|keep|go-on|nothing: print a guard's notices, answer its questions",
        run: user::user,
    },
    Work {
        name: "build",
        usage: "DIRECTORY JOBS: compile a C project",
        run: make::make,
    },
];

/// A kind of work.
struct Work {
    name: &'static str,
    usage: &'static str,
    run: fn(&Words<'_>) -> Result<()>,
}

/// Does the work of this name.
pub(crate) fn run(name: &str, words: &[&str]) -> Result<()> {
    let work = WORKS
        .iter()
        .find(|work| work.name == name)
        .with_context(|| format!("no work '{name}':\n{}", usage()))?;
    set_process_up()?;
    (work.run)(&Words(words)).with_context(|| format!("{name} ({})", work.usage))
}

fn usage() -> String {
    let lines = WORKS
        .iter()
        .map(|work| format!("  {} {}\n", work.name, work.usage));
    lines.collect()
}

/// Sets this process's name, oom_score_adj and cgroup, as the control gave them.
fn set_process_up() -> Result<()> {
    if let Ok(name) = std::env::var("WARMSET_NAME") {
        // The kernel keeps no more.
        let name: String = name.chars().take(15).collect();
        rustix::thread::set_name(&std::ffi::CString::new(name)?)?;
    }
    if let Ok(adjusted) = std::env::var("WARMSET_OOM") {
        fs::write("/proc/self/oom_score_adj", adjusted)?;
    }
    if let Ok(group) = std::env::var("WARMSET_GROUP") {
        fs::write(format!("/sys/fs/cgroup/{group}/cgroup.procs"), "0")
            .with_context(|| format!("cannot move into the cgroup {group}"))?;
    }
    Ok(())
}

/// A worker's arguments. The last is its number within its role.
struct Words<'a>(&'a [&'a str]);

impl Words<'_> {
    fn text(&self, place: usize) -> Result<&str> {
        self.0
            .get(place)
            .copied()
            .with_context(|| format!("argument {} is missing", place + 1))
    }

    fn number<T: FromStr>(&self, place: usize) -> Result<T> {
        let text = self.text(place)?;
        text.parse()
            .ok()
            .with_context(|| format!("'{text}' is not a number"))
    }

    /// Its number within its role; 0 if it was run without one.
    fn own(&self) -> u64 {
        let last = self.0.last().copied().unwrap_or_default();
        last.parse().unwrap_or_default()
    }
}

/// A worker's output. Each line is written at once, so that nothing is lost when the process is killed.
struct Out {
    window: Window,
}

impl Out {
    fn new() -> Self {
        Self {
            window: Window::from_environment(),
        }
    }

    /// Returns true if the load goes on.
    fn goes_on(&self) -> bool {
        now() < self.window.until
    }

    /// Does something every so many milliseconds until the end, each time with the moment at which it begins. What took longer delays
    /// the next, and none is made up for.
    fn every(&self, period: f64, mut turn: impl FnMut(f64) -> Result<()>) -> Result<()> {
        let mut due = now();
        while self.goes_on() {
            turn(now())?;
            due = (due + period).max(now());
            sleep_until(due, self.window.until);
        }
        Ok(())
    }

    /// An operation that began at this moment and ends now.
    fn op(&self, name: &str, began: f64) {
        self.took(name, began, now() - began);
    }

    /// An operation that began at this moment and took this many milliseconds.
    fn took(&self, name: &str, began: f64, took: f64) {
        if self.window.has(began) {
            line(&format!("op {name} {began:.3} {took:.4}"));
        }
    }

    /// Adds to a sum, if counting has begun.
    fn sum(&self, name: &str, value: f64) {
        if self.window.has(now()) {
            line(&format!("sum {name} {value}"));
        }
    }

    /// A hog begins; also before counting does.
    fn hog() {
        line(&format!("hog {:.3}", now()));
    }

    /// A hog has more than the machine could spare when it began.
    fn over() {
        line(&format!("over {:.3}", now()));
    }
}

/// One write for each line. An error is not the worker's: the file is in memory that the load may have exhausted.
fn line(text: &str) {
    let _ = io::stdout().write_all(format!("{text}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_work_lists_what_there_is() {
        let error = run("nap", &[]).unwrap_err().to_string();
        assert!(
            error.contains("no work 'nap'") && error.contains("lookup DIRECTORY"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_argument_is_named() {
        let error = format!("{:#}", run("sweep", &["x"]).unwrap_err());
        assert!(
            error.contains("'x' is not a number") && error.contains("sweep"),
            "{error}"
        );
    }
}
