//! `warmset-local`: local replacement as the founding report tried it, as an arm of the VM lab.
//!
//! The kernel's reclaim is global: a page that was used since reclaim last looked at it gets
//! another round. This program presses on the clock of one process. *Up* takes the accessed bits
//! of the process back, so that its pages look unused; *down* uses its pages, so that they look
//! used. The process is the largest in memory or, of those that run or wait to run, the next or
//! the last by virtual run time.
//!
//! A watermark was reached if kswapd has freed memory since the last tick: it is woken at the low
//! watermark. At most one process is pressed on in each `--every`.
//!
//! Nothing is undone, because nothing stays: accessed bits come and go with every use, and no
//! limit, setting or page is changed.
//!
//! Known limit: virtual run times of different CPUs and cgroups cannot be compared, and are
//! compared all the same.
//!
//! Source: the report's experiments. `warmset together` simulates the same managers; its leftmost
//! is the next here, its rightmost the last. `docs/results/local-replacement.md` has the results.

mod journal;
mod options;
mod press;
mod process;
mod processes;
mod queue;
mod rule;
mod tick;

use anyhow::{Context, Result};
use journal::Journal;
use options::{Options, Task};
use rustix::mm::{MlockAllFlags, mlockall};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tick::{Ticker, VmStat, monotonic};

/// Wait between two ticks: what the guard waits at least while memory is short, so that results of
/// this program can be held against those that the guard made before.
const TICK: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            let hint = "warmset-local --help lists the options";
            let _ = writeln!(std::io::stderr(), "error: {error}\nhint: {hint}");
            return ExitCode::from(2);
        }
    };
    let text = match options.task {
        Task::Help => options::HELP.to_owned(),
        Task::Version => format!("warmset-local {}\n", env!("CARGO_PKG_VERSION")),
        Task::Run => match run(&options) {
            Ok(never) => match never {},
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: {error:#}");
                return ExitCode::FAILURE;
            }
        },
    };
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// The loop. It runs until a signal ends it: there is nothing to put back.
fn run(options: &Options) -> Result<std::convert::Infallible> {
    // A program that acts while memory is short must not wait for its own pages.
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)
        .context("cannot lock this program in memory")?;
    let root = Path::new("/");
    let mut journal = Journal::open(options.log.as_deref())?;
    let mut ticker = Ticker::new(options.rule, options.every);
    loop {
        let vmstat = VmStat::read(root)?;
        let tick = ticker.tick(root, monotonic(), vmstat);
        if let Some(scan) = &tick.scan {
            journal.scan(scan)?;
        }
        if let Some(push) = &tick.push {
            journal.push(push)?;
            // A process that cannot be pressed on is a result, too; the next one may be another.
            if let Err(error) = press::press(root, push) {
                let name = &push.process.name;
                let pid = push.process.pid;
                let _ = writeln!(std::io::stderr(), "warning: {name} ({pid}): {error}");
            }
        }
        std::thread::sleep(TICK);
    }
}
