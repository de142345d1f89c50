//! `warmset why`: the last decisions, in plain words.

use crate::{Context, Form, NO_GUARD, json, socket};
use anyhow::{Context as _, Result};
use host::recordings::{Reader, newest};
use pressure::recording::Entry;
use pressure::sample::Wall;
use pressure::status::{MAX_PAST, Past};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use units::Span;

/// Say what was decided lately, and why
///
/// Asks the running guard; where there is none, reads the newest recording.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many decisions
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    number: usize,
    /// Read this recording instead
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    /// Where the guard keeps its recordings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/warmset")]
    state: PathBuf,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let asked = if args.recording.is_some() { None } else { socket::status(&context.run)? };
    let past = match (asked, &args.recording) {
        (Some(status), _) => status.past,
        (None, Some(path)) => recorded(path)?,
        (None, None) => {
            let folder = args.state.join("recordings");
            let newest = newest(&folder).ok().flatten();
            let Some(path) = newest else {
                writeln!(
                    io::stderr(),
                    "error: no guard is running, and there is no recording in {}",
                    folder.display()
                )?;
                return Ok(ExitCode::from(NO_GUARD));
            };
            recorded(&path)?
        }
    };
    let past = &past[past.len().saturating_sub(args.number)..];
    match context.form {
        Form::Json => json(out, &past)?,
        Form::Text if past.is_empty() => writeln!(out, "nothing was done, and nothing had to be said")?,
        Form::Text => past.iter().try_for_each(|past| tell(out, past))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(out: &mut impl Write, past: &Past) -> io::Result<()> {
    writeln!(out, "{}  {}", clock(past.wall), past.phase)?;
    let would = if past.done { "" } else { "would: " };
    past.steps.iter().try_for_each(|step| writeln!(out, "    {would}{step}"))?;
    past.notices.iter().try_for_each(|notice| writeln!(out, "    {notice}"))
}

/// Decisions of a recording that did or said something, the last ones.
fn recorded(path: &Path) -> Result<Vec<Past>> {
    let mut reader = Reader::open(path)?;
    let mut last: Option<(Span, Wall, bool)> = None;
    let mut past: Vec<Past> = Vec::new();
    for entry in &mut reader {
        match entry.with_context(|| path.display().to_string())? {
            Entry::Sample(sample) => {
                let acts = sample.knobs.ours != pressure::knob::KnobValues::default();
                last = Some((sample.at, sample.wall, acts));
            }
            Entry::Decision(decision) if !decision.steps.is_empty() || !decision.notices.is_empty() => {
                let (at, wall, done) = last.unwrap_or_default();
                if past.len() == MAX_PAST {
                    past.remove(0);
                }
                let (steps, notices) = (decision.steps.clone(), decision.notices.clone());
                past.push(Past { at, wall, phase: decision.phase, done, steps, notices });
            }
            _ => {}
        }
    }
    reader.notes().iter().try_for_each(|note| writeln!(io::stderr(), "note: {note}"))?;
    Ok(past)
}

/// Time of day in UTC.
fn clock(wall: Wall) -> String {
    let seconds = wall.0 / 1000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
