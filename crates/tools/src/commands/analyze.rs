//! `warmset analyze`: the working set of a program in numbers, pictures and sentences.

mod captions;
mod charts;
mod labels;
mod report_page;

use crate::own_memory;
use crate::trace_input::{Counted, Input};
use crate::ui::atomic_file::Replacing;
use crate::ui::hinted::Hinted;
use crate::ui::{Context, Form, atomic_file, json, packed_file, plot, progress};
use anyhow::{Context as _, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::ReadNote;
use units::Bytes;
use workingset::analysis::{Analysis, Wanted};
use workingset::uses::{Gatherer, UseCounter};
use workingset::{About, Clock, Uses};

/// Show the working set of a program: its size over time, and the memory that it needs
///
/// Reads a reference trace, such as `warmset trace` records, and writes a report in one file. The report has the access map,
/// the size of the working set over time and its distribution, phases, the lifetime and miss curves of several policies,
/// space-time, and how long pages stay. A sentence under each picture says what it shows. Several traces are
/// shown together.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// More traces, shown together with the first
    others: Vec<PathBuf>,
    /// The report to write; its name must end in .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replacing: Replacing,
    /// Also write each picture to this directory, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Windows of the working set, in the trace's unit of time [default: three, chosen by the trace]
    #[arg(long, value_name = "TIME", value_delimiter = ',')]
    theta: Vec<u64>,
    /// Time to serve a fault, in the trace's unit of time, for space-time
    #[arg(long, value_name = "TIME", default_value_t = 100_000.0)]
    service: f64,
    /// Number of sizes at which OPT, FIFO and 2Q are run, in addition to those of the working set
    #[arg(long, value_name = "NUMBER", default_value_t = 6)]
    points: usize,
    /// The most memory to take, such as "8 GiB"; a trace that needs more is refused [default: what is available]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        anyhow::ensure!(
            path.extension().is_some_and(|end| end == "html"),
            "--output {}: the name must end in .html",
            path.display()
        );
        args.replacing.check(path)?;
    }
    let first = args.input.clone().counting(Counted::Trace);
    let inputs =
        std::iter::once(first.clone()).chain(args.others.iter().map(|path| first.of(path)));
    let wanted = Wanted {
        thetas: args.theta.clone(),
        points: args.points,
        service: args.service,
        ..Wanted::default()
    };
    let most = args.memory.or_else(own_memory::available);
    let analyses = inputs
        .map(|input| analyzed(&input, &wanted, most))
        .collect::<Result<Vec<_>>>()?;
    let (analyses, notes): (Vec<Analysis>, Vec<ReadNote>) = analyses.into_iter().unzip();
    if let Some(directory) = &args.pictures {
        pictures(directory, &analyses, args.replacing)?;
    }
    if let Some(path) = &args.output {
        let html = report_page::page(&analyses);
        packed_file::write(path, |file| Ok(file.write_all(html.as_bytes())?))?;
    }
    match context.form {
        Form::Json => {
            let noted: Vec<Noted<'_>> = analyses
                .iter()
                .zip(&notes)
                .map(|(analysis, trace)| Noted { analysis, trace })
                .collect();
            json(out, &noted)?;
        }
        Form::Text => {
            for analysis in &analyses {
                captions::summary(out, analysis)?;
            }
            if let Some(path) = &args.output {
                writeln!(out, "report: {}", path.display())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// An analysis, and what was read for it.
#[derive(Debug, serde::Serialize)]
struct Noted<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    trace: &'a ReadNote,
}

fn analyzed(input: &Input, wanted: &Wanted, most: Option<Bytes>) -> Result<(Analysis, ReadNote)> {
    let name = input.name();
    // What goes wrong when it is opened names the trace itself.
    let mut source = input.open_noting()?;
    let uses = gathered(&mut source, most).with_context(|| name.clone())?;
    let note = input.noted(source, Some(uses.pages()));
    let bar = progress::spinner(&format!("analyzing {name}"));
    let analysis = Analysis::of(&name, &uses, wanted).with_context(|| name.clone())?;
    bar.finish_and_clear();
    Ok((analysis, note))
}

/// Reads the trace; consecutive references to one page are joined.
///
/// Errors: its analysis would take more than `most`. The rest is then counted, so that the error says how much.
fn gathered(source: &mut dyn traces::Source, most: Option<Bytes>) -> Result<Uses> {
    let bar = progress::spinner("reading");
    let mut gatherer = Gatherer::default();
    let mut counter = None;
    let mut references = 0;
    let mut timed = true;
    let about = traces::ahead(source, |batch| {
        timed &= !batch.time.is_empty();
        references += batch.len() as u64;
        bar.set_position(references);
        if let Some(counter) = &mut counter {
            return Ok::<_, anyhow::Error>(UseCounter::push(counter, batch)?);
        }
        gatherer.push(batch)?;
        if most.is_some_and(|most| gatherer.analysis_bytes() > most.get()) {
            counter = Some(UseCounter::of(std::mem::take(&mut gatherer)));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    if let (Some(counter), Some(most)) = (counter, most) {
        return Err(too_large(&counter, most));
    }
    let clock = if timed {
        about.clock
    } else {
        Clock::References
    };
    Ok(gatherer.finish(About { clock, ..about })?)
}

fn too_large(counter: &UseCounter, most: Bytes) -> anyhow::Error {
    let needed = Bytes::new(counter.analysis_bytes());
    let what = format!(
        "to analyze {} references to {} pages takes about {needed} of memory, and {most} may be taken",
        counter.references(),
        counter.pages()
    );
    let part = match counter.references_within(most.get()) {
        0 => String::new(),
        last => format!("`--window 0..{last}` analyzes the beginning; "),
    };
    let hint = format!(
        "{part}`warmset curve --stream all` has LRU's curve of the whole trace, in memory for the pages; --memory allows more"
    );
    Hinted::new(what, hint).into()
}

/// Appends the ending; a dot that is in the name already is kept.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Writes the pictures of each analysis as SVG and PNG.
fn pictures(directory: &Path, analyses: &[Analysis], replacing: Replacing) -> Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{}: cannot make the directory", directory.display()))?;
    for analysis in analyses {
        for (name, svg) in charts::all(analysis) {
            let path = directory.join(format!("{}-{name}", analysis.program.name));
            let png = plot::png(&svg)?;
            let png_path = with_ending(&path, "png");
            replacing.check(&png_path)?;
            atomic_file::write(&png_path, |file| Ok(file.write_all(&png)?))?;
            let svg_path = with_ending(&path, "svg");
            replacing.check(&svg_path)?;
            atomic_file::write(&svg_path, |file| Ok(file.write_all(svg.as_bytes())?))?;
        }
    }
    Ok(())
}
