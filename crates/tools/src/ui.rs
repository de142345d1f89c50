//! What several subcommands share to talk with a person or a file.

pub(crate) mod packed_file;
pub(crate) mod plot;
pub(crate) mod usage;

pub(crate) use commandline::{Context, Form, atomic_file, hinted, json, json_line, progress};

/// The threads for so many tasks, of which `asked` are to run at once: never more than tasks. 0 lets rayon take one for each CPU.
pub(crate) fn threads(asked: Option<usize>, tasks: usize) -> usize {
    asked.unwrap_or(0).min(tasks)
}
