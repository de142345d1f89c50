//! `warmset`: see, explain, record, replay, check and undo.
//!
//! Subcommands are above, in `commands`; what they share is below, in `ui` and the modules beside it. The manual pages
//! and the completions are made from the same definitions ([`command`]).

mod commands;
mod config_file;
mod damon_error;
mod drop_in;
#[cfg(test)]
mod example;
mod importable;
mod last_decisions;
mod means;
mod observation;
mod predecessor;
mod rules;
mod systemctl;
mod systemd_directories;
mod trace_input;
mod ui;

use commands::Command;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use ui::hinted::Hinted;
use ui::usage;
use ui::{Context, Form};

/// The end of every help text.
const CODES: &str = "\
Exit codes:
  0  done, and what was looked at is healthy
  1  failed, or something looked at is wrong
  2  the command line is wrong
  3  no guard is running, and one is needed";

/// See what keeps this machine's memory in use, and why
#[derive(Debug, Parser)]
#[command(name = "warmset", version, max_term_width = 100, after_help = CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print everything as JSON
    #[arg(long, global = true)]
    json: bool,
    /// The machine's root directory
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = "/",
        hide = true
    )]
    root: PathBuf,
    /// Directory in which the guard keeps its socket and undo log
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = "/run/warmset"
    )]
    run: PathBuf,
}

/// The definition of the command line; each subcommand's help ends with examples and the exit codes.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommands(|subcommand| usage::with_examples(subcommand, CODES))
}

/// Runs the program with these arguments, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => run_parsed(cli),
        Err(error) => {
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn run_parsed(cli: Cli) -> ExitCode {
    let context = Context {
        form: if cli.json { Form::Json } else { Form::Text },
        root: cli.root,
        run: cli.run,
    };
    match run_command(&cli.command, &context) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => report_error(&error),
    }
}

fn run_command(command: &Command, context: &Context) -> Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let code = command.run(context, &mut out)?;
    out.flush()?;
    Ok(code)
}

/// Prints an error with its hint, and returns its exit code.
fn report_error(error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "error: {error:#}");
    let Some(hinted) = error.downcast_ref::<Hinted>() else {
        return ExitCode::FAILURE;
    };
    let _ = writeln!(io::stderr(), "hint: {}", hinted.hint);
    ExitCode::from(hinted.code)
}

/// Returns true if the reader of our output has closed it: `warmset … | head` is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
