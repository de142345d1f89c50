//! The program `warmset-hold`.
//!
//! | arguments | what it does |
//! |---|---|
//! | executables of programs that must answer | serves the guard over its standard input, and ends with it |
//! | `--probe` | prints what works on this machine |
//! | `--hook NAME` | becomes the program that is its standard input |
//! | `--thaw DIRECTORY` | thaws what the undo log in this directory says when the guard is gone |

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status by which a shell says that a program could not be run.
const NOT_RUN: u8 = 126;

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let option = arguments.first().and_then(|first| first.to_str());
    let value = arguments.get(1).cloned().unwrap_or_default();
    match option {
        Some("--probe") => probe(),
        Some("--hook") => {
            let _ = hold::become_hook(&value);
            ExitCode::from(NOT_RUN)
        }
        Some("--thaw") => {
            let stdin = std::io::stdin();
            finish(hold::wait_and_thaw(stdin.as_fd(), value.into()))
        }
        _ => serve(arguments.drain(..).map(PathBuf::from).collect()),
    }
}

fn probe() -> ExitCode {
    let checks = hold::probe();
    let lines: String = checks.iter().map(|check| check.line() + "\n").collect();
    match std::io::stdout().write_all(lines.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(programs: Vec<PathBuf>) -> ExitCode {
    if hold::end_with_parent().is_err() {
        return ExitCode::FAILURE;
    }
    let _ = host::spare_from_oom(Path::new("/"));
    let stdin = std::io::stdin();
    finish(hold::serve(stdin.as_fd(), programs))
}

fn finish(done: Result<(), impl Display>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "warmset-hold: {error}");
            ExitCode::FAILURE
        }
    }
}
