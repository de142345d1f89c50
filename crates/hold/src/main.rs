//! The program: its standard input is a socket to the guard; it ends with it.

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parent = getppid();
    // The guard may have ended before this call, which would then wait for nothing.
    let orphan = set_parent_process_death_signal(Some(Signal::KILL)).is_err() || getppid() != parent;
    if orphan || parent.is_none() {
        return ExitCode::FAILURE;
    }
    let _ = std::fs::write("/proc/self/oom_score_adj", "-900");
    match hold::serve(std::io::stdin().as_fd()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("warmset-hold: {error}\n"));
            ExitCode::FAILURE
        }
    }
}
