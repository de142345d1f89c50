//! The program: its standard input is a socket to the guard; it ends with it. Its arguments
//! are the executables of programs that must answer. With `--probe` it says what works here; with `--hook NAME` it becomes
//! the program that is its standard input, with `--thaw FOLDER` it lets go on who was stopped when the guard is gone.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// As a shell says that a program could not be run.
const NOT_RUN: u8 = 126;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--probe") {
        let lines = hold::probe()
            .iter()
            .map(|check| check.line() + "\n")
            .collect::<String>();
        return match std::io::stdout().write_all(lines.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if std::env::args().nth(1).as_deref() == Some("--hook") {
        let name = std::env::args_os().nth(2).unwrap_or_default();
        let _ = hold::become_hook(&name);
        return ExitCode::from(NOT_RUN);
    }
    if std::env::args().nth(1).as_deref() == Some("--thaw") {
        let run = std::env::args_os().nth(2).unwrap_or_default();
        return match hold::wait_and_thaw(std::io::stdin().as_fd(), PathBuf::from(run)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "warmset-hold: {error}");
                ExitCode::FAILURE
            }
        };
    }
    if hold::end_with_parent().is_err() {
        return ExitCode::FAILURE;
    }
    let programs = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let _ = host::spare_from_oom(Path::new("/"));
    match hold::serve(std::io::stdin().as_fd(), programs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "warmset-hold: {error}");
            ExitCode::FAILURE
        }
    }
}
