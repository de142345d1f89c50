//! QEMU's user mode for a program's processor, and Warmset's plugin for it.

use super::elf::Program;
use super::program::find;
use super::tool::how_to_build;
use commandline::libexec;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds the plugin.
const SCRIPT: &str = "qemu/build";
/// Where QEMU puts a 32-bit program's address 0, beyond the 4 GiB that may hold parts of QEMU. So the plugin knows which
/// mappings are the program's.
const BASE: u64 = 0x10_0000_0000;

/// A QEMU that can record a program.
#[derive(Debug)]
pub(super) struct Emulator {
    /// What is to be recorded.
    target: Program,
    /// QEMU's own path.
    pub(super) program: PathBuf,
    pub(super) plugin: PathBuf,
}

/// What QEMU is to run.
#[derive(Debug)]
pub(super) struct Started {
    /// The program's name for itself, if it is not the first word.
    pub(super) name: Option<OsString>,
    pub(super) words: Vec<OsString>,
}

impl Emulator {
    /// Finds the QEMU and the plugin for a program.
    ///
    /// Errors: why there is none, and what to do.
    pub(super) fn find(program: &Program) -> Result<Self, (String, String)> {
        let name = format!("qemu-{}", program.processor.name);
        let path = [name.clone(), format!("{name}-static")]
            .iter()
            .find_map(|name| find(OsStr::new(name)).ok())
            .ok_or_else(|| {
                let hint = "apt-get install qemu-user".to_owned();
                (format!("{name} is not installed"), hint)
            })?;
        let version = version(&path)?;
        let plugin = libexec::qemu_plugin(version).ok_or_else(|| {
            let what = "Warmset's plugin for QEMU was not built".to_owned();
            (what, how_to_build(SCRIPT))
        })?;
        if !takes_plugins(&path) {
            let what = format!("{} was built without plugins", path.display());
            let hint = "apt-get install qemu-user: it has plugins, and qemu-user-static has none";
            return Err((what, hint.to_owned()));
        }
        Ok(Self {
            target: program.clone(),
            program: path,
            plugin,
        })
    }

    /// Such as `qemu-x86_64`.
    pub(super) fn name(&self) -> String {
        format!("qemu-{}", self.target.processor.name)
    }

    /// Where the program's address 0 is to be; 0 if that is QEMU's matter, which then leaves addresses as they are.
    pub(super) fn base(&self) -> u64 {
        if self.target.processor.is_32_bit {
            BASE
        } else {
            0
        }
    }

    /// The words that run the program: QEMU itself knows neither `PATH` nor scripts.
    pub(super) fn command(&self, what: &[OsString]) -> Started {
        let Program { path, before, .. } = &self.target;
        let (first, arguments) = what.split_at(1.min(what.len()));
        let name = first.first().filter(|_| before.is_empty()).cloned();
        let words = [path.clone().into_os_string()]
            .into_iter()
            .chain(before.iter().cloned())
            .chain(arguments.iter().cloned());
        Started {
            name,
            words: words.collect(),
        }
    }

    /// What may help if QEMU ends before the program's first instruction.
    pub(super) fn why_not(&self) -> String {
        let name = self.name();
        let plugin = self.plugin.display();
        format!(
            "{name} says why above; a program with shared libraries for another processor needs them: QEMU_LD_PREFIX names their \
             directory, such as /usr/aarch64-linux-gnu; the plugin is {plugin}"
        )
    }
}

/// The first number of what `qemu-x86_64 --version` prints.
fn version(program: &Path) -> Result<u32, (String, String)> {
    let shown = program.display();
    let hint = "install qemu-user anew".to_owned();
    let said = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| (format!("{shown} --version: {error}"), hint.clone()))?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = text.lines().next().unwrap_or_default();
    let number = line
        .split_once("version ")
        .and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
    number.ok_or_else(|| (format!("{shown} --version said '{line}'"), hint))
}

/// Returns true if this QEMU was built with plugins: its list of options says so.
fn takes_plugins(program: &Path) -> bool {
    Command::new(program)
        .arg("--help")
        .output()
        .is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("-plugin"))
}
