//! What several subcommands share to talk with a person, a file or a running guard.

pub(crate) mod bar;
pub(crate) mod clock;
pub(crate) mod live_terminal;
pub(crate) mod run_directory;
pub(crate) mod socket;
pub(crate) mod text;
pub(crate) mod usage;

pub(crate) use commandline::{
    Context, Form, NO_GUARD, atomic_file, hinted, json, json_line, progress,
};
