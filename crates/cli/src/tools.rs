//! The subcommands of `warmset-tools`, which is a package of its own: `warmset simulate` becomes `warmset-tools simulate`.

use crate::other_program;
use crate::ui::hinted::Hinted;
use anyhow::{Error, Result};
use clap::{Arg, ArgAction, Command};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command as Process, ExitCode};

const PROGRAM: &str = "warmset-tools";
/// As a shell says it of a program that is not installed.
const NOT_INSTALLED: u8 = 127;

/// Each with the first line of its help, in the order of the help. A test holds them equal to the program's own.
#[rustfmt::skip]
pub(crate) const SUBCOMMANDS: [(&str, &str); 10] = [
    ("simulate", "Simulate replacement policies on a reference trace"),
    ("curve", "Show how long a program runs between faults, by the memory it has"),
    ("together", "Run several traces in one memory, and see how they make each other wait"),
    ("convert", "Convert a reference trace to another format"),
    ("synth", "Make a reference trace of a known kind; the same seed gives the same trace"),
    ("policies", "List the replacement policies that can be simulated, with their options and sources"),
    ("sweep", "Simulate many traces, policies and sizes, on one machine or many"),
    ("trace", "Record which pages a program uses, and when"),
    ("analyze", "Show the working set of a program: its size over time, and the memory that it needs"),
    ("size", "Find out how much memory a service needs, by taking what it does not use"),
];

/// Returns true if the subcommand is one of them.
pub(crate) fn has(name: &str) -> bool {
    SUBCOMMANDS.iter().any(|(one, _)| *one == name)
}

/// Definitions that take any arguments: the other program parses them.
pub(crate) fn subcommands() -> Vec<Command> {
    let mut all = Vec::new();
    for (name, about) in SUBCOMMANDS {
        let arguments = Arg::new("arguments")
            .action(ArgAction::Append)
            .num_args(0..)
            .allow_hyphen_values(true)
            .trailing_var_arg(true)
            .value_parser(clap::value_parser!(OsString));
        let one = Command::new(name)
            .about(about)
            .disable_help_flag(true)
            .arg(arguments);
        all.push(one);
    }
    all
}

/// Becomes the other program, with the same `arguments`. Its help says `warmset`, as the user did.
///
/// Errors: it is not installed, or cannot be run.
pub(crate) fn become_it(arguments: &[OsString]) -> Result<ExitCode> {
    let mut program = Process::new(other_program::path(PROGRAM));
    program.arg0("warmset").args(arguments.iter().skip(1));
    let error = program.exec();
    if error.kind() == ErrorKind::NotFound {
        let hint = "install the package warmset-tools, or build it from Warmset's source with `make build`";
        return Err(Hinted::new(
            "this subcommand needs warmset-tools, which is not installed",
            hint,
        )
        .with_code(NOT_INSTALLED)
        .into());
    }
    Err(Error::new(error).context(format!("cannot run {PROGRAM}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_other_program() {
        let theirs = warmset_tools::command();
        let theirs: Vec<(String, String)> = theirs
            .get_subcommands()
            .map(|one| {
                let about = one.get_about().map(ToString::to_string);
                (one.get_name().to_owned(), about.unwrap_or_default())
            })
            .collect();
        let ours = SUBCOMMANDS.map(|(name, about)| (name.to_owned(), about.to_owned()));
        assert_eq!(theirs, ours);
    }
}
