//! Options that every subcommand has.

use std::path::PathBuf;

/// Exit code: no guard is running, and the subcommand needs one.
pub const NO_GUARD: u8 = 3;

/// Where a guard that runs as a service keeps its socket.
pub const RUN_DIRECTORY: &str = "/run/warmset";

/// The options before or after any subcommand.
#[derive(Debug)]
pub struct Context {
    /// How output is printed.
    pub form: Form,
    /// The machine's root directory: `/`, or a recorded machine in tests.
    pub root: PathBuf,
    /// Where the guard keeps its socket, its undo log and rules set by hand.
    pub run: PathBuf,
}

/// How output is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For a person.
    Text,
    /// For a program.
    Json,
}
