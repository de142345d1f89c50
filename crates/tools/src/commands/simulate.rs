//! `warmset simulate`: the misses of each policy at each size of memory.

mod objects;

use crate::trace_input::Input;
use crate::ui::atomic_file::Replacing;
use crate::ui::{self, Context, Form, json_line, plot, progress};
use anyhow::{Context as _, Result};
use rayon::prelude::*;
use report::{Axis, Chart, Mark, Part, Scale, Series};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use traces::ReadNote;
use workingset::policy::{Choice, Score};
use workingset::{Trace, capacity};

/// Simulate replacement policies on a reference trace
///
/// Runs every policy at every capacity, in parallel, and prints how often a page was not in memory. A policy is a name that
/// `warmset policies` lists, with options as in 2q:kin=0.25 or s3fifo(thr1); `all` stands for every policy. A policy of
/// variable memory (ws, pff, vmin, half-life) gets the parameter at which its mean size is the capacity, unless its
/// parameter is given.
///
/// With --objects, the pages are objects that have sizes, the memory is a cache of so many bytes, and missed bytes are
/// printed beside the misses. There are other policies for it, which `warmset policies` lists as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: Input,
    /// Policies, separated by commas; the option may be repeated [default: lru,opt; with --objects lru,gdsf]
    #[arg(short, long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// Simulate a cache of objects by their sizes: the capacity is in bytes
    #[arg(long)]
    objects: bool,
    /// With --objects, a reference to an object of another size than before: a miss, a hit if it is in the cache, or an error
    #[arg(
        long,
        value_name = "RULE",
        value_parser = ["miss", "hit", "refuse"],
        default_value = "miss",
        requires = "objects"
    )]
    resized: String,
    /// Sizes of memory: pages (with --objects bytes), bytes such as 64MiB, or per cent of the footprint
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
    /// Draw the miss ratios to this file; its name must end in .svg, .png or .html
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    replacing: Replacing,
    /// Number of simulations at once [default: the number of CPUs]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
}

/// A result, as `--json` and `--csv` print it. All sizes of LRU are one pass, as are up to
/// sixteen of FIFO, and each has the seconds of the whole pass.
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
    /// Whether the capacity is above the footprint: what is more than that is never used.
    above_footprint: bool,
    /// By how much of the capacity the mean size misses it, if a fitted option did not come nearer than a twentieth.
    size_missed_by: Option<f64>,
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
            above_footprint: score.capacity as u64 > score.distinct,
            references: score.references,
            distinct: score.distinct,
            misses: score.misses,
            writebacks: score.writebacks,
            mean_size: score.mean_size,
            size_missed_by: choice.spec.size_missed_by(&choice.options, &score),
            options: score.options,
            seconds,
            references_per_second: score.references as f64 / seconds.max(1e-9),
        }
    }

    /// What a table says behind it, explained below.
    fn mark(&self) -> &'static str {
        match (self.above_footprint, self.size_missed_by) {
            (true, _) => " +",
            (false, Some(_)) => " *",
            (false, None) => "",
        }
    }
}

/// A result, and what was read for it.
#[derive(Serialize)]
struct Noted<'r, R> {
    #[serde(flatten)]
    row: &'r R,
    trace: &'r ReadNote,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.plot {
        args.replacing.check(path)?;
    }
    if args.objects {
        return objects::run(args, context, out);
    }
    let choices = Choice::list(&policies_or(&args.policies, "lru,opt"))?;
    let (trace, note) = args.input.load_noted()?;
    let capacities = capacity::of_trace(&args.capacities, &trace)?;
    let rows = rows(args, &trace, &choices, &capacities)?;
    if let Some(path) = &args.plot {
        draw(path, &rows)?;
    }
    match (context.form, args.csv) {
        (Form::Json, _) => rows
            .iter()
            .try_for_each(|row| json_line(out, &Noted { row, trace: &note }))?,
        (_, true) => csv(out, &rows)?,
        _ => table(out, &rows)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(args: &Args, trace: &Trace, choices: &[Choice], capacities: &[usize]) -> Result<Vec<Row>> {
    let looks_ahead = |choice: &Choice| matches!(choice.spec.name, "opt" | "vmin");
    if choices.iter().any(looks_ahead) {
        // Found once here, or else by each of the threads.
        trace.next_uses();
    }
    let tasks = tasks(choices, capacities);
    let rows = in_parallel(args.jobs, &tasks, |task| task.run(trace))?;
    Ok(rows.concat())
}

/// The policies that were asked for, or the usual ones.
fn policies_or(asked: &[String], usual: &str) -> Vec<String> {
    if asked.is_empty() {
        return vec![usual.to_owned()];
    }
    asked.to_vec()
}

/// Runs each task, and shows the progress.
fn in_parallel<T: Sync, R: Send>(
    jobs: Option<usize>,
    tasks: &[T],
    run: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let bar = progress::steps("simulating", tasks.len());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(ui::threads(jobs, tasks.len()))
        .build()?;
    let run_one = |task: &T| {
        let result = run(task);
        bar.inc(1);
        result
    };
    let results = pool.install(|| tasks.par_iter().map(run_one).collect());
    bar.finish_and_clear();
    results
}

/// A policy and the sizes that one run of it serves.
struct Task<'t> {
    choice: &'t Choice,
    capacities: &'t [usize],
}

fn tasks<'t>(choices: &'t [Choice], capacities: &'t [usize]) -> Vec<Task<'t>> {
    let mut tasks = Vec::new();
    for choice in choices {
        let sizes_at_once = if choice.spec.is_at_once() {
            capacities.len()
        } else {
            1
        };
        for capacities in capacities.chunks(sizes_at_once) {
            tasks.push(Task { choice, capacities });
        }
    }
    tasks
}

impl Task<'_> {
    fn run(&self, trace: &Trace) -> Result<Vec<Row>> {
        let choice = self.choice;
        let began = Instant::now();
        let scores = choice
            .spec
            .run_all(trace, self.capacities, &choice.options)
            .with_context(|| choice.label())?;
        let seconds = began.elapsed().as_secs_f64();
        let mut rows = Vec::new();
        for score in scores {
            rows.push(Row::of(choice, score, seconds));
        }
        Ok(rows)
    }
}

fn table(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    if let Some(first) = rows.first() {
        writeln!(
            out,
            "{} references to {} pages",
            first.references, first.distinct
        )?;
    }
    let longest = rows.iter().map(|row| row.policy.len()).max();
    let name = longest.unwrap_or(0).max("policy".len());
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
            "{:<name$} {:>10} {:>12} {:>8.4} {:>12} {:>12.1} {:>9.1}{}",
            row.policy,
            row.capacity,
            row.misses,
            row.miss_ratio,
            writebacks,
            row.mean_size,
            row.references_per_second / 1e6,
            row.mark()
        )?;
    }
    if rows.iter().any(|row| row.above_footprint) {
        writeln!(
            out,
            "+ above the footprint: every page is missed once, and what is more than {} pages is never used",
            rows[0].distinct
        )?;
    }
    for row in rows {
        if let Some(missed_by) = row.size_missed_by {
            writeln!(
                out,
                "* {} at {}: no value of its option gives a mean size nearer than {:+.0} %; compare it at the size that it has",
                row.policy,
                row.capacity,
                100.0 * missed_by
            )?;
        }
    }
    Ok(())
}

fn csv(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    writeln!(
        out,
        "policy,capacity,references,distinct,misses,miss_ratio,writebacks,mean_size,above_footprint,size_missed_by,seconds,references_per_second"
    )?;
    for row in rows {
        let writebacks = row
            .writebacks
            .map(|count| count.to_string())
            .unwrap_or_default();
        let missed_by = row
            .size_missed_by
            .map(|share| share.to_string())
            .unwrap_or_default();
        writeln!(
            out,
            "\"{}\",{},{},{},{},{},{},{},{},{},{},{}",
            row.policy,
            row.capacity,
            row.references,
            row.distinct,
            row.misses,
            row.miss_ratio,
            writebacks,
            row.mean_size,
            row.above_footprint,
            missed_by,
            row.seconds,
            row.references_per_second
        )?;
    }
    Ok(())
}

/// Adds a point to the curve of this name, and the curve if there is none yet.
fn add_point(series: &mut Vec<Series>, name: &str, point: (f64, f64)) {
    match series.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => series.push(Series {
            name: name.to_owned(),
            points: vec![point],
            mark: Mark::Dots,
        }),
    }
}

/// Draws the miss ratio by memory, a curve for each policy.
fn draw(path: &Path, rows: &[Row]) -> Result<()> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        add_point(&mut series, &row.policy, (row.mean_size, row.miss_ratio));
    }
    let axis = |label: &str, scale| Axis {
        label: label.to_owned(),
        scale,
    };
    let chart = Chart {
        title: "Miss ratio by memory".to_owned(),
        x: axis("mean pages in memory", Scale::Log),
        y: axis("misses per reference", Scale::Linear),
        series,
    };
    let heading = ["policy", "capacity", "misses", "miss ratio", "mean size"]
        .map(str::to_owned)
        .to_vec();
    let mut lines = Vec::new();
    for row in rows {
        lines.push(vec![
            row.policy.clone(),
            row.capacity.to_string(),
            row.misses.to_string(),
            format!("{:.4}", row.miss_ratio),
            format!("{:.1}", row.mean_size),
        ]);
    }
    plot::draw(path, chart, Part::Table(heading, lines))
}
