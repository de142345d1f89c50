//! The program `warmset-hold`.
//!
//! | arguments | what it does |
//! |---|---|
//! | none | serves the guard over its standard input, and ends with it |
//! | `--probe` | prints what works on this machine |
//! | `--probe-guard` | prints what works of what the guard itself does |
//! | `--wait` | waits for the end of its standard input |
//! | `--hook NAME` | becomes the program that is its standard input |
//! | `--thaw DIRECTORY` | thaws what the undo log in this directory says when the guard is gone |

use host::holder::check::line;
use pressure::means::Means;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

/// The exit status by which a shell says that a program could not be run.
const NOT_RUN: u8 = 126;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let option = arguments.first().and_then(|first| first.to_str());
    let value = arguments.get(1).cloned().unwrap_or_default();
    match option {
        None => serve(),
        Some("--probe") => print(&[hold::probe_guard(), hold::probe_holder()].concat()),
        Some("--probe-guard") => print(&hold::probe_guard()),
        Some("--wait") => {
            finish(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map(drop))
        }
        Some("--hook") => {
            let _ = hold::become_hook(&value);
            ExitCode::from(NOT_RUN)
        }
        Some("--thaw") => {
            let stdin = std::io::stdin();
            finish(hold::wait_and_thaw(stdin.as_fd(), value.into()))
        }
        Some(other) => finish(Err(format!(
            "{other}: no option; warmsetd starts this program"
        ))),
    }
}

fn print(means: &[Means]) -> ExitCode {
    let lines: String = means.iter().map(|means| line(means) + "\n").collect();
    finish(std::io::stdout().write_all(lines.as_bytes()))
}

fn serve() -> ExitCode {
    if hold::end_with_parent().is_err() {
        return ExitCode::FAILURE;
    }
    // As packaged, its unit says so, and it may not.
    let _ = host::spare_from_oom(Path::new("/"));
    let stdin = std::io::stdin();
    finish(hold::serve(stdin.as_fd()))
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
