//! `warmset import`: translates the configuration of a daemon that does a part of the same work.

mod guards;

use crate::importable::Program;
use crate::ui::{Context, Form, json};
use anyhow::{Context as _, Result};
use guards::{Peer, peer};
use pressure::import::{Imported, Legacy, legacy};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Translate the configuration of a daemon that does a part of the same work
///
/// The translation goes to standard output or FILE, what differs to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program that the file configures
    program: Program,
    /// The file [default: where its package has it, such as /etc/default/earlyoom]
    file: Option<PathBuf>,
    /// Write the translation to this new file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => args.program.usual()?.to_owned(),
    };
    let Imported { toml, notes } = translate(args.program, std::slice::from_ref(&file))?;
    match (&args.output, context.form) {
        (Some(path), _) => {
            let written = write_new(path, &toml);
            written.with_context(|| format!("{}: cannot write", path.display()))?;
        }
        (None, Form::Text) => {
            out.write_all(toml.as_bytes())?;
        }
        (None, Form::Json) => {
            let value = serde_json::json!({ "toml": toml, "notes": notes });
            json(out, &value)?;
        }
    }
    for note in notes {
        writeln!(io::stderr(), "note: {note}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Translates what the program reads from these files, in this order. `warmset take-over` is given it, too.
pub(super) fn translate(program: Program, files: &[PathBuf]) -> Result<Imported> {
    let mut text = String::new();
    for file in files {
        let bytes = fs::read(file).with_context(|| format!("{}: cannot read", file.display()))?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let imported = match program {
        Program::Adaptivemmd => legacy(Legacy::Adaptivemmd, &text),
        Program::Memoptimizer => legacy(Legacy::Memoptimizer, &text),
        Program::Earlyoom => peer(Peer::Earlyoom, &text),
        Program::Nohang => peer(Peer::Nohang, &text),
        Program::SystemdOomd => peer(Peer::SystemdOomd, &text),
        Program::Le9uo => peer(Peer::Le9uo, &text),
    };
    Ok(imported?)
}

/// A configuration is never overwritten; `conf.d` need not be there yet.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    File::create_new(path)?.write_all(text.as_bytes())
}
