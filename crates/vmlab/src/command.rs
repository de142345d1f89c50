//! The subcommands, each in a file of its own.

mod compare;
mod decisions;
mod demo;
mod kernels;
mod list;
mod run;
mod selftest;
mod shell;
mod test;
mod trace;

use crate::store::Store;
use crate::vm::{Silence, Vm};
use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Boots real kernels in virtual machines, loads them, and compares what helps
#[derive(Debug, Parser)]
#[command(name = "warmset-lab", version, max_term_width = 100)]
struct Options {
    /// Keep kernels and disks here [default: $WARMSET_LAB, or warmset-lab in the user's cache]
    #[arg(long, global = true, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Kernels(kernels::Kernels),
    Scenarios(list::Scenarios),
    Arms(list::Arms),
    Run(run::Run),
    Compare(compare::Compare),
    Decisions(decisions::Decisions),
    Demo(demo::Demo),
    Prove(demo::Prove),
    Selftest(selftest::Selftest),
    Test(test::Test),
    Sh(shell::Shell),
    Trace(trace::Trace),
}

/// The definition of the command line, from which the manual page and the completions are made, too.
pub fn definition() -> clap::Command {
    Options::command()
}

/// Runs the program with the arguments that it was given.
pub fn run() -> ExitCode {
    match Options::parse().run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "warmset-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn run(&self) -> Result<ExitCode> {
        let store = || Store::open(self.store.clone());
        match &self.command {
            Command::Kernels(kernels) => kernels.run(&store()?)?,
            Command::Scenarios(scenarios) => scenarios.run()?,
            Command::Arms(arms) => arms.run()?,
            Command::Run(run) => return run.run(&store()?),
            Command::Selftest(selftest) => return selftest.run(&store()?),
            Command::Decisions(decisions) => return decisions.run(&store()?),
            Command::Test(test) => return test.run(&store()?),
            Command::Sh(shell) => return shell.run(&store()?),
            Command::Trace(trace) => return trace.run(&store()?),
            Command::Demo(demo) => return demo.run(&store()?),
            Command::Prove(prove) => return prove.run(&store()?),
            Command::Compare(compare) => compare.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs a script in a machine and prints its output as it comes. Returns its exit code, and whether all could be printed.
fn print_script(vm: &mut Vm, script: &str, most: Duration) -> (Result<u8, Silence>, Result<()>) {
    let mut written = Ok(());
    let answer = vm.script(script, most, |line| {
        if written.is_ok() {
            written = say(line);
        }
    });
    (answer, written)
}

/// Writes to standard output. A reader that has closed the pipe is not an error.
fn say(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
