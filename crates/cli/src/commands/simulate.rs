//! `warmset simulate`: what each policy misses at each size of memory.

use crate::trace_input::Input;
use crate::ui::{Context, Form, atomic_file, json_line, progress};
use anyhow::{Context as _, Result};
use rayon::prelude::*;
use report::{Axis, Chart, Mark, Part, Scale, Series};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use workingset::policy::{Choice, Score};
use workingset::{Trace, capacity};

/// Simulate replacement policies on a reference trace
///
/// Runs every policy at every capacity, in parallel, and prints how often the page was not there. A policy is a name of
/// `warmset policies`, with options as in 2q:kin=0.25 or s3fifo(thr1); `all` is every one. The policies of variable
/// memory (ws, pff, vmin, half-life) are given the parameter whose mean size is the capacity, unless it is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Policies, comma-separated; again for more
    #[arg(
        short,
        long = "policy",
        value_name = "POLICY",
        default_value = "lru,opt"
    )]
    policies: Vec<String>,
    /// Memory: pages, bytes such as 64MiB, or per cent of the footprint
    #[arg(
        short,
        long = "capacity",
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "1%,5%,10%,25%,50%"
    )]
    capacities: Vec<String>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Draw the miss ratios, to a file that ends in .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Run so many at once [default: as there are processors]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
}

/// A result, as `--json` and `--csv` print it. LRU's sizes are one pass, and each has the seconds of the pass.
#[derive(Debug, Clone, Serialize)]
struct Row {
    policy: String,
    capacity: usize,
    references: u64,
    distinct: u64,
    misses: u64,
    miss_ratio: f64,
    writebacks: Option<u64>,
    mean_size: f64,
    options: String,
    seconds: f64,
    references_per_second: f64,
}

impl Row {
    fn of(choice: &Choice, score: Score, seconds: f64) -> Self {
        Self {
            policy: choice.label(),
            miss_ratio: score.miss_ratio(),
            capacity: score.capacity,
            references: score.references,
            distinct: score.distinct,
            misses: score.misses,
            writebacks: score.writebacks,
            mean_size: score.mean_size,
            options: score.options,
            seconds,
            references_per_second: score.references as f64 / seconds.max(1e-9),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let choices = Choice::list(&args.policies)?;
    let trace = args.input.load()?;
    let capacities = capacity::of_trace(&args.capacities, &trace)?;
    let rows = rows(args, &trace, &choices, &capacities)?;
    if let Some(path) = &args.plot {
        plot(path, &rows)?;
    }
    match (context.form, args.csv) {
        (Form::Json, _) => rows.iter().try_for_each(|row| json_line(out, row))?,
        (_, true) => csv(out, &rows)?,
        _ => table(out, &rows)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(args: &Args, trace: &Trace, choices: &[Choice], capacities: &[usize]) -> Result<Vec<Row>> {
    if choices
        .iter()
        .any(|choice| matches!(choice.spec.name, "opt" | "vmin"))
    {
        trace.next_uses();
    }
    let tasks: Vec<(&Choice, &[usize])> = choices
        .iter()
        .flat_map(|choice| {
            let size = if choice.spec.is_at_once() {
                capacities.len()
            } else {
                1
            };
            capacities
                .chunks(size)
                .map(move |capacities| (choice, capacities))
        })
        .collect();
    let bar = progress::steps("simulating", tasks.len());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.unwrap_or(0))
        .build()?;
    let one = |(choice, capacities): &(&Choice, &[usize])| -> Result<Vec<Row>> {
        let began = Instant::now();
        let scores = choice
            .spec
            .run_all(trace, capacities, &choice.options)
            .with_context(|| choice.label())?;
        let seconds = began.elapsed().as_secs_f64();
        bar.inc(1);
        Ok(scores
            .into_iter()
            .map(|score| Row::of(choice, score, seconds))
            .collect())
    };
    let rows = pool
        .install(|| tasks.par_iter().map(one).collect::<Result<Vec<Vec<Row>>>>())?
        .concat();
    bar.finish_and_clear();
    Ok(rows)
}

fn table(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    if let Some(first) = rows.first() {
        writeln!(
            out,
            "{} references to {} pages",
            first.references, first.distinct
        )?;
    }
    let name = rows
        .iter()
        .map(|row| row.policy.len())
        .max()
        .unwrap_or(0)
        .max(6);
    writeln!(
        out,
        "{:<name$} {:>10} {:>12} {:>8} {:>12} {:>12} {:>9}",
        "policy", "capacity", "misses", "ratio", "write-backs", "mean size", "M refs/s"
    )?;
    for row in rows {
        let writebacks = row
            .writebacks
            .map_or_else(|| "–".to_owned(), |count| count.to_string());
        writeln!(
            out,
            "{:<name$} {:>10} {:>12} {:>8.4} {:>12} {:>12.1} {:>9.1}",
            row.policy,
            row.capacity,
            row.misses,
            row.miss_ratio,
            writebacks,
            row.mean_size,
            row.references_per_second / 1e6
        )?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    writeln!(
        out,
        "policy,capacity,references,distinct,misses,miss_ratio,writebacks,mean_size,seconds,references_per_second"
    )?;
    for row in rows {
        let writebacks = row
            .writebacks
            .map(|count| count.to_string())
            .unwrap_or_default();
        writeln!(
            out,
            "\"{}\",{},{},{},{},{},{},{},{},{}",
            row.policy,
            row.capacity,
            row.references,
            row.distinct,
            row.misses,
            row.miss_ratio,
            writebacks,
            row.mean_size,
            row.seconds,
            row.references_per_second
        )?;
    }
    Ok(())
}

/// Miss ratio against memory, a curve for each policy.
fn plot(path: &Path, rows: &[Row]) -> Result<()> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let point = (row.mean_size, row.miss_ratio);
        match series.iter_mut().find(|series| series.name == row.policy) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                name: row.policy.clone(),
                points: vec![point],
                mark: Mark::Dots,
            }),
        }
    }
    let axis = |label: &str, scale| Axis {
        label: label.to_owned(),
        scale,
    };
    let chart = Chart {
        title: "Miss ratio by memory".to_owned(),
        x: axis("mean pages in memory", Scale::Log),
        y: axis("misses for each reference", Scale::Linear),
        series,
    };
    let heading = ["policy", "capacity", "misses", "miss ratio", "mean size"]
        .map(str::to_owned)
        .to_vec();
    let line = |row: &Row| {
        let numbers = [
            row.capacity.to_string(),
            row.misses.to_string(),
            format!("{:.4}", row.miss_ratio),
            format!("{:.1}", row.mean_size),
        ];
        std::iter::once(row.policy.clone()).chain(numbers).collect()
    };
    draw(
        path,
        chart,
        Part::Table(heading, rows.iter().map(line).collect()),
    )
}

/// A chart as a picture, or with its numbers as a page.
pub(crate) fn draw(path: &Path, chart: Chart, table: Part) -> Result<()> {
    let bytes = match path.extension().and_then(|end| end.to_str()) {
        Some("svg") => chart.svg().into_bytes(),
        Some("png") => png(&chart.svg()).with_context(|| format!("--plot {}", path.display()))?,
        Some("html") => {
            report::page(&chart.title.clone(), &[Part::Chart(chart), table]).into_bytes()
        }
        _ => anyhow::bail!(
            "--plot {}: a name that ends in .svg, .png or .html is meant",
            path.display()
        ),
    };
    atomic_file::write(path, |out| Ok(out.write_all(&bytes)?))
}

/// A picture of twice the size, in the light colours, with this machine's fonts.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};
    // Read once: a report has a dozen pictures, a machine hundreds of fonts.
    static FONTS: LazyLock<Option<Arc<usvg::fontdb::Database>>> =
        LazyLock::new(|| fonts().map(Arc::new));
    let fonts = FONTS.clone().context(
        "no font is installed to write with: install fonts-dejavu-core, or name an .svg",
    )?;
    let tree = usvg::Tree::from_str(
        svg,
        &usvg::Options {
            fontdb: fonts,
            ..usvg::Options::default()
        },
    )?;
    let size = tree
        .size()
        .to_int_size()
        .scale_by(2.0)
        .context("a picture without a size")?;
    let mut pixels =
        tiny_skia::Pixmap::new(size.width(), size.height()).context("a picture without a size")?;
    resvg::render(
        &tree,
        tiny_skia::Transform::from_scale(2.0, 2.0),
        &mut pixels.as_mut(),
    );
    Ok(pixels.encode_png()?)
}

/// This machine's fonts, one without serifs for what asks for no other; `None` if there is no font.
fn fonts() -> Option<resvg::usvg::fontdb::Database> {
    let mut fonts = resvg::usvg::fontdb::Database::new();
    fonts.load_system_fonts();
    let face = fonts
        .faces()
        .find(|face| face.families.iter().any(|family| family.0.contains("Sans")));
    let family = face
        .or_else(|| fonts.faces().next())?
        .families
        .first()?
        .0
        .clone();
    fonts.set_sans_serif_family(family);
    Some(fonts)
}
