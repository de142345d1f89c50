//! `warmset-guest`: the program inside the lab's machine. As `/init` it mounts the disk, from there it controls the
//! run, and each worker of a load is this program again.
//!
//! ```text
//! /init ──► first ──► control ──► setup, conduct, watch, report
//!                                     └─► work NAME: one process of the load
//! ```

mod clock;
mod conduct;
mod control;
mod counters;
mod first;
mod live;
mod profile;
mod readout;
mod setup;
mod watch;
mod work;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["/init", ..] => first::switch_to_disk(),
        [_, "control"] => control::serve(),
        [_, "listen"] => control::listen(),
        [_, "work", name, rest @ ..] => work::run(name, rest),
        [_, "humbly", program, rest @ ..] => humbly(program, rest),
        // What the probe executes: a program that is there and ends.
        [_, "nothing"] => return ExitCode::SUCCESS,
        _ => Err(anyhow::anyhow!(
            "this program runs inside the lab's machine; `work NAME` runs one worker anywhere"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("warmset-guest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Becomes a program that is root's and may not pass over the rights of files, as a service with few capabilities.
fn humbly(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt;
    rustix::thread::remove_capability_from_bounding_set(
        rustix::thread::CapabilitySet::DAC_OVERRIDE,
    )?;
    Err(std::process::Command::new(program)
        .args(arguments)
        .exec()
        .into())
}
