//! `warmset simulate --objects`: a cache of objects that have sizes.

use super::{Args, Noted, add_point, in_parallel, policies_or};
use crate::ui::{Context, Form, json_line, plot};
use anyhow::{Context as _, Result};
use report::{Axis, Chart, Part, Scale, Series};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use units::Bytes;
use workingset::objects::{ObjectChoice, ObjectScore, Objects, Resized};

/// A result, as `--json` and `--csv` print it.
#[derive(Debug, Clone, Serialize)]
struct Row {
    policy: String,
    /// Bytes of the cache.
    capacity: u64,
    /// References with a size, and their bytes.
    references: u64,
    bytes: u64,
    /// Different objects, and their bytes.
    objects: u64,
    footprint: u64,
    misses: u64,
    miss_ratio: f64,
    missed_bytes: u64,
    byte_miss_ratio: f64,
    /// Misses of objects larger than the cache, and of others that the policy kept out.
    too_large: u64,
    not_admitted: u64,
    mean_bytes: f64,
    above_footprint: bool,
    /// References to an object of another size than before.
    resized: u64,
    /// References of size 0, which are not among the references.
    without_size: u64,
    options: String,
    seconds: f64,
    references_per_second: f64,
}

impl Row {
    fn of(choice: &ObjectChoice, objects: &Objects<'_>, score: ObjectScore, seconds: f64) -> Self {
        Self {
            policy: choice.label(),
            capacity: score.capacity,
            references: score.references,
            bytes: score.bytes,
            objects: objects.distinct,
            footprint: objects.footprint,
            misses: score.misses,
            miss_ratio: score.miss_ratio(),
            missed_bytes: score.missed_bytes,
            byte_miss_ratio: score.byte_miss_ratio(),
            too_large: score.too_large,
            not_admitted: score.not_admitted,
            mean_bytes: score.mean_bytes,
            above_footprint: score.capacity > objects.footprint,
            resized: objects.resized,
            without_size: objects.without_size,
            options: score.options,
            seconds,
            references_per_second: score.references as f64 / seconds.max(1e-9),
        }
    }

    fn mark(&self) -> &'static str {
        if self.above_footprint { " +" } else { "" }
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let choices = ObjectChoice::list(&policies_or(&args.policies, "lru,gdsf"))?;
    let resized = Resized::named(&args.resized)?;
    let (trace, note) = args.input.clone().sized().load_noted()?;
    let objects = Objects::of(&trace, resized)?;
    let capacities = objects.capacities(&args.capacities)?;
    let mut tasks = Vec::new();
    for choice in &choices {
        for capacity in &capacities {
            tasks.push((choice, *capacity));
        }
    }
    let rows = in_parallel(args.jobs, &tasks, |(choice, capacity)| {
        let began = Instant::now();
        let score = choice
            .spec
            .run(&objects, *capacity, &choice.options)
            .with_context(|| choice.label())?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Row::of(choice, &objects, score, seconds))
    })?;
    if let Some(path) = &args.plot {
        draw(path, &rows)?;
    }
    match (context.form, args.csv) {
        (Form::Json, _) => rows
            .iter()
            .try_for_each(|row| json_line(out, &Noted { row, trace: &note }))?,
        (_, true) => csv(out, &rows)?,
        _ => table(out, &objects, &rows)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(out: &mut impl Write, objects: &Objects<'_>, rows: &[Row]) -> Result<()> {
    writeln!(
        out,
        "{} references of {} to {} objects of {}, the largest {}",
        objects.references,
        Bytes::new(objects.bytes),
        objects.distinct,
        Bytes::new(objects.footprint),
        Bytes::new(u64::from(objects.largest)),
    )?;
    let longest = rows.iter().map(|row| row.policy.len()).max();
    let name = longest.unwrap_or(0).max("policy".len());
    writeln!(
        out,
        "{:<name$} {:>14} {:>12} {:>8} {:>16} {:>8} {:>14} {:>10} {:>9}",
        "policy",
        "capacity",
        "misses",
        "ratio",
        "missed bytes",
        "ratio",
        "mean bytes",
        "kept out",
        "M refs/s"
    )?;
    for row in rows {
        writeln!(
            out,
            "{:<name$} {:>14} {:>12} {:>8.4} {:>16} {:>8.4} {:>14.0} {:>10} {:>9.1}{}",
            row.policy,
            row.capacity,
            row.misses,
            row.miss_ratio,
            row.missed_bytes,
            row.byte_miss_ratio,
            row.mean_bytes,
            row.too_large + row.not_admitted,
            row.references_per_second / 1e6,
            row.mark()
        )?;
    }
    notes(out, objects, rows)
}

/// What is not plain in the trace, and what became of it.
fn notes(out: &mut impl Write, objects: &Objects<'_>, rows: &[Row]) -> Result<()> {
    if rows.iter().any(|row| row.above_footprint) {
        writeln!(
            out,
            "+ above the footprint: what is more than {} bytes is never used",
            objects.footprint
        )?;
    }
    if rows.iter().any(|row| row.too_large > 0) {
        writeln!(
            out,
            "objects larger than the cache are missed each time: the largest has {} bytes",
            objects.largest
        )?;
    }
    if objects.resized > 0 {
        let counted = match objects.resized_are {
            Resized::Hit => "as hits if it is in the cache, with the new size",
            Resized::Miss | Resized::Refuse => {
                "as misses, as what the cache has is another version (--resized hit counts hits)"
            }
        };
        writeln!(
            out,
            "{} references are to an object of another size than before: they count {counted}",
            objects.resized
        )?;
    }
    if objects.without_size > 0 {
        writeln!(
            out,
            "{} references of size 0 are passed over",
            objects.without_size
        )?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, rows: &[Row]) -> Result<()> {
    writeln!(
        out,
        "policy,capacity,references,bytes,objects,footprint,misses,miss_ratio,missed_bytes,byte_miss_ratio,too_large,\
         not_admitted,mean_bytes,above_footprint,resized,without_size,seconds,references_per_second"
    )?;
    for row in rows {
        writeln!(
            out,
            "\"{}\",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            row.policy,
            row.capacity,
            row.references,
            row.bytes,
            row.objects,
            row.footprint,
            row.misses,
            row.miss_ratio,
            row.missed_bytes,
            row.byte_miss_ratio,
            row.too_large,
            row.not_admitted,
            row.mean_bytes,
            row.above_footprint,
            row.resized,
            row.without_size,
            row.seconds,
            row.references_per_second
        )?;
    }
    Ok(())
}

/// Draws both miss ratios by the size of the cache, two curves for each policy.
fn draw(path: &Path, rows: &[Row]) -> Result<()> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let capacity = row.capacity as f64;
        add_point(&mut series, &row.policy, (capacity, row.miss_ratio));
        let bytes = format!("{}, bytes", row.policy);
        add_point(&mut series, &bytes, (capacity, row.byte_miss_ratio));
    }
    let axis = |label: &str, scale| Axis {
        label: label.to_owned(),
        scale,
    };
    let chart = Chart {
        title: "Miss ratios by cache size".to_owned(),
        x: axis("bytes of the cache", Scale::Log),
        y: axis("misses per reference, missed bytes per byte", Scale::Linear),
        series,
    };
    let heading = [
        "policy",
        "capacity",
        "misses",
        "miss ratio",
        "byte miss ratio",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut lines = Vec::new();
    for row in rows {
        lines.push(vec![
            row.policy.clone(),
            row.capacity.to_string(),
            row.misses.to_string(),
            format!("{:.4}", row.miss_ratio),
            format!("{:.4}", row.byte_miss_ratio),
        ]);
    }
    plot::draw(path, chart, Part::Table(heading, lines))
}
