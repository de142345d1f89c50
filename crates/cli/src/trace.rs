//! `warmset trace`: from a running program to a reference trace.

mod damon;
mod engine;
mod lines;
mod living;
mod perf;
mod recording;
mod regions;
mod sample;
mod watch;

pub(crate) use damon::explained as no_damon;

use crate::hinted::Hinted;
use crate::{Context, Form, json, reference};
use anyhow::{Context as _, Result};
use engine::Engine;
use lines::Whose;
use recording::{Limits, Recording};
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::{Output, Reading};
use units::Span;
use workingset::Clock;

/// Record which pages a program uses, and when
///
/// The trace is what `analyze`, `simulate`, `curve` and `together` read. It has instructions and data, the threads of
/// the program and whatever it starts, and what each page is: code, heap, stack, a library, a file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = engine::ENGINES)]
pub(crate) struct Args {
    /// The program and its arguments, after `--`; with another engine than lackey a process's number; with --watch that, or
    /// a control group's folder
    #[arg(required_unless_present_any = ["pid", "engine"], trailing_var_arg = true, value_name = "PROGRAM")]
    what: Vec<OsString>,
    /// What looks [default: lackey; sample with --pid]
    #[arg(long, value_enum, conflicts_with = "watch")]
    engine: Option<Engine>,
    /// A process that runs
    #[arg(long, value_name = "NUMBER", conflicts_with = "what")]
    pid: Option<u32>,
    /// Where to [default: the program's name and .parquet]; a name that ends in .arrow makes an Arrow stream
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Bytes of a page
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    page_size: u64,
    /// Only the program itself, not what it starts: more than twice as fast
    #[arg(long)]
    alone: bool,
    /// Leave out so many references first: a program's start. They are seen, and take their time
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    skip: u64,
    /// Stop after so many references, and end the program if we started it
    #[arg(long, value_name = "NUMBER")]
    references: Option<u64>,
    /// Stop after this long, such as "30 s", and end the program if we started it
    #[arg(long = "for", value_name = "SPAN")]
    duration: Option<Span>,
    /// Count time in bytes of instructions, as the founding report did, not in instructions
    #[arg(long)]
    as_published: bool,
    /// Say every so often how much a running process used, until it ends, and record nothing
    #[arg(long, conflicts_with_all = ["output", "alone", "references", "skip", "as_published"])]
    watch: bool,
    /// Of what runs: the window, and how often [default: 1 s; damon 100 ms]; --watch and sample take longer where looking
    /// would take more than 1 % of the time
    #[arg(long, value_name = "SPAN")]
    every: Option<Span>,
}

/// What was recorded, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Recorded {
    output: String,
    references: u64,
    pages: usize,
    time: u64,
    tasks: usize,
    seconds: f64,
    references_per_second: f64,
    bytes_per_reference: f64,
    cut: Option<String>,
    ended: String,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if args.watch {
        return watch::run(args, context, out);
    }
    let engine = Engine::of(args)?;
    if engine != Engine::Lackey {
        return living::run(args, engine, context, out);
    }
    started(args, context, out)
}

/// A program that lackey sees from its start.
fn started(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    Reading::of_pages(args.page_size)?;
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| default_output(&args.what));
    let output = output_of(&path)?;
    let whose = if args.alone {
        Whose::Alone
    } else {
        Whose::Family
    };
    let words: Vec<_> = args
        .what
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let clock = if args.as_published {
        Clock::InstructionBytes
    } else {
        Clock::Instructions
    };
    let mut about = recording::about(words.join(" "), args.page_size, clock);
    about.parameters.extend((args.skip > 0).then(|| {
        (
            "left out".to_owned(),
            format!("the first {} references", args.skip),
        )
    }));
    lines::check(&args.what)?;
    // The file is begun before the program: a folder that cannot be written to costs no run.
    let mut recorded = None;
    reference::whole(&path, |file| {
        let mut recording =
            Recording::new(lines::start(&args.what, whose)?, whose, args.skip, about)?;
        recording.limits = Limits {
            references: args.references,
            duration: args.duration.map(Span::get),
        };
        recording.bar = reference::spinner(recording::RECORDS);
        recorded = Some(record(&mut recording, output, file)?);
        Ok(())
    })?;
    let recorded = recorded.context("nothing was recorded")?;
    let size = std::fs::metadata(&path).map_or(0, |about| about.len());
    tell(
        out,
        context,
        Recorded {
            output: path.display().to_string(),
            bytes_per_reference: size as f64 / recorded.references as f64,
            ..recorded
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// What a file's name asks for.
fn output_of(path: &Path) -> Result<Output> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("arrow") => Ok(Output::Arrow),
        Some("parquet") => Ok(Output::Parquet),
        _ => {
            let what = format!(
                "{}: a name that ends in .parquet or .arrow is meant",
                path.display()
            );
            Err(Hinted::new(
                what,
                "such as ls.parquet; warmset convert makes other formats of it",
            )
            .into())
        }
    }
}

/// `ls.parquet` in the folder in which we are.
fn default_output(what: &[OsString]) -> PathBuf {
    let name = what
        .first()
        .and_then(|program| Path::new(program).file_name())
        .unwrap_or_default();
    let mut name = name.to_os_string();
    name.push(".parquet");
    PathBuf::from(name)
}

fn record(
    recording: &mut Recording,
    output: Output,
    file: &mut (dyn Write + Send),
) -> Result<Recorded> {
    let written = traces::write(recording, output, file);
    let seconds = recording.elapsed().as_secs_f64();
    let status = recording.end()?;
    recording.bar.finish_and_clear();
    if recording.decoder.references() == 0 {
        let notes = recording.decoder.notes().join("\n  ");
        let what = format!(
            "nothing was recorded: the program ended {}",
            recording::ended(status)
        );
        if recording.decoder.to_skip() > 0 {
            let short = format!(
                "{} references of those to leave out had not come; --skip less",
                recording.decoder.to_skip()
            );
            return Err(Hinted::new(what, short).into());
        }
        return Err(Hinted::new(what, format!("Valgrind said:\n  {notes}")).into());
    }
    let references = written?;
    Ok(Recorded {
        output: String::new(),
        references,
        pages: recording.decoder.pages(),
        time: recording.decoder.time(),
        tasks: recording.decoder.tasks().len(),
        seconds,
        references_per_second: references as f64 / seconds,
        bytes_per_reference: 0.0,
        cut: recording.cut().map(str::to_owned),
        ended: recording::ended(status),
    })
}

fn tell(out: &mut impl Write, context: &Context, recorded: Recorded) -> Result<()> {
    if context.form == Form::Json {
        return json(out, &recorded);
    }
    writeln!(
        out,
        "{}: {} references to {} pages in {} instructions, {} tasks; {:.1} s, {:.2} M references/s, {:.3} bytes each",
        recorded.output,
        recorded.references,
        recorded.pages,
        recorded.time,
        recorded.tasks,
        recorded.seconds,
        recorded.references_per_second / 1e6,
        recorded.bytes_per_reference
    )?;
    if let Some(why) = &recorded.cut {
        writeln!(out, "cut {why}: the trace does not show the whole run")?;
    }
    Ok(writeln!(out, "the program ended {}", recorded.ended)?)
}
