//! Other programs of this project, which may not be installed.

use std::path::PathBuf;

/// The program of this name: beside this one, or else as PATH has it.
pub(crate) fn path(name: &str) -> PathBuf {
    if let Ok(own) = std::env::current_exe() {
        let beside = own.with_file_name(name);
        if beside.is_file() {
            return beside;
        }
    }
    PathBuf::from(name)
}
