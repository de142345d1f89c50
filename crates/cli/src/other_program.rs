//! Other programs of this project, which may not be installed.

use std::path::PathBuf;

/// The program of this name: beside this one, in `libexec` beside its directory, or else as PATH has it.
pub(crate) fn path(name: &str) -> PathBuf {
    host::other_program(name).unwrap_or_else(|| PathBuf::from(name))
}
