//! `warmset-tools`: traces, their analysis and replacement policies. `warmset simulate` becomes `warmset-tools simulate`.
//!
//! Subcommands are above, in `commands`; what they share is below, in `ui` and the modules beside it.

mod commands;
mod own_memory;
mod read_note;
mod trace_input;
mod ui;

use commandline::RUN_DIRECTORY;
use commandline::examples::with_examples;
use commandline::program::{self, SharedOptions};
use commands::Command;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;
use ui::usage::EXAMPLES;

/// The end of every help text.
const CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  the command line is wrong";

/// Record and analyze reference traces, and compare replacement policies on them
#[derive(Debug, Parser)]
#[command(name = "warmset-tools", version, max_term_width = 100, after_help = CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    shared: SharedOptions,
}

/// The definition of the command line; each subcommand's help ends with examples and the exit codes.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommands(|one| with_examples(one, EXAMPLES, CODES))
}

/// A command in which subcommands of this program stand in place of those of the same names, which only become it.
pub fn in_place_of_names(other: clap::Command) -> clap::Command {
    let own = command();
    other.mut_subcommands(|one| match own.find_subcommand(one.get_name()) {
        Some(ours) => ours.clone(),
        None => one,
    })
}

/// The examples at the end of each subcommand's help, for a test.
pub fn examples() -> &'static commandline::examples::Examples {
    EXAMPLES
}

pub use commands::sweep::is_sweep;

/// Runs the program with these arguments, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => program::run(|out| {
            cli.command
                .run(&cli.shared.context(RUN_DIRECTORY.into()), out)
        }),
        Err(error) => program::print_usage(&error),
    }
}
