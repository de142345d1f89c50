//! `warmset curve --stream`: LRU's curve from each reference once, without holding the trace.

use super::options::{Args, Followed};
use super::say_sample;
use crate::ui::{Context, Form, json_line, progress};
use anyhow::{Result, bail};
use std::io::Write;
use std::process::ExitCode;
use workingset::measure::sample::Sample;
use workingset::measure::stream::Stream;
use workingset::measure::{Distances, MissCurve};
use workingset::trace::demand_order;

/// LRU's misses by size of memory.
struct Streamed {
    references: u64,
    pages: f64,
    /// `None` if every page was followed.
    sample: Option<Sample>,
    points: Vec<(f64, f64)>,
}

pub(super) fn run(
    args: &Args,
    followed: Followed,
    context: &Context,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let streamed = match followed {
        Followed::All => exactly(args)?,
        Followed::Pages(pages) => sampled(args, pages)?,
    };
    if streamed.references == 0 {
        bail!("the trace has no references");
    }
    if context.form == Form::Json {
        streamed.json(out)?;
    } else {
        streamed.table(args.points, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn exactly(args: &Args) -> Result<Streamed> {
    let mut source = args.input.open()?;
    let mut distances = Distances::default();
    let bar = progress::spinner("reading");
    traces::ahead(&mut *source, |batch| {
        distances.push(&batch.page)?;
        bar.set_position(distances.references());
        Ok::<_, anyhow::Error>(())
    })?;
    bar.finish_and_clear();
    demand_order(&source.about(), "lru")?;
    let references = distances.references();
    let pages = distances.pages() as f64;
    let curve: MissCurve = distances.finish();
    let steps = curve.steps().into_iter();
    Ok(Streamed {
        references,
        pages,
        sample: None,
        points: steps.map(|(size, misses)| (size as f64, misses)).collect(),
    })
}

fn sampled(args: &Args, pages: usize) -> Result<Streamed> {
    let mut source = args.input.open()?;
    let mut stream = Stream::new(pages);
    let bar = progress::spinner("reading");
    traces::ahead(&mut *source, |batch| {
        batch.page.iter().for_each(|page| stream.push(*page));
        bar.set_position(stream.references());
        Ok::<_, anyhow::Error>(())
    })?;
    bar.finish_and_clear();
    demand_order(&source.about(), "lru")?;
    Ok(Streamed {
        references: stream.references(),
        pages: stream.pages(),
        sample: Some(stream.sample()),
        points: stream.curve(),
    })
}

impl Streamed {
    fn json(&self, out: &mut impl Write) -> Result<()> {
        let points: Vec<_> = self
            .points
            .iter()
            .map(|(size, misses)| serde_json::json!({ "size": size, "misses": misses }))
            .collect();
        let rate = self.sample.map_or(1.0, |sample| sample.rate);
        let line = serde_json::json!({ "policy": "lru", "references": self.references, "distinct": self.pages,
            "rate": rate, "sample": self.sample, "points": points });
        json_line(out, &line)
    }

    fn table(&self, lines: usize, out: &mut impl Write) -> Result<()> {
        match &self.sample {
            Some(sample) => {
                writeln!(out, "{} references", self.references)?;
                say_sample(out, sample, self.pages)?;
            }
            None => writeln!(
                out,
                "lru exactly: {} references to {:.0} pages",
                self.references, self.pages
            )?,
        }
        writeln!(out, "{:>14} {:>14} {:>9}", "pages", "misses", "ratio")?;
        let step = self.points.len().div_ceil(lines.max(1)).max(1);
        for (size, misses) in self.points.iter().step_by(step).chain(self.points.last()) {
            writeln!(
                out,
                "{size:>14.0} {misses:>14.0} {:>9.5}",
                misses / self.references as f64
            )?;
        }
        Ok(())
    }
}
