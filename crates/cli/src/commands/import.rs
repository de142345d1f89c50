//! `warmset import`: translates the configuration of a daemon that does a part of the same work.
//!
//! Each setting is carried over with its meaning, or named as left out with the reason. So nothing
//! is lost in silence, and a script that goes on to stop the other daemon stops here first.

mod draft;
mod earlyoom;
mod environment;
mod le9;
mod machine_files;
mod nohang;
mod oomd_json;
mod patterns;
mod systemd_oomd;

use crate::importable::Program;
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json};
use anyhow::{Context as _, Result, bail};
use draft::Draft;
use environment::Service;
use machine_files::Machine;
use pressure::config::ConfigError;
use pressure::import::{Imported, Legacy, legacy};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use systemd_oomd::{Kind, Source};
use units::Bytes;

/// Translate the configuration of a daemon that does a part of the same work
///
/// The translation goes to standard output, or to a new file by `-o`. Standard error says what differs, and what is left out with
/// the reason. If anything is left out, the exit code is 1 and the new file is not written, unless `--lenient` is given. So
/// `warmset import … -o NEW && systemctl disable …` stops before a setting is lost.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that the file configures
    program: Program,
    /// The file [default: all that the program reads on this machine, with units and drop-ins]
    ///
    /// For earlyoom this is a file with EARLYOOM_ARGS, its unit, a drop-in of it, or their directory.
    file: Option<PathBuf>,
    /// Write the translation to this new file
    #[arg(short, long, value_name = "NEW")]
    output: Option<PathBuf>,
    /// Succeed although settings are left out
    #[arg(long)]
    lenient: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let imported = imported(args, context)?;
    if context.form == Form::Json {
        let value = serde_json::json!({
            "toml": imported.toml,
            "notes": imported.notes,
            "left_out": imported.left_out,
        });
        json(out, &value)?;
    } else if args.output.is_none() {
        out.write_all(imported.toml.as_bytes())?;
    }
    for loss in imported.losses() {
        writeln!(commandline::stderr(), "left out: {loss}")?;
    }
    for note in &imported.notes {
        writeln!(commandline::stderr(), "note: {note}")?;
    }
    let is_refused = !imported.left_out.is_empty() && !args.lenient;
    match &args.output {
        Some(path) if is_refused => Err(refused(path, imported.left_out.len())),
        Some(path) => {
            write_new(path, &imported.toml)?;
            Ok(ExitCode::SUCCESS)
        }
        None if is_refused => Ok(ExitCode::FAILURE),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn refused(path: &Path, left_out: usize) -> anyhow::Error {
    let settings = if left_out == 1 {
        "setting is"
    } else {
        "settings are"
    };
    Hinted::new(
        format!(
            "{}: not written, as {left_out} {settings} left out",
            path.display()
        ),
        "add --lenient to write it without them",
    )
    .into()
}

/// The translation of the file that was named, or of what is on this machine.
fn imported(args: &Args, context: &Context) -> Result<Imported> {
    let program = args.program;
    match &args.file {
        Some(directory) if directory.is_dir() => {
            let has_drop_ins = matches!(
                program,
                Program::Earlyoom | Program::SystemdOomd | Program::Le9uo
            );
            if !has_drop_ins {
                bail!(
                    "{}: {} has no directory of drop-ins: name a file",
                    directory.display(),
                    program.name()
                );
            }
            let files = machine_files::configurations_in(directory)?;
            translate(program, &files, &context.root)
        }
        Some(file) => translate(program, std::slice::from_ref(file), &context.root),
        None => of_machine(program, context),
    }
}

/// Translates these files of a program, laid over each other in this order, for the machine at `root`.
pub(super) fn translate(program: Program, files: &[PathBuf], root: &Path) -> Result<Imported> {
    let memory = Machine::at(root).memory();
    let mut texts = Vec::new();
    for file in files {
        let bytes = fs::read(file).with_context(|| format!("{}: cannot read", file.display()))?;
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    let imported = match (program, texts.as_slice()) {
        (Program::SystemdOomd, _) => {
            let sources: Vec<Source> = texts.into_iter().map(named_by_hand).collect();
            of_systemd_oomd(&sources, memory)
        }
        (Program::Earlyoom, [_, _, ..]) => {
            let mut service = Service::default();
            for text in &texts {
                if environment::is_unit(text) {
                    service.add(text);
                } else {
                    service.environment.extend(environment::variables(text));
                }
            }
            of_earlyoom(&service, memory)
        }
        // A later line is laid over the ones before it.
        _ => of_file(program, &texts.join("\n"), memory),
    };
    Ok(imported?)
}

/// The translation of all that the program reads on this machine.
fn of_machine(program: Program, context: &Context) -> Result<Imported> {
    let mut machine = Machine::at(&context.root);
    let memory = machine.memory();
    let mut imported = match program {
        Program::Earlyoom => of_earlyoom(&machine.earlyoom()?, memory)?,
        Program::SystemdOomd => of_systemd_oomd(&machine.systemd_oomd()?, memory)?,
        Program::Nohang => of_file(program, &machine.nohang()?, memory)?,
        Program::NohangDesktop => {
            let text = machine.of_package("nohang-desktop", "nohang/nohang-desktop.conf")?;
            of_file(program, &text, memory)?
        }
        Program::Oomd => of_file(program, &machine.oomd()?, memory)?,
        Program::Adaptivemmd | Program::Memoptimizer => {
            of_file(program, &machine.variables(program.name())?, memory)?
        }
        Program::Le9uo => {
            bail!("le9uo has no file of its own: name the sysctl file that sets its values")
        }
    };
    imported.notes.insert(0, what_was_read(&machine.read));
    Ok(imported)
}

fn named_by_hand(text: String) -> Source {
    Source {
        kind: Kind::Configuration,
        name: String::new(),
        text,
    }
}

fn what_was_read(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return "it has no file on this machine; its defaults are taken".to_owned();
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    format!("read from {}", names.join(", "))
}

/// Translates the text of one file, for a machine with so much memory. What is returned is always a valid configuration.
fn of_file(program: Program, text: &str, memory: Option<Bytes>) -> Result<Imported, ConfigError> {
    let mut draft = Draft::new(memory);
    match program {
        Program::Adaptivemmd => return legacy(Legacy::Adaptivemmd, text),
        Program::Memoptimizer => return legacy(Legacy::Memoptimizer, text),
        Program::Earlyoom => earlyoom::file(&mut draft, text),
        Program::Nohang | Program::NohangDesktop => nohang::file(&mut draft, text),
        Program::SystemdOomd => {
            systemd_oomd::files(&mut draft, &[named_by_hand(text.to_owned())]);
        }
        Program::Oomd => oomd_json::file(&mut draft, text),
        Program::Le9uo => le9::file(&mut draft, text),
    }
    finish(program, draft)
}

fn of_earlyoom(service: &Service, memory: Option<Bytes>) -> Result<Imported, ConfigError> {
    let mut draft = Draft::new(memory);
    earlyoom::service(&mut draft, service);
    finish(Program::Earlyoom, draft)
}

fn of_systemd_oomd(sources: &[Source], memory: Option<Bytes>) -> Result<Imported, ConfigError> {
    let mut draft = Draft::new(memory);
    systemd_oomd::files(&mut draft, sources);
    finish(Program::SystemdOomd, draft)
}

fn finish(program: Program, mut draft: Draft) -> Result<Imported, ConfigError> {
    let name = program.name();
    if program.kills() {
        draft.note(format!(
            "stop {name} before warmsetd guards: beside another guard it kills nothing"
        ));
    }
    draft.finish(name)
}

/// A configuration is never overwritten; `conf.d` need not be there yet. The same translation again is no error.
fn write_new(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        let made = fs::create_dir_all(directory);
        made.with_context(|| format!("{}: cannot write", path.display()))?;
    }
    match File::create_new(path) {
        Ok(mut file) => {
            let written = file.write_all(text.as_bytes());
            written.with_context(|| format!("{}: cannot write", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_same = fs::read(path).is_ok_and(|old| old == text.as_bytes());
            if is_same {
                return Ok(());
            }
            Err(Hinted::new(
                format!(
                    "{}: cannot write: it is there, with other content",
                    path.display()
                ),
                "move it away, or name another file",
            )
            .into())
        }
        Err(error) => Err(error).with_context(|| format!("{}: cannot write", path.display())),
    }
}

#[cfg(test)]
mod tests;
