//! `warmset curve --show size`: the size of the working set over time, and its distribution.

use super::options::Args;
use crate::trace_input::Counted;
use crate::ui::{Context, Form, json_line, plot};
use anyhow::Result;
use report::{Axis, Chart, Mark, Part, Scale};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;
use traces::ReadNote;
use workingset::measure::series::{Pixel, Shape};
use workingset::measure::{self, Series};

/// Points across the picture: about as many as a picture has pixels.
const PIXELS: usize = 800;

/// The sizes at one window, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Line {
    policy: &'static str,
    theta: u64,
    /// Moments of the sizes at every reference; unknown for the report's own arithmetic.
    shape: Option<Shape>,
    pixels: Vec<Pixel>,
}

/// A line, and what was read.
#[derive(Debug, Serialize)]
struct Noted<'l> {
    #[serde(flatten)]
    line: &'l Line,
    trace: &'l ReadNote,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let (trace, note) = args.input.load_noted()?;
    let timed = args.input.counted() != Counted::References;
    let mut lines: Vec<Line> = Vec::new();
    for theta in &args.theta {
        let series = Series::of(&trace, timed, *theta, PIXELS)?;
        lines.push(Line {
            policy: "ws",
            theta: *theta,
            shape: Some(series.shape()),
            pixels: series.pixels,
        });
    }
    if args.as_published {
        let trace = args.published_input()?.load()?;
        for theta in &args.theta {
            let mut pixels = Vec::new();
            for (from, size) in measure::published(&trace, *theta, PIXELS)? {
                pixels.push(Pixel {
                    from,
                    least: size,
                    mean: size as f64,
                    most: size,
                });
            }
            lines.push(Line {
                policy: "ws as published",
                theta: *theta,
                shape: None,
                pixels,
            });
        }
    }
    if let Some(path) = &args.plot {
        let table = Part::Table(heading(), lines.iter().map(cells).collect());
        plot::draw(path, chart(&lines), table)?;
    }
    match (context.form, args.csv) {
        (Form::Json, _) => lines
            .iter()
            .try_for_each(|line| json_line(out, &Noted { line, trace: &note }))?,
        (_, true) => csv(out, &lines)?,
        _ => table(out, &lines)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn heading() -> Vec<String> {
    [
        "working set",
        "theta",
        "least",
        "mean",
        "most",
        "deviation",
        "skewness",
        "excess kurtosis",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn cells(line: &Line) -> Vec<String> {
    let pixels = line.pixels.iter();
    let least = pixels.clone().map(|pixel| pixel.least).min().unwrap_or(0);
    let most = pixels.clone().map(|pixel| pixel.most).max().unwrap_or(0);
    let sum: f64 = pixels.map(|pixel| pixel.mean).sum();
    let mean = match &line.shape {
        Some(shape) => shape.mean,
        None => sum / line.pixels.len().max(1) as f64,
    };
    let moment = |value: fn(&Shape) -> f64| match &line.shape {
        Some(shape) => format!("{:.2}", value(shape)),
        None => "–".to_owned(),
    };
    vec![
        line.policy.to_owned(),
        line.theta.to_string(),
        least.to_string(),
        format!("{mean:.1}"),
        most.to_string(),
        moment(|shape| shape.deviation),
        moment(|shape| shape.skewness),
        moment(|shape| shape.excess_kurtosis),
    ]
}

fn table(out: &mut impl Write, lines: &[Line]) -> Result<()> {
    for row in std::iter::once(heading()).chain(lines.iter().map(cells)) {
        write!(out, "{:<16}", row[0])?;
        for cell in &row[1..] {
            write!(out, " {cell:>15}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, lines: &[Line]) -> Result<()> {
    writeln!(out, "policy,theta,from,least,mean,most")?;
    for line in lines {
        for pixel in &line.pixels {
            writeln!(
                out,
                "{},{},{},{},{},{}",
                line.policy, line.theta, pixel.from, pixel.least, pixel.mean, pixel.most
            )?;
        }
    }
    Ok(())
}

fn chart(lines: &[Line]) -> Chart {
    let series = lines.iter().map(|line| report::Series {
        name: format!("{} {}", line.policy, line.theta),
        points: line
            .pixels
            .iter()
            .map(|pixel| (pixel.from as f64, pixel.mean))
            .collect(),
        mark: Mark::Line,
    });
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        scale: Scale::Linear,
    };
    Chart {
        title: "Working set over time".to_owned(),
        x: axis("time"),
        y: axis("pages"),
        series: series.collect(),
    }
}
