//! Where Warmset's own tool for Valgrind is, if it was built for the Valgrind that is installed.

use super::program::VALGRIND;
use commandline::libexec::places;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory to look in, instead of the usual ones: it has directories such as `valgrind-3.19.0`, as valgrind/build makes
/// them.
const PLACE: &str = "WARMSET_VALGRIND";
/// What builds it.
pub(super) const SCRIPT: &str = "valgrind/build";
/// The tool for the installed Valgrind.
#[derive(Debug)]
pub(super) struct Tool {
    /// The directory that `VALGRIND_LIB` names.
    pub(super) directory: PathBuf,
}

impl Tool {
    /// Finds it.
    ///
    /// Errors: why there is none.
    pub(super) fn find() -> Result<Self, String> {
        let platform = match std::env::consts::ARCH {
            "x86_64" => "amd64-linux",
            "aarch64" => "arm64-linux",
            other => return Err(format!("there is none for {other}")),
        };
        let version = version()?;
        let places = places(PLACE);
        for place in &places {
            let directory = place.join(&version);
            if directory.join(format!("uses-{platform}")).is_file() {
                return Ok(Self { directory });
            }
        }
        let others = places.iter().find_map(|place| other_version(place));
        match others {
            Some(other) => Err(format!(
                "it was built for {other}, and {version} is installed"
            )),
            None => Err(format!("it was not built for {version}")),
        }
    }
}

/// What builds a tool, such as `valgrind/build`, to follow a reason why it is missing. The packages have the source.
pub(super) fn how_to_build(script: &str) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.parent().map(|directory| {
        let installed = directory.join("../share/warmset-tools").join(script);
        installed.canonicalize().unwrap_or(installed)
    });
    let (place, script) = match beside {
        Some(installed) if installed.is_file() => ("", installed.display().to_string()),
        _ => (" in Warmset's source", script.to_owned()),
    };
    format!("to build it, with a C compiler{place}: sh {script} ~/.local/libexec/warmset")
}

/// What `valgrind --version` prints, such as `valgrind-3.19.0`.
fn version() -> Result<String, String> {
    let said = Command::new(VALGRIND)
        .arg("--version")
        .output()
        .map_err(|error| format!("valgrind --version: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    let version = text.trim();
    if version.starts_with("valgrind-") && !version.contains('/') {
        return Ok(version.to_owned());
    }
    Err(format!("valgrind --version said '{version}'"))
}

/// A version for which it was built here.
fn other_version(place: &Path) -> Option<String> {
    let entries = std::fs::read_dir(place).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.starts_with("valgrind-"))
        .find(|name| place.join(name).is_dir())
}
