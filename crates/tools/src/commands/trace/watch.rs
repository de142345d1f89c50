//! `warmset trace --watch`: the working set of a running process, in numbers.

use super::arguments::Args;
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, json_line};
use anyhow::{Context as _, Result};
use host::{Error, ErrorKind};
use inspect::tracee::{Used, Watch, Watched};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Observing takes at most one part in so many of one CPU: 1 %, which a program hardly notices.
pub(super) const PART: u32 = 100;

/// Time between two looks by default: a person can read that many lines.
const EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two looks: with less, little of it is left to the process.
const LEAST: Duration = Duration::from_millis(10);

/// One look, as `--json` prints it.
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

/// Time between two looks, by the options.
pub(super) fn interval(args: &Args) -> Duration {
    args.every.map_or(EVERY, units::Span::get).max(LEAST)
}

impl Line {
    /// From a look and the one before; `window` is the time between them, `cost` the CPU time that this one took.
    fn of(used: &Used, before: &Used, elapsed: Duration, window: Duration, cost: Duration) -> Self {
        let seconds = window.as_secs_f64();
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        Self {
            seconds: elapsed.as_secs_f64(),
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
    let watch = Watch::of(&context.root, target(args)?).map_err(explained)?;
    let began = Instant::now();
    // The first look is not shown: it shows what a look costs.
    let Some(mut before) = watch.end().map_err(explained)? else {
        return Err(no_such_process(args));
    };
    let mut every = interval(args).max(before.cost * 2 * PART);
    let mut lines = 0;
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
        let window = looked.elapsed();
        let line = Line::of(&used, &before, began.elapsed(), window, cost);
        print(out, context.form, lines, &line)?;
        before = used;
        lines += 1;
        every = every.max(cost * PART);
        if args
            .duration
            .is_some_and(|duration| began.elapsed() >= duration.get())
        {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if lines == 0 {
        return Err(no_such_process(args));
    }
    if context.form == Form::Text {
        writeln!(out, "it has ended")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn no_such_process(args: &Args) -> anyhow::Error {
    let hint = "give its number, as ps prints it, or the directory of a control group under /sys/fs/cgroup";
    Hinted::new(format!("{}: no such process", named(args)), hint).into()
}

/// The process or group as it was written.
fn named(args: &Args) -> String {
    if let Some(pid) = args.pid {
        return pid.to_string();
    }
    match args.what.first() {
        Some(word) => word.to_string_lossy().into_owned(),
        None => String::new(),
    }
}

fn target(args: &Args) -> Result<Watched> {
    if let Some(pid) = args.pid {
        return Ok(Watched::Process(pid));
    }
    let text = named(args);
    if let Some(directory) = args.what.first().filter(|_| text.contains('/')) {
        return Ok(Watched::Group(PathBuf::from(directory)));
    }
    let pid = text.parse().with_context(|| {
        format!("'{text}' is neither a process number nor the directory of a control group")
    })?;
    Ok(Watched::Process(pid))
}

/// A refusal, with what to do about it.
pub(super) fn explained(error: Error) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Hinted::new(error, "only root may look at other users' processes").into()
        }
        _ => error.into(),
    }
}

/// The error for a process that cannot be observed at all.
pub(super) fn no_process(error: Error, pid: u32) -> anyhow::Error {
    match &error.kind {
        ErrorKind::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => Hinted::new(
            format!("{pid}: no such process"),
            "give its number, as ps prints it",
        )
        .into(),
        _ => explained(error),
    }
}

fn print(out: &mut impl Write, form: Form, lines: usize, line: &Line) -> Result<()> {
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
