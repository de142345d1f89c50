//! The frame of a program: from its arguments to its exit code.

use crate::harmless::{Harmless, stderr};
use crate::hinted::Hinted;
use crate::{Context, Form};
use anyhow::Result;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The options before or after any subcommand.
#[derive(Debug, clap::Args)]
pub struct SharedOptions {
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
}

impl SharedOptions {
    /// What a subcommand is run with, with the guard's run directory.
    pub fn context(self, run: PathBuf) -> Context {
        Context {
            form: if self.json { Form::Json } else { Form::Text },
            root: self.root,
            run,
        }
    }
}

/// Prints what is wrong with the arguments, or the help that was asked for.
pub fn print_usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Standard output, which cannot control the terminal.
pub type Output = Harmless<BufWriter<StdoutLock<'static>>>;

/// Runs a subcommand with standard output, and reports its error.
pub fn run(subcommand: impl FnOnce(&mut Output) -> Result<ExitCode>) -> ExitCode {
    match with_output(subcommand) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => report_error(&error),
    }
}

fn with_output(subcommand: impl FnOnce(&mut Output) -> Result<ExitCode>) -> Result<ExitCode> {
    let mut out = Harmless::new(BufWriter::new(io::stdout().lock()));
    let code = subcommand(&mut out)?;
    out.flush()?;
    Ok(code)
}

/// Prints an error with its hint, and returns its exit code.
fn report_error(error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(stderr(), "error: {error:#}");
    let Some(hinted) = error.downcast_ref::<Hinted>() else {
        return ExitCode::FAILURE;
    };
    let _ = writeln!(stderr(), "hint: {}", hinted.hint);
    ExitCode::from(hinted.code)
}

/// Returns true if the reader of our output has closed it: `warmset … | head` is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
