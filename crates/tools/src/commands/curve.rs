//! `warmset curve`: faults and lifetimes against memory, for every size at once.

mod options;
mod sizes;
mod stream;

pub(crate) use options::Args;

use crate::trace_input::Counted;
use crate::ui::{Context, Form, json_line, plot, progress};
use anyhow::Result;
use options::Show;
use report::{Axis, Chart, Mark, Part, Scale, Series};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use workingset::Trace;
use workingset::measure::sample::{Sample, Sampling, sampled};
use workingset::measure::{Lifetime, Point};
use workingset::policy::Choice;

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.plot {
        args.replacing.check(path)?;
    }
    if let Some(pages) = args.stream {
        return stream::run(args, pages, context, out);
    }
    if args.show == Show::Size {
        return sizes::run(args, context, out);
    }
    let choices = args
        .of
        .iter()
        .map(|name| Choice::parse(name))
        .collect::<Result<Vec<_>, _>>()?;
    let (trace, note) = args.input.load_noted()?;
    let bar = progress::steps("curves", choices.len());
    let mut curves = Vec::new();
    for choice in &choices {
        curves.push(Drawn::of(args, &trace, choice)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.as_published {
        let bytes = Args {
            input: args.published_input()?,
            ..args.clone()
        };
        let trace = bytes.input.load()?;
        for choice in &choices {
            let mut drawn = Drawn::of(&bytes, &trace, choice)?;
            drawn.curve.policy.push_str(" as published");
            curves.push(drawn);
        }
    }
    if let Some(path) = &args.plot {
        draw(args, path, &curves, trace.len())?;
    }
    for Drawn {
        curve,
        sample,
        seconds,
    } in &curves
    {
        match (context.form, args.csv) {
            (Form::Json, _) => {
                let knees = curve.knees(args.service);
                let line = serde_json::json!({ "policy": curve.policy, "time": curve.time, "references": trace.len(),
                    "distinct": trace.pages(), "sample": sample, "points": curve.points, "knees": knees,
                    "seconds": seconds, "references_per_second": trace.len() as f64 / seconds.max(1e-9),
                    "trace": note });
                json_line(out, &line)?;
            }
            (_, true) => csv(out, curve)?,
            _ => {
                if let Some(sample) = sample {
                    writeln!(out)?;
                    say_sample(out, sample, trace.pages() as f64)?;
                }
                table(args, out, curve, trace.len())?;
                say_what_is_unknown(args, out, curve, &trace)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A policy's curve, and what it was made from.
struct Drawn {
    curve: Lifetime,
    sample: Option<Sample>,
    seconds: f64,
}

impl Drawn {
    fn of(args: &Args, trace: &Trace, choice: &Choice) -> Result<Self> {
        let began = Instant::now();
        let (curve, sample) = curve(args, trace, choice)?;
        Ok(Self {
            curve,
            sample,
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// Says how much a sample is, and what it does not tell.
fn say_sample(out: &mut impl Write, sample: &Sample, pages: f64) -> Result<()> {
    writeln!(
        out,
        "lru from {} of {pages:.0} pages (rate {:.5}): miss ratios within about {:.4} in the mean",
        sample.pages, sample.rate, sample.error
    )?;
    if sample.resolution > 1 {
        writeln!(
            out,
            "sizes below {} pages are left out: the sample has one page of as many, and tells nothing of fewer",
            sample.resolution
        )?;
    }
    Ok(())
}

fn curve(args: &Args, trace: &Trace, choice: &Choice) -> Result<(Lifetime, Option<Sample>)> {
    let timed = args.input.counted() != Counted::References;
    let Some(sample) = args.sample.filter(|_| choice.spec.name == "lru") else {
        let curve = Lifetime::of(trace, timed, choice, args.points)?;
        return Ok((curve, None));
    };
    let sampled = sampled(trace, Sampling::told(sample)?)?;
    let curve = Lifetime::of_sample(&sampled, trace.span(timed));
    Ok((curve, Some(sampled.sample)))
}

/// `count` points of the curve, evenly spaced by the logarithm of their size.
fn picked(curve: &Lifetime, count: usize) -> Vec<Point> {
    let Some(last) = curve.points.last() else {
        return Vec::new();
    };
    let mut picked: Vec<Point> = Vec::new();
    let steps = count.saturating_sub(1).max(1) as f64;
    for wanted in 0..count {
        let size = last.size.max(1.0).powf(wanted as f64 / steps);
        let after = curve.points.partition_point(|point| point.size < size);
        let at = after.min(curve.points.len() - 1);
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
    let bare = curve.knees(0.0);
    if let Some((knees, bare)) = curve.knees(args.service).zip(bare) {
        let knee = match knees.ray {
            Some(point) => format!("{:.1} pages by the ray from the origin", point.size),
            None => "none, as the lifetime for each page rises and falls nowhere".to_owned(),
        };
        writeln!(
            out,
            "knee: {knee}; least space-time at {:.1} pages if a fault takes {}, at {:.1} if it takes no time",
            knees.space_time.size, args.service, bare.space_time.size
        )?;
    }
    Ok(())
}

/// Where a program was looked at only now and then, its curve begins at a window, and not at none.
fn say_what_is_unknown(
    args: &Args,
    out: &mut impl Write,
    curve: &Lifetime,
    trace: &Trace,
) -> Result<()> {
    let timed = args.input.counted() != Counted::References;
    let Some(resolution) = trace.resolution(timed) else {
        return Ok(());
    };
    if matches!(curve.policy.as_str(), "ws" | "vmin") {
        writeln!(
            out,
            "windows below {resolution} are left out: the program was looked at only every {resolution}"
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

fn draw(args: &Args, path: &Path, curves: &[Drawn], references: usize) -> Result<()> {
    let (title, label) = match args.show {
        Show::Lifetime => ("Lifetime by memory", "mean time between faults"),
        Show::Misses => ("Misses by memory", "misses per reference"),
        _ => ("Space-time by memory", "pages × time"),
    };
    let value = |curve: &Lifetime, point: &Point| match args.show {
        Show::Lifetime => point.lifetime,
        Show::Misses => point.misses / references as f64,
        _ => curve.space_time(point, args.service),
    };
    let mut series = Vec::new();
    let mut rows = Vec::new();
    for Drawn { curve, .. } in curves {
        let mark = if curve.points.len() <= args.points {
            Mark::Dots
        } else {
            Mark::Line
        };
        let points = curve.points.iter();
        series.push(Series {
            name: curve.policy.clone(),
            points: points
                .map(|point| (point.size, value(curve, point)))
                .collect(),
            mark,
        });
        for point in picked(curve, args.points) {
            rows.push(vec![
                curve.policy.clone(),
                format!("{:.1}", point.size),
                format!("{:.0}", point.misses),
                format!("{:.1}", point.lifetime),
            ]);
        }
    }
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        scale: Scale::Log,
    };
    let chart = Chart {
        title: title.to_owned(),
        x: axis("mean pages in memory"),
        y: axis(label),
        series,
    };
    let heading = ["policy", "mean size", "misses", "lifetime"]
        .map(str::to_owned)
        .to_vec();
    plot::draw(path, chart, Part::Table(heading, rows))
}
