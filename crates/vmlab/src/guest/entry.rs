//! `warmset-guest`: the program inside the lab's machine. As `/init` it mounts the root disk; from there it controls the
//! run. Each worker of a load is this program again.
//!
//! ```text
//! /init ──► boot ──► control ──► setup, conduct, watch, readout
//!                                    └─► work NAME: one process of the load
//! ```

mod boot;
mod clock;
mod conduct;
mod control;
mod counters;
mod kmsg;
mod knobs;
mod live;
mod mark;
mod mounts;
mod play;
mod profile;
mod readout;
mod serial;
mod setup;
mod terminal;
mod watch;
mod work;
mod writes;
mod zones;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        // A program of a play has the arguments of the program that it stands for.
        _ if std::env::var_os(play::ACT).is_some() => work::act(),
        ["/init", ..] => boot::switch_to_disk(),
        [_, "control"] => control::serve(),
        [_, "listen"] => control::listen(),
        [_, "work", name, rest @ ..] => work::run(name, rest),
        [_, "hand", terminal] => play::hand(terminal),
        [_, "launch", role] => play::launch(role),
        [_, "terminal", path, program, rest @ ..] => terminal::become_program(path, program, rest),
        [_, "humbly", program, rest @ ..] => humbly(program, rest),
        [_, "mark", name] => mark::named(name),
        [_, "writes", listed, traces @ ..] => writes::check(listed, traces),
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

/// Becomes a program that runs as root without `CAP_DAC_OVERRIDE`: the modes of files bind it, as they bind a service
/// with few capabilities.
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
