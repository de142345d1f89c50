//! Other programs of this project, which may not be installed.

use std::path::PathBuf;

/// The program of this name: beside this one, in `libexec` beside its directory, or else as PATH has it.
pub(crate) fn path(name: &str) -> PathBuf {
    if let Ok(own) = std::env::current_exe() {
        let beside = own.with_file_name(name);
        let inner = own.with_file_name("../libexec").join(name);
        for place in [beside, inner] {
            if place.is_file() {
                return place;
            }
        }
    }
    PathBuf::from(name)
}
