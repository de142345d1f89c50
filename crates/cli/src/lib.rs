//! `warmset`: see, explain, record, replay, check and undo.
//!
//! One file for each subcommand: its arguments with their help, and `run`. What is written here is also what
//! the manual pages and the completions are made from ([`command`]).

mod analyze;
mod bar;
mod check;
mod clock;
mod convert;
mod curve;
mod doctor;
#[cfg(test)]
mod example;
mod features;
mod fleet;
mod hinted;
mod import;
mod look;
mod notice;
mod page;
mod past;
mod policies;
mod protect;
mod prove;
mod record;
mod reference;
mod release;
mod replay;
mod restore;
mod simulate;
mod socket;
mod spare;
mod status;
mod sweep;
mod synth;
mod together;
mod top;
mod trace;
mod usage;
mod why;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use hinted::Hinted;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// No guard is running where one is needed.
const NO_GUARD: u8 = 3;

const CODES: &str = "\
Exit codes:
  0  done; what was looked at is healthy
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
    /// The machine's root folder
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        default_value = "/",
        hide = true
    )]
    root: PathBuf,
    /// Where the guard keeps its socket and undo log
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = "/run/warmset"
    )]
    run: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(status::Args),
    Why(why::Args),
    Top(top::Args),
    Features(features::Args),
    Doctor(doctor::Args),
    Check(check::Args),
    Record(record::Args),
    Replay(replay::Args),
    Restore(restore::Args),
    Import(import::Args),
    Protect(protect::Args),
    Spare(spare::Args),
    Release(release::Args),
    Notice(notice::Args),
    Prove(prove::Args),
    Simulate(simulate::Args),
    Curve(curve::Args),
    Together(together::Args),
    Convert(convert::Args),
    Synth(synth::Args),
    Policies(policies::Args),
    Sweep(sweep::Args),
    Trace(trace::Args),
    Analyze(analyze::Args),
    Report(fleet::Args),
}

/// How a subcommand is asked to print, and where the machine is.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) form: Form,
    pub(crate) root: PathBuf,
    pub(crate) run: PathBuf,
}

/// For people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
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
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let form = if cli.json { Form::Json } else { Form::Text };
    let context = Context {
        form,
        root: cli.root,
        run: cli.run,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = dispatch(&cli.command, &context, &mut out)
        .and_then(|code| Ok(out.flush().map(|()| code)?));
    match done {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            let hinted = error.downcast_ref::<Hinted>();
            if let Some(hinted) = hinted {
                let _ = writeln!(io::stderr(), "hint: {}", hinted.hint);
            }
            ExitCode::from(hinted.map_or(1, |hinted| hinted.code))
        }
    }
}

fn dispatch(command: &Command, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    match command {
        Command::Status(args) => status::run(args, context, out),
        Command::Why(args) => why::run(args, context, out),
        Command::Top(args) => top::run(args, context, out),
        Command::Features(args) => features::run(args, context, out),
        Command::Doctor(args) => doctor::run(args, context, out),
        Command::Check(args) => check::run(args, context, out),
        Command::Record(args) => record::run(args, context, out),
        Command::Replay(args) => replay::run(args, context, out),
        Command::Restore(args) => restore::run(args, context, out),
        Command::Import(args) => import::run(args, context, out),
        Command::Protect(args) => protect::run(args, context, out),
        Command::Spare(args) => spare::run(args, context, out),
        Command::Release(args) => release::run(args, context, out),
        Command::Notice(args) => notice::run(args, context, out),
        Command::Prove(args) => prove::run(args, context, out),
        Command::Simulate(args) => simulate::run(args, context, out),
        Command::Curve(args) => curve::run(args, context, out),
        Command::Together(args) => together::run(args, context, out),
        Command::Convert(args) => convert::run(args, context, out),
        Command::Synth(args) => synth::run(args, context, out),
        Command::Policies(args) => policies::run(args, context, out),
        Command::Sweep(args) => sweep::run(args, context, out),
        Command::Trace(args) => trace::run(args, context, out),
        Command::Analyze(args) => analyze::run(args, context, out),
        Command::Report(args) => fleet::run(args, context, out),
    }
}

/// Whoever read our output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// `value` as JSON, on lines of its own.
pub(crate) fn json(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// `value` as JSON, on one line.
pub(crate) fn json_line(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
    Ok(writeln!(out)?)
}

/// `value`, or `unknown`.
pub(crate) fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}
