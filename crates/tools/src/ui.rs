//! What several subcommands share to talk with a person or a file.

pub(crate) mod packed_file;
pub(crate) mod plot;
pub(crate) mod usage;

pub(crate) use commandline::{Context, Form, atomic_file, hinted, json, json_line, progress};
