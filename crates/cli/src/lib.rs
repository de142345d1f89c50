//! `warmset`: see, explain, record, replay, check and undo.
//!
//! Subcommands are above, in `commands`; what they share is below, in `ui` and the modules beside it. The manual pages
//! and the completions are made from the same definitions ([`command`]). Subcommands for traces are in the program
//! `warmset-tools`, which [`run`] becomes when one of them is asked for.

mod commands;
mod config_file;
mod drop_in;
#[cfg(test)]
mod example;
mod importable;
mod last_decisions;
mod means;
mod observation;
mod other_program;
mod overview;
mod predecessor;
mod rules;
mod systemctl;
mod systemd_directories;
mod tools;
mod ui;

use commandline::examples::with_examples;
use commandline::program::{self, SharedOptions};
use commands::Command;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::process::ExitCode;
use ui::run_directory;
use ui::usage::EXAMPLES;

/// The end of every help text.
const CODES: &str = "\
Exit codes:
  0    done, and what was looked at is healthy
  1    failed, or something looked at is wrong
  2    the command line is wrong
  3    no guard is running, and one is needed
  127  the subcommand is one of warmset-tools, which is not installed";

/// See what keeps this machine's memory in use, and why
#[derive(Debug, Parser)]
#[command(
    name = "warmset",
    version,
    max_term_width = 100,
    after_help = CODES,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    shared: SharedOptions,
}

/// The definition of the command line; each subcommand's help ends with examples and the exit codes.
pub fn command() -> clap::Command {
    let own = run_directory::with_option(Cli::command());
    let own = own.mut_subcommands(|one| with_examples(one, EXAMPLES, CODES));
    overview::listed(own.subcommands(tools::subcommands()))
}

/// Runs the program with these arguments, its own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut definition = command();
    let matches = match definition.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        Err(error) => return program::print_usage(&error),
    };
    let run_directory = match run_directory::of(&matches, &mut definition) {
        Ok(directory) => directory,
        Err(error) => return program::print_usage(&error),
    };
    match matches.subcommand() {
        Some(("help", words)) => return run(overview::asked_for(words)),
        Some((name, _)) if tools::has(name) => {
            return program::run(|_| tools::become_it(&arguments));
        }
        _ => {}
    }
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => {
            let context = cli.shared.context(run_directory);
            program::run(|out| cli.command.run(&context, out))
        }
        Err(error) => program::print_usage(&error),
    }
}
