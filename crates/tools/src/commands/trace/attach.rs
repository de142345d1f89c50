//! Recording what is running already.

use super::arguments::Args;
use super::engine::Engine;
use super::live::{LiveRecording, PAGE, Summary, Until};
use super::output::{default_path, format_of};
use super::{damon, perf, sample};
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json, packed_file};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::Output;

/// A finished recording, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    engine: &'static str,
    references: u64,
    seconds: f64,
    resolution: String,
    looking_share: Option<f64>,
    cannot_see: &'static str,
    ended: String,
}

pub(super) fn run(
    args: &Args,
    engine: Engine,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| usual_path(args, engine));
    let output = format_of(&path)?;
    args.replacing.check(&path)?;
    anyhow::ensure!(
        args.page_size == PAGE,
        "--page-size {}: a running process is observed in pages of {PAGE} bytes",
        args.page_size
    );
    let (references, summary) = record_to(&path, output, args, engine, &context.root)?;
    let recorded = Recorded {
        output: path.display().to_string(),
        engine: engine.name(),
        references,
        seconds: summary.lasted.as_secs_f64(),
        resolution: summary.resolution,
        looking_share: summary.looking,
        cannot_see: engine.cannot_see(),
        ended: summary.end,
    };
    match context.form {
        Form::Json => json(out, &recorded)?,
        Form::Text => print_text(out, &recorded)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Records into a file. The file is begun first, so that a directory that cannot be written to costs no recording.
fn record_to(
    path: &Path,
    output: Output,
    args: &Args,
    engine: Engine,
    root: &Path,
) -> Result<(u64, Summary)> {
    let mut recorded = None;
    // An engine's refusal has nothing to do with the file, so it is not told as an error of the file.
    let mut refused = None;
    let written = packed_file::write(path, |file| {
        let mut recording = match start(args, engine, root) {
            Ok(recording) => recording,
            Err(error) => {
                refused = Some(error);
                anyhow::bail!("nothing was begun");
            }
        };
        recorded = Some(record(&mut *recording, output, file)?);
        Ok(())
    });
    if let Some(error) = refused {
        return Err(error);
    }
    written?;
    recorded.context("nothing was recorded")
}

/// Records until the end; returns the number of references, and the summary.
fn record(
    recording: &mut dyn LiveRecording,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<(u64, Summary)> {
    let written = traces::write(recording.source(), output, file);
    let summary = recording.summary();
    if let Err(traces::Error::Trace(workingset::Error::Empty)) = written {
        let what = format!("no use of a page was seen; it ended {}", summary.end);
        let hint = "observe for longer, or a process that does something";
        return Err(Hinted::new(what, hint).into());
    }
    Ok((written?, summary))
}

/// Begins to observe, with what the engine needs set up.
fn start(args: &Args, engine: Engine, root: &Path) -> Result<Box<dyn LiveRecording>> {
    let until = Until::new(args.limits())?;
    match engine {
        Engine::Sample => sample::start(args, root, until),
        Engine::Damon | Engine::DamonPhysical => damon::start(args, engine, root, until),
        Engine::Perf => perf::start(args, until),
        Engine::Valgrind | Engine::Uses | Engine::Lackey | Engine::Qemu => {
            anyhow::bail!("Valgrind and QEMU see only programs that they start")
        }
    }
}

/// Named by the process's number, or by the engine where there is none.
fn usual_path(args: &Args, engine: Engine) -> PathBuf {
    if let Some(pid) = args.pid {
        return default_path(&OsString::from(pid.to_string()));
    }
    match args.what.first() {
        Some(word) => default_path(word),
        None => default_path(&OsString::from(engine.name())),
    }
}

fn print_text(out: &mut impl Write, recorded: &Recorded) -> Result<()> {
    let Recorded {
        output,
        engine,
        references,
        seconds,
        resolution,
        looking_share,
        cannot_see,
        ended,
    } = recorded;
    writeln!(
        out,
        "{output}: {references} uses of pages in {seconds:.1} s by {engine}, resolution {resolution}"
    )?;
    if let Some(share) = looking_share {
        writeln!(out, "observing took {:.2} % of one CPU", 100.0 * share)?;
    }
    writeln!(out, "not seen: {cannot_see}")?;
    writeln!(out, "it ended {ended}")?;
    Ok(())
}
