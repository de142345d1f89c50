//! Where what Warmset loads into other programs is: its tool for Valgrind, its plugin for QEMU.

use std::path::{Path, PathBuf};

/// Where `make install` and an administrator put it.
const LIBEXEC: &[&str] = &[
    "/usr/libexec/warmset",
    "/usr/lib/warmset",
    "/usr/local/libexec/warmset",
];
/// The directory to look in for the plugin, instead of the usual ones: qemu/build makes `qemu/uses-1.so` there.
const QEMU: &str = "WARMSET_QEMU";
/// The first QEMU that refuses plugins for version 1 of its API.
const SECOND: u32 = 9;

/// Directories that may have it, or the one that a variable of the environment names.
pub fn places(variable: &str) -> Vec<PathBuf> {
    if let Some(place) = std::env::var_os(variable) {
        return vec![PathBuf::from(place)];
    }
    let mut places = Vec::new();
    let program = std::env::current_exe().unwrap_or_default();
    if let Some(beside) = program.parent() {
        places.push(beside.to_owned());
        places.push(beside.join("../libexec/warmset"));
    }
    places.extend(LIBEXEC.iter().map(PathBuf::from));
    if let Some(home) = std::env::var_os("HOME") {
        places.push(Path::new(&home).join(".local/libexec/warmset"));
    }
    places
}

/// The plugin for a QEMU of this major version; `None` if it was not built.
pub fn qemu_plugin(version: u32) -> Option<PathBuf> {
    let file = if version < SECOND {
        "qemu/uses-1.so"
    } else {
        "qemu/uses-2.so"
    };
    places(QEMU)
        .into_iter()
        .map(|place| place.join(file))
        .find(|path| path.is_file())
}
