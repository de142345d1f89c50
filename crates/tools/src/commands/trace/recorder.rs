//! What records a program that is started: Warmset's tool for Valgrind, lackey, or Warmset's plugin for QEMU.

use super::elf::Program;
use super::emulator::Emulator;
use super::engine::Engine;
use super::feed::Scope;
use super::program::{VALGRIND, find};
use super::tool::{self, Tool};
use super::uses::{self, UsesFeed};
use crate::ui::hinted::Hinted;
use anyhow::Result;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::Child;
use traces::blocks::Decoder;

/// What records.
#[derive(Debug)]
pub(super) enum Recorder {
    Uses(Tool),
    Lackey,
    Qemu(Box<Emulator>),
}

impl Recorder {
    /// The recorder that was asked for, or the best one that is there. Says which one it is, unless it was asked for.
    ///
    /// Errors: none that runs this program is there; what to install.
    pub(super) fn choose(engine: Engine, path: &Path) -> Result<Self> {
        match engine {
            Engine::Qemu => Self::emulated(path),
            Engine::Uses => {
                has_valgrind()?;
                Tool::find().map(Self::Uses).map_err(|why| {
                    let what = format!("Warmset's tool for Valgrind: {why}");
                    Hinted::new(what, tool::how_to_build(tool::SCRIPT)).into()
                })
            }
            Engine::Lackey => {
                has_valgrind()?;
                Ok(Self::Lackey)
            }
            _ => Self::usual(path),
        }
    }

    /// QEMU; where it is missing, Valgrind if that runs the program.
    fn emulated(path: &Path) -> Result<Self> {
        let program = Program::read(path)?;
        let (why, hint) = match Emulator::find(&program) {
            Ok(emulator) => return Ok(Self::Qemu(Box::new(emulator))),
            Err(reason) => reason,
        };
        if !program.processor.is_native() || has_valgrind().is_err() {
            return Err(Hinted::new(why, hint).into());
        }
        say(&format!("QEMU cannot record: {why}\n{hint}"));
        Ok(Self::under_valgrind())
    }

    /// Valgrind; QEMU for what Valgrind does not run, or where it is missing.
    fn usual(path: &Path) -> Result<Self> {
        let Ok(program) = Program::read(path) else {
            // Such as a script without a first line, which a shell runs: Valgrind says what it makes of it.
            has_valgrind()?;
            return Ok(Self::under_valgrind());
        };
        let name = program.processor.name;
        let missing = has_valgrind().err();
        if program.processor.is_native() && missing.is_none() {
            return Ok(Self::under_valgrind());
        }
        match (Emulator::find(&program), missing) {
            (Ok(emulator), missing) => {
                let why = missing.map_or_else(
                    || format!("the program is for another processor ({name})"),
                    |_| "valgrind is not installed".to_owned(),
                );
                say(&format!("QEMU records (--engine qemu): {why}"));
                Ok(Self::Qemu(Box::new(emulator)))
            }
            (Err(_), Some(missing)) if program.processor.is_native() => Err(missing.into()),
            (Err((why, hint)), _) => {
                let what = format!(
                    "the program is for another processor ({name}), which takes QEMU: {why}"
                );
                Err(Hinted::new(what, hint).into())
            }
        }
    }

    /// Warmset's own tool if it was built, else lackey.
    fn under_valgrind() -> Self {
        match Tool::find() {
            Ok(tool) => {
                say("Warmset's own tool for Valgrind records (--engine uses)");
                Self::Uses(tool)
            }
            Err(why) => {
                say(&format!(
                    "lackey records, and takes ten times as long as Warmset's own tool for Valgrind: {why}\n{}",
                    tool::how_to_build(tool::SCRIPT)
                ));
                Self::Lackey
            }
        }
    }

    pub(super) const fn engine(&self) -> Engine {
        match self {
            Self::Uses(_) => Engine::Uses,
            Self::Lackey => Engine::Lackey,
            Self::Qemu(_) => Engine::Qemu,
        }
    }

    /// The format of what is decoded, as the trace names it.
    pub(super) const fn format(&self) -> &'static str {
        match self {
            Self::Uses(_) | Self::Qemu(_) => "uses",
            Self::Lackey => "lackey",
        }
    }

    /// Starts the program, with the pipe of our own tools.
    pub(super) fn start(
        &self,
        what: &[OsString],
        scope: Scope,
        page_size: u64,
        decoder: Decoder,
    ) -> Result<(Child, UsesFeed)> {
        match self {
            Self::Uses(tool) => uses::start(what, scope, tool, page_size, decoder),
            Self::Qemu(emulator) => uses::start_emulated(what, scope, emulator, page_size, decoder),
            Self::Lackey => anyhow::bail!("lackey writes text, and no pieces"),
        }
    }
}

impl fmt::Display for Recorder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uses(_) => out.write_str("valgrind --tool=uses"),
            Self::Lackey => out.write_str("valgrind --tool=lackey"),
            Self::Qemu(emulator) => write!(out, "{} -plugin uses", emulator.name()),
        }
    }
}

fn has_valgrind() -> Result<(), Hinted> {
    find(OsStr::new(VALGRIND))
        .map(|_| ())
        .map_err(|_| Hinted::new("valgrind is not installed", "apt-get install valgrind"))
}

/// A line to the user. The terminal may be closed.
fn say(text: &str) {
    let _ = writeln!(commandline::stderr(), "{text}");
}
