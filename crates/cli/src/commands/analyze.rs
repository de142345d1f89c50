//! `warmset analyze`: the working set of a program in numbers, pictures and words.

mod captions;
mod charts;
mod labels;
mod report_page;

use crate::trace_input::{Counted, Input};
use crate::ui::{Context, Form, atomic_file, json, plot, progress};
use anyhow::{Context as _, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workingset::analysis::{Analysis, Wanted};
use workingset::uses::Gatherer;
use workingset::{About, Clock, Uses};

/// Show the working set of a program: how large, when, and what memory it is worth
///
/// From a reference trace, such as `warmset trace` records, comes a report in one file: the access map, the working
/// set's size over time and how it is spread, phases, lifetime and miss curves of the policies beside each other,
/// space-time, how long pages stay; each with what it says about this program. Several traces stand side by side.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// More traces, to be shown beside the first
    others: Vec<PathBuf>,
    /// The report: a name that ends in .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write each picture to this folder too, as SVG and PNG
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// Windows of the working set, in the trace's time [default: three, chosen by the trace]
    #[arg(long, value_name = "TIME", value_delimiter = ',')]
    theta: Vec<u64>,
    /// Time that a fault's service takes, in the trace's time, for space-time
    #[arg(long, value_name = "TIME", default_value_t = 100_000.0)]
    service: f64,
    /// Sizes of memory at which OPT, FIFO and 2Q are run, beside those of the working set
    #[arg(long, value_name = "NUMBER", default_value_t = 6)]
    points: usize,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        anyhow::ensure!(
            path.extension().is_some_and(|end| end == "html"),
            "--output {}: a name that ends in .html is meant",
            path.display()
        );
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
    let analyses = inputs
        .map(|input| analyzed(&input, &wanted))
        .collect::<Result<Vec<_>>>()?;
    if let Some(directory) = &args.pictures {
        pictures(directory, &analyses)?;
    }
    if let Some(path) = &args.output {
        let html = report_page::page(&analyses);
        atomic_file::write(path, |file| Ok(file.write_all(html.as_bytes())?))?;
    }
    match context.form {
        Form::Json => json(out, &analyses)?,
        Form::Text => {
            analyses
                .iter()
                .try_for_each(|analysis| captions::summary(out, analysis))?;
            if let Some(path) = &args.output {
                writeln!(out, "report: {}", path.display())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn analyzed(input: &Input, wanted: &Wanted) -> Result<Analysis> {
    let name = input.name();
    let uses = gathered(input).with_context(|| name.clone())?;
    let bar = progress::spinner(&format!("analyzing {name}"));
    let analysis = Analysis::of(&name, &uses, wanted).with_context(|| name.clone())?;
    bar.finish_and_clear();
    Ok(analysis)
}

/// The trace, references to one page one after the other as one.
fn gathered(input: &Input) -> Result<Uses> {
    let bar = progress::spinner("reading");
    let (mut source, mut gatherer) = (input.open()?, Gatherer::default());
    let (mut references, mut timed) = (0, true);
    let about = traces::ahead(&mut *source, |batch| {
        timed &= !batch.time.is_empty();
        references += batch.len() as u64;
        bar.set_position(references);
        Ok::<_, anyhow::Error>(gatherer.push(batch)?)
    })?;
    bar.finish_and_clear();
    let clock = if timed {
        about.clock
    } else {
        Clock::References
    };
    Ok(gatherer.finish(About { clock, ..about })?)
}

fn pictures(directory: &Path, analyses: &[Analysis]) -> Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{}: cannot make the folder", directory.display()))?;
    for analysis in analyses {
        for (name, svg) in charts::all(analysis) {
            let path =
                |end: &str| directory.join(format!("{}-{name}.{end}", analysis.program.name));
            let bytes = plot::png(&svg)?;
            atomic_file::write(&path("png"), |file| Ok(file.write_all(&bytes)?))?;
            atomic_file::write(&path("svg"), |file| Ok(file.write_all(svg.as_bytes())?))?;
        }
    }
    Ok(())
}
