//! `warmset trace --watch`: the working set of what runs, in numbers.

use super::Args;
use crate::hinted::Hinted;
use crate::{Context, Form, json_line};
use anyhow::{Context as _, Result};
use host::{Error, ErrorKind};
use inspect::tracee::{Used, Watch, Watched};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Looking takes no more of a processor than one part in so many.
pub(super) const PART: u32 = 100;

/// Between two looks, unless asked otherwise.
const EVERY: Duration = Duration::from_secs(1);
/// No oftener, whatever is asked.
const LEAST: Duration = Duration::from_millis(10);

/// A look, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Line {
    seconds: f64,
    window_seconds: f64,
    processes: usize,
    working_set_bytes: u64,
    resident_bytes: u64,
    swapped_bytes: u64,
    minor_faults_per_second: f64,
    major_faults_per_second: f64,
    looking_share: f64,
}

/// Between two looks, as asked.
pub(super) fn every(args: &Args) -> Duration {
    args.every.map_or(EVERY, units::Span::get).max(LEAST)
}

impl Line {
    /// A look, what it took, and the one before.
    fn of((used, before): (&Used, &Used), window: Duration, cost: Duration) -> Self {
        let seconds = window.as_secs_f64();
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        Self {
            seconds: 0.0,
            window_seconds: seconds,
            processes: used.processes,
            working_set_bytes: used.referenced.get(),
            resident_bytes: used.resident.get(),
            swapped_bytes: used.swapped.get(),
            minor_faults_per_second: rate(used.faults.0, before.faults.0),
            major_faults_per_second: rate(used.faults.1, before.faults.1),
            looking_share: cost.as_secs_f64() / seconds,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let watch = Watch::of(&context.root, whom(args)?).map_err(explained)?;
    let began = Instant::now();
    // What a look costs is known from the first, which is not shown.
    let Some(mut before) = watch.end().map_err(explained)? else {
        return Err(nobody_of_that_name(args));
    };
    let (mut every, mut lines) = (every(args).max(before.cost * 2 * PART), 0);
    loop {
        let looked = Instant::now();
        let Some(clearing) = watch.begin().map_err(explained)? else {
            break;
        };
        std::thread::sleep(every.saturating_sub(looked.elapsed()));
        let Some(used) = watch.end().map_err(explained)? else {
            break;
        };
        let cost = clearing + used.cost;
        let line = Line::of((&used, &before), looked.elapsed(), cost);
        tell(
            out,
            context.form,
            lines,
            &Line {
                seconds: began.elapsed().as_secs_f64(),
                ..line
            },
        )?;
        (before, lines) = (used, lines + 1);
        every = every.max(cost * PART);
        if args
            .duration
            .is_some_and(|duration| began.elapsed() >= duration.get())
        {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if lines == 0 {
        return Err(nobody_of_that_name(args));
    }
    if context.form == Form::Text {
        writeln!(out, "it has ended")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn nobody_of_that_name(args: &Args) -> anyhow::Error {
    let hint = "its number, as ps prints it, or the folder of a control group under /sys/fs/cgroup";
    Hinted::new(format!("{}: no such process", named(args)), hint).into()
}

/// What is meant, as it was written.
fn named(args: &Args) -> String {
    let word = || {
        args.what
            .first()
            .map(|word| word.to_string_lossy().into_owned())
    };
    args.pid
        .map(|pid| pid.to_string())
        .or_else(word)
        .unwrap_or_default()
}

fn whom(args: &Args) -> Result<Watched> {
    if let Some(pid) = args.pid {
        return Ok(Watched::Process(pid));
    }
    let text = named(args);
    if let Some(directory) = args.what.first().filter(|_| text.contains('/')) {
        return Ok(Watched::Group(PathBuf::from(directory)));
    }
    let meant = || format!("'{text}': a process's number or a control group's folder is meant");
    Ok(Watched::Process(text.parse().with_context(meant)?))
}

/// A refusal, with who may.
pub(super) fn explained(error: Error) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Hinted::new(error, "only root may look at other users' processes").into()
        }
        _ => error.into(),
    }
}

/// A refusal to look at a process at all.
pub(super) fn nobody(error: Error, pid: u32) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => Hinted::new(
            format!("{pid}: no such process"),
            "its number, as ps prints it",
        )
        .into(),
        _ => explained(error),
    }
}

fn tell(out: &mut impl Write, form: Form, lines: usize, line: &Line) -> Result<()> {
    if form == Form::Json {
        json_line(out, line)?;
        return Ok(out.flush()?);
    }
    if lines == 0 {
        writeln!(
            out,
            "{:>8} {:>8} {:>12} {:>12} {:>8} {:>12} {:>10} {:>10} {:>8}",
            "time, s",
            "window",
            "used, MiB",
            "resident",
            "share",
            "swapped",
            "minor/s",
            "major/s",
            "looking"
        )?;
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    writeln!(
        out,
        "{:>8.1} {:>8.2} {:>12.1} {:>12.1} {:>7.1}% {:>12.1} {:>10.0} {:>10.0} {:>7.2}%",
        line.seconds,
        line.window_seconds,
        mib(line.working_set_bytes),
        mib(line.resident_bytes),
        100.0 * line.working_set_bytes as f64 / line.resident_bytes.max(1) as f64,
        mib(line.swapped_bytes),
        line.minor_faults_per_second,
        line.major_faults_per_second,
        100.0 * line.looking_share
    )?;
    Ok(out.flush()?)
}
