//! `warmset replay`: repeats the decisions of a recording, or models other configurations on its demand.

use crate::config_file;
use crate::ui::text::{Side, table};
use crate::ui::{Context, Form, json};
use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use host::recordings::{self, Notes, ReadError, Reader};
use pressure::Config;
use pressure::decision::{Action, Decision};
use pressure::recording::Entry;
use pressure::replay::{
    Again, Arm, Calibrating, Calibration, Comparison, Coverage, Deciding, Outcome, Plan, RESPONSE,
    Recorded, Rewriting, Survey,
};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::NamedTempFile;
use units::Span;

/// Most differing decisions that the text shows: a screen has no more rows, and `--json` has more.
const SHOWN: usize = 20;
/// Entries between two updates of the progress line: more often would slow the reading down.
const PROGRESS: u64 = 10_000;

/// Repeat the decisions of a recording, or compare configurations on its demand
///
/// Without --compare, decisions are made again from the recorded samples, and those that differ are listed. With --config,
/// another configuration makes them. With --compare, a model of the machine meets the recorded demand under each
/// configuration, called an arm. Exit code 1: it failed, or decisions differ under --verify.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Recordings, oldest first; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Decide by this configuration [default: the recorded one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Compare these arms, too, with `recorded`, `none` and `warmset`: static:1 to static:3000, classic
    #[arg(long, value_name = "ARMS", value_delimiter = ',', num_args = 0..)]
    compare: Option<Vec<Arm>>,
    /// Time that the modelled kswapd takes from its wake-up to the first page that it frees
    #[arg(long, value_name = "SPAN", default_value_t = Span::new(RESPONSE), requires = "compare")]
    response: Span,
    /// Print how often forecasts came true
    #[arg(long, conflicts_with_all = ["config", "compare", "verify"])]
    coverage: bool,
    /// Fail if any decision differs from the recorded one
    #[arg(long, conflicts_with_all = ["config", "compare"])]
    verify: bool,
    /// Write the recording anew: the same samples, with decisions and states as this build makes them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "compare", "coverage", "verify"])]
    rewrite: Option<PathBuf>,
}

/// The result, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<Again>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Calibration>,
    /// Flaws of the files that a reader should know of.
    notes: Vec<String>,
}

/// Replays, and prints the result on `out`.
pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let config = config_file::load(args.config.as_deref())?;
    let mut report = Report {
        again: None,
        comparison: None,
        coverage: None,
        notes: Vec::new(),
    };
    let notes = if let Some(others) = &args.compare {
        let plan = Plan {
            arms: &Arm::beside_usual(others),
            config: config.as_ref(),
            response: args.response.get(),
        };
        let (comparison, notes) = compared(&args.files, &plan)?;
        report.comparison = Some(comparison);
        notes
    } else if args.coverage {
        let mut calibrating = Calibrating::default();
        let notes = each_entry(&args.files, |entry| Ok(calibrating.take(entry)?))?;
        report.coverage = Some(calibrating.end()?);
        notes
    } else {
        let mut anew = args.rewrite.as_deref().map(Anew::create).transpose()?;
        let mut deciding = Deciding::by(config.clone());
        let notes = each_entry(&args.files, |entry| {
            if let Some(anew) = &mut anew {
                anew.take(entry)?;
            }
            Ok(deciding.take(entry)?)
        })?;
        if let Some(anew) = anew {
            anew.end()?;
        }
        report.again = Some(deciding.end()?);
        notes
    };
    report.notes = notes.lines();
    if context.form == Form::Json {
        json(out, &report)?;
    } else {
        text(out, &report, config.as_ref())?;
    }
    let same = report
        .again
        .as_ref()
        .is_none_or(|again| again.differ == 0 && again.decisions > 0);
    Ok(if args.verify && !same {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Hands every entry of `files` to `take`.
fn each_entry(files: &[PathBuf], mut take: impl FnMut(&Entry) -> Result<()>) -> Result<Notes> {
    let mut progress = Progress::new();
    let readers = files.iter().map(|file| Reader::open(file));
    let read = recordings::read(readers, |entry| {
        progress.step();
        take(&entry)
    });
    progress.clear();
    read
}

/// Runs the model, which passes over the files twice.
fn compared(files: &[PathBuf], plan: &Plan<'_>) -> Result<(Comparison, Notes)> {
    let spooled = files.iter().any(|file| file == Path::new("-")).then(spool);
    let spooled = spooled.transpose()?;
    let open = |file: &PathBuf| match &spooled {
        Some(spooled) if file == Path::new("-") => {
            let again = spooled.reopen().map_err(|error| ReadError::Io {
                path: file.clone(),
                error,
            })?;
            Reader::of(file, Box::new(BufReader::new(again)))
        }
        _ => Reader::open(file),
    };
    let mut progress = Progress::new();
    let mut survey = Survey::default();
    let notes = recordings::read(files.iter().map(open), |entry| {
        progress.step();
        survey.take(&entry);
        Ok::<(), anyhow::Error>(())
    })?;
    let mut modelling = survey.model(plan)?;
    recordings::read(files.iter().map(open), |entry| {
        progress.step();
        Ok::<(), anyhow::Error>(modelling.take(&entry)?)
    })?;
    progress.clear();
    Ok((modelling.end(), notes))
}

/// Keeps standard input in a file, because it can be read only once.
fn spool() -> Result<NamedTempFile> {
    let mut file = NamedTempFile::new().context("cannot keep standard input in a file")?;
    io::copy(&mut io::stdin().lock(), &mut file).context("cannot keep standard input in a file")?;
    Ok(file)
}

/// A recording that is written anew, to a file that must not be there yet, compressed if its name ends in `.gz`.
struct Anew {
    path: PathBuf,
    rewriting: Rewriting,
    text: Vec<u8>,
    out: Out,
}

enum Out {
    Plain(File),
    Gzip(GzEncoder<File>),
}

impl Anew {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create_new(path)
            .with_context(|| format!("{}: cannot create a new file", path.display()))?;
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let out = if is_gzip {
            Out::Gzip(GzEncoder::new(file, Compression::best()))
        } else {
            Out::Plain(file)
        };
        Ok(Self {
            path: path.to_owned(),
            rewriting: Rewriting::default(),
            text: Vec::new(),
            out,
        })
    }

    fn take(&mut self, entry: &Entry) -> Result<()> {
        self.text.clear();
        self.rewriting.take(entry, &mut self.text)?;
        let written = match &mut self.out {
            Out::Plain(file) => file.write_all(&self.text),
            Out::Gzip(encoder) => encoder.write_all(&self.text),
        };
        written.with_context(|| format!("{}: cannot write", self.path.display()))
    }

    fn end(self) -> Result<()> {
        let written = match self.out {
            Out::Plain(_) => Ok(()),
            Out::Gzip(encoder) => encoder.finish().map(drop),
        };
        written.with_context(|| format!("{}: cannot write", self.path.display()))?;
        Ok(self.rewriting.end()?)
    }
}

/// A line on a terminal while a long recording is read.
struct Progress {
    entries: u64,
    terminal: bool,
}

impl Progress {
    fn new() -> Self {
        Self {
            entries: 0,
            terminal: io::stderr().is_terminal(),
        }
    }

    fn step(&mut self) {
        self.entries += 1;
        if self.terminal && self.entries % PROGRESS == 0 {
            // A closed terminal is no reason to fail.
            let _ = write!(io::stderr(), "\r{} entries", self.entries);
        }
    }

    fn clear(&self) {
        if self.terminal && self.entries >= PROGRESS {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn text(out: &mut impl Write, report: &Report, config: Option<&Config>) -> io::Result<()> {
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    if let Some(again) = &report.again {
        again_text(out, again, config)?;
    }
    if let Some(comparison) = &report.comparison {
        comparison_text(out, comparison)?;
    }
    if let Some(Calibration { growth, demand }) = &report.coverage {
        coverage_text(
            out,
            "growth over the next 30 s within its interval",
            *growth,
        )?;
        coverage_text(
            out,
            "demand within the quantile that sizes the gap",
            *demand,
        )?;
    }
    Ok(())
}

fn again_text(out: &mut impl Write, again: &Again, config: Option<&Config>) -> io::Result<()> {
    let by = if config.is_some() {
        "given"
    } else {
        "recorded"
    };
    let differing = again.differ;
    write!(
        out,
        "{} samples, {} decisions made again by the {by} configuration: ",
        again.samples, again.decisions
    )?;
    match differing {
        0 if again.decisions == 0 => writeln!(out, "nothing to compare with")?,
        0 => writeln!(out, "all the same")?,
        _ => writeln!(out, "{differing} differ")?,
    }
    if again.lost > 0 {
        writeln!(
            out,
            "{} samples are missing; decisions after them may differ because of that",
            again.lost
        )?;
    }
    if again.without_state > 0 && config.is_none() {
        writeln!(
            out,
            "this version cannot read the recorded state: the first decisions may differ because of that"
        )?;
    }
    for difference in again.differing.iter().take(SHOWN) {
        let was = summary(&difference.recorded);
        let is = summary(&difference.again);
        let at = difference.at.get().as_secs_f64();
        if was == is {
            writeln!(out, "  at {at:.1} s: {was}, with other numbers")?;
        } else {
            writeln!(out, "  at {at:.1} s: {was}  →  {is}")?;
        }
    }
    let shown = again.differing.len().min(SHOWN) as u64;
    if differing > shown {
        let more = differing - shown;
        let most = Again::MOST;
        writeln!(out, "… and {more} more; --json has the first {most}")?;
    }
    Ok(())
}

fn coverage_text(out: &mut impl Write, what: &str, coverage: Coverage) -> io::Result<()> {
    let Coverage { said, made, held } = coverage;
    let share = match coverage.share() {
        Some(share) => format!("{:.1} %", share * 100.0),
        None => "unknown".to_owned(),
    };
    writeln!(
        out,
        "{what}: expected {:.1} %, was {share} ({held} of {made})",
        said * 100.0
    )
}

/// A decision in a few words.
fn summary(decision: &Decision) -> String {
    let mut words = vec![decision.phase.name().to_owned()];
    for step in &decision.steps {
        words.push(match step.action {
            Action::PutBack { knob, from, to } => {
                format!("{} {from} → {to} (back)", knob.spec().name)
            }
            other => other.to_string(),
        });
    }
    words.join(", ")
}

fn comparison_text(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    let Comparison {
        kernel,
        samples,
        time,
        found_gap,
        found_factor,
        reclaim,
        response,
        bursts,
        recorded,
        ..
    } = comparison;
    let assumed = if comparison.reclaim_assumed {
        " (assumed: it never ran)"
    } else {
        ""
    };
    writeln!(out, "Linux {kernel}, {samples} samples over {time}")?;
    writeln!(out, "found:   gap {found_gap} (factor {found_factor})")?;
    writeln!(
        out,
        "kswapd:  frees {reclaim} while it runs{assumed}, from {response} after its wake-up"
    )?;
    writeln!(out, "bursts:  {bursts} larger than the gap found")?;
    let Recorded {
        episodes,
        stalls,
        stalled,
        pressure,
    } = recorded;
    writeln!(
        out,
        "counted: {episodes} episodes, {stalls} stalls, {stalled} reclaimed by allocations, {pressure} under pressure"
    )?;
    writeln!(out)?;
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(
        comparison
            .arms
            .iter()
            .map(|outcome| row(outcome, comparison.bursts)),
    );
    let mut sides = [Side::Right; HEAD.len()];
    sides[0] = Side::Left;
    out.write_all(table(sides, &rows).as_bytes())
}

const HEAD: [&str; 12] = [
    "modelled",
    "episodes",
    "stalled",
    "for",
    "met",
    "lead",
    "raises",
    "false",
    "gap·s",
    "writes",
    "mean factor",
    "kswapd freed",
];

fn row(outcome: &Outcome, bursts: u64) -> [String; 12] {
    [
        outcome.arm.clone(),
        outcome.episodes.to_string(),
        outcome.stalled.to_string(),
        outcome.stalled_time.to_string(),
        format!("{}/{bursts}", outcome.bursts_met),
        outcome
            .lead
            .map_or_else(|| "-".to_owned(), |lead| lead.to_string()),
        outcome.raises.to_string(),
        outcome.false_alarms.to_string(),
        units::Bytes::new(outcome.gap_seconds).to_string(),
        outcome.writes.to_string(),
        format!("{:.0}", outcome.mean_factor),
        outcome.reclaimed.to_string(),
    ]
}

#[cfg(test)]
mod tests;
