//! `warmset curve`: faults and lifetimes against memory, for every size at once.

mod size;

use crate::trace_input::{Counted, Input};
use crate::ui::{Context, Form, json_line, plot, progress};
use anyhow::{Result, bail};
use report::{Axis, Chart, Mark, Part, Scale, Series};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use workingset::Trace;
use workingset::measure::sample::{Sampling, sampled};
use workingset::measure::stream::Stream;
use workingset::measure::{Lifetime, Point};
use workingset::policy::Choice;

/// Draw how long a program runs between faults against the memory it has
///
/// lru is exact at every size from one pass, ws and vmin at every window from another; any other policy of
/// `warmset policies` is run at --points sizes. All stand on one scale: the mean size in memory, not its limit.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Policies
    #[arg(
        long,
        value_name = "POLICY",
        value_delimiter = ',',
        default_value = "lru,ws,opt"
    )]
    of: Vec<String>,
    /// Sizes at which policies are run that have no curve of their own, and lines of the table
    #[arg(long, value_name = "NUMBER", default_value_t = 24)]
    points: usize,
    /// Time to serve a fault, in the trace's time, for the space-time product
    #[arg(long, value_name = "TIME", default_value_t = 10_000.0)]
    service: f64,
    /// LRU from a sample of the pages: a share such as 0.01, or a number of pages
    #[arg(long, value_name = "RATE|PAGES")]
    sample: Option<f64>,
    /// LRU alone, of a trace of any length in constant memory: follow at most so many pages
    #[arg(long, value_name = "PAGES", conflicts_with_all = ["sample", "of", "plot", "csv"])]
    stream: Option<usize>,
    /// What is drawn and tabled
    #[arg(long, value_enum, default_value_t = Show::Lifetime)]
    show: Show,
    /// Windows of the working set, with --show size, in the trace's time
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_value = "100000"
    )]
    theta: Vec<u64>,
    /// Beside each curve the one that the founding report's own arithmetic gives, of a lackey trace: time in bytes of
    /// instructions, and data pages that leave the working set early
    #[arg(long, conflicts_with_all = ["sample", "stream"])]
    as_published: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Draw the curves, to a file that ends in .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Show {
    /// Mean time between faults
    Lifetime,
    /// Misses for each reference
    Misses,
    /// Space-time product
    SpaceTime,
    /// The size of the working set over time
    Size,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(pages) = args.stream {
        return stream(args, pages, context.form, out);
    }
    if args.show == Show::Size {
        return size::run(args, context, out);
    }
    let choices = args
        .of
        .iter()
        .map(|name| Choice::parse(name))
        .collect::<Result<Vec<_>, _>>()?;
    let trace = args.input.load()?;
    let bar = progress::steps("curves", choices.len());
    let mut curves = Vec::new();
    for choice in &choices {
        let began = Instant::now();
        let curve = curve(args, &trace, choice, out, context.form)?;
        curves.push((curve, began.elapsed().as_secs_f64()));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.as_published {
        let bytes = Args {
            input: published(args)?,
            ..args.clone()
        };
        let trace = bytes.input.load()?;
        for choice in &choices {
            let began = Instant::now();
            let mut curve = curve(&bytes, &trace, choice, out, context.form)?;
            curve.policy.push_str(" as published");
            curves.push((curve, began.elapsed().as_secs_f64()));
        }
    }
    if let Some(path) = &args.plot {
        plot(args, path, &curves, trace.len())?;
    }
    for (curve, seconds) in &curves {
        match (context.form, args.csv) {
            (Form::Json, _) => {
                let knees = curve.knees(args.service);
                let line = serde_json::json!({ "policy": curve.policy, "time": curve.time, "references": trace.len(),
                    "distinct": trace.pages(), "points": curve.points, "knees": knees,
                    "seconds": seconds, "references_per_second": trace.len() as f64 / seconds.max(1e-9) });
                json_line(out, &line)?;
            }
            (_, true) => csv(out, curve)?,
            _ => table(args, out, curve, trace.len())?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The input in the report's time, to be read once more.
fn published(args: &Args) -> Result<Input> {
    if args.input.is_pipe() {
        bail!("--as-published reads the trace twice: name a file instead of '-'");
    }
    Ok(args.input.clocked(Counted::Bytes))
}

/// The trace is not held: each reference is seen once.
fn stream(args: &Args, pages: usize, form: Form, out: &mut impl Write) -> Result<ExitCode> {
    let mut source = args.input.open()?;
    let mut stream = Stream::new(pages);
    let bar = progress::spinner("reading");
    traces::ahead(&mut *source, |batch| {
        batch.page.iter().for_each(|page| stream.push(*page));
        bar.set_position(stream.references());
        Ok::<_, anyhow::Error>(())
    })?;
    bar.finish_and_clear();
    let (curve, references) = (stream.curve(), stream.references());
    if references == 0 {
        bail!("the trace has no references");
    }
    if form == Form::Json {
        let points: Vec<_> = curve
            .iter()
            .map(|(size, misses)| serde_json::json!({ "size": size, "misses": misses }))
            .collect();
        let line = serde_json::json!({ "policy": "lru", "references": references, "distinct": stream.pages(),
            "rate": stream.rate(), "points": points });
        json_line(out, &line)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "lru from a rate of {:.5}: {references} references to about {:.0} pages",
        stream.rate(),
        stream.pages()
    )?;
    writeln!(out, "{:>14} {:>14} {:>9}", "pages", "misses", "ratio")?;
    let step = curve.len().div_ceil(args.points.max(1)).max(1);
    for (size, misses) in curve.iter().step_by(step).chain(curve.last()) {
        writeln!(
            out,
            "{size:>14.0} {misses:>14.0} {:>9.5}",
            misses / references as f64
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn curve(
    args: &Args,
    trace: &Trace,
    choice: &Choice,
    out: &mut impl Write,
    form: Form,
) -> Result<Lifetime> {
    let timed = args.input.counted() != Counted::References;
    let Some(sample) = args.sample.filter(|_| choice.spec.name == "lru") else {
        return Ok(Lifetime::of(trace, timed, choice, args.points)?);
    };
    let sampled = sampled(trace, Sampling::told(sample)?)?;
    if form == Form::Text {
        writeln!(
            out,
            "lru from {} of {} pages (rate {:.4}): miss ratios within about {:.4} in the mean",
            sampled.pages,
            trace.pages(),
            sampled.rate,
            sampled.error
        )?;
    }
    Ok(Lifetime::of_sample(&sampled, trace.span(timed)))
}

/// As many points as asked for, evenly by the logarithm of their size.
fn picked(curve: &Lifetime, count: usize) -> Vec<Point> {
    let Some(last) = curve.points.last() else {
        return Vec::new();
    };
    let mut picked: Vec<Point> = Vec::new();
    for wanted in 0..count {
        let size = last
            .size
            .max(1.0)
            .powf(wanted as f64 / count.saturating_sub(1).max(1) as f64);
        let at = curve
            .points
            .partition_point(|point| point.size < size)
            .min(curve.points.len() - 1);
        if picked.last() != Some(&curve.points[at]) {
            picked.push(curve.points[at]);
        }
    }
    picked
}

fn table(args: &Args, out: &mut impl Write, curve: &Lifetime, references: usize) -> Result<()> {
    writeln!(
        out,
        "\n{}\n{:>12} {:>12} {:>12} {:>9} {:>14} {:>14}",
        curve.policy, "parameter", "mean size", "misses", "ratio", "lifetime", "space-time"
    )?;
    for point in picked(curve, args.points) {
        writeln!(
            out,
            "{:>12} {:>12.1} {:>12.0} {:>9.5} {:>14.1} {:>14.3e}",
            point.parameter,
            point.size,
            point.misses,
            point.misses / references as f64,
            point.lifetime,
            curve.space_time(&point, args.service)
        )?;
    }
    if let (Some(knees), Some(bare)) = (curve.knees(args.service), curve.knees(0.0)) {
        writeln!(
            out,
            "knee: {:.1} pages by the ray from the origin; least space-time at {:.1} pages with a fault served in {}, {:.1} without",
            knees.ray.size, knees.space_time.size, args.service, bare.space_time.size
        )?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, curve: &Lifetime) -> Result<()> {
    writeln!(out, "policy,parameter,mean_size,misses,lifetime")?;
    for point in &curve.points {
        writeln!(
            out,
            "\"{}\",{},{},{},{}",
            curve.policy, point.parameter, point.size, point.misses, point.lifetime
        )?;
    }
    Ok(())
}

fn plot(args: &Args, path: &Path, curves: &[(Lifetime, f64)], references: usize) -> Result<()> {
    let (title, label) = match args.show {
        Show::Lifetime => ("Lifetime by memory", "mean time between faults"),
        Show::Misses => ("Misses by memory", "misses for each reference"),
        _ => ("Space-time by memory", "pages × time"),
    };
    let value = |curve: &Lifetime, point: &Point| match args.show {
        Show::Lifetime => point.lifetime,
        Show::Misses => point.misses / references as f64,
        _ => curve.space_time(point, args.service),
    };
    let series = curves.iter().map(|(curve, _)| Series {
        name: curve.policy.clone(),
        points: curve
            .points
            .iter()
            .map(|point| (point.size, value(curve, point)))
            .collect(),
        mark: if curve.points.len() <= args.points {
            Mark::Dots
        } else {
            Mark::Line
        },
    });
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        scale: Scale::Log,
    };
    let chart = Chart {
        title: title.to_owned(),
        x: axis("mean pages in memory"),
        y: axis(label),
        series: series.collect(),
    };
    let heading = ["policy", "mean size", "misses", "lifetime"]
        .map(str::to_owned)
        .to_vec();
    let rows = curves.iter().flat_map(|(curve, _)| {
        picked(curve, args.points).into_iter().map(|point| {
            vec![
                curve.policy.clone(),
                format!("{:.1}", point.size),
                format!("{:.0}", point.misses),
                format!("{:.1}", point.lifetime),
            ]
        })
    });
    plot::draw(path, chart, Part::Table(heading, rows.collect()))
}
