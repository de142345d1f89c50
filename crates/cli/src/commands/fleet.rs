//! `warmset report`: the recordings of many hosts in one page.

mod bought;
mod course;
mod fleet_page;
mod host;
mod numbers;
mod pictures;
mod source;

use crate::ui::atomic_file::Replacing;
use crate::ui::text::{Side, counted, or_unknown, table};
use crate::ui::{Context, Form, atomic_file, json, progress};
use anyhow::{Result, ensure};
use host::Host;
use numbers::percent;
use rayon::prelude::*;
use source::Source;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show many hosts in one page: stalls, their cost, the forecasts, and what withheld memory gained
///
/// Reads recordings that `warmsetd` and `warmset record` make. The page needs no network and no script. It has the names
/// that processes give themselves, but no command lines and no paths.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Recordings: each file or directory is one host; NAME=PATH gives it a name
    #[arg(long, value_name = "RECORDING", required = true, num_args = 1.., value_hint = clap::ValueHint::AnyPath)]
    from: Vec<String>,
    /// The page to write; its name must end in .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replacing: Replacing,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        let is_page = path.extension().is_some_and(|end| end == "html");
        ensure!(
            is_page,
            "--output {}: the name must end in .html",
            path.display()
        );
        args.replacing.check(path)?;
    }
    let mut sources = Vec::new();
    for from in &args.from {
        sources.push(Source::of(from)?);
    }
    let bar = progress::steps("reading", sources.len());
    let mut hosts: Vec<Host> = sources
        .par_iter()
        .map(|source| {
            let host = Host::of(source);
            bar.inc(1);
            host
        })
        .collect::<Result<_>>()?;
    bar.finish_and_clear();
    // The worst first; hosts without a count of stalls last.
    let lost = |host: &Host| host.lost().unwrap_or(-1.0);
    hosts.sort_by(|a, b| {
        let by_loss = lost(b).total_cmp(&lost(a));
        by_loss.then_with(|| a.name.cmp(&b.name))
    });
    if let Some(path) = &args.output {
        let html = fleet_page::page(&hosts);
        atomic_file::write(path, |file| Ok(file.write_all(html.as_bytes())?))?;
    }
    match context.form {
        Form::Json => json(out, &hosts)?,
        Form::Text => {
            out.write_all(text(&hosts).as_bytes())?;
            if let Some(path) = &args.output {
                writeln!(out, "report: {}", path.display())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for each host, the worst first.
fn text(hosts: &[Host]) -> String {
    let mut rows =
        vec![["host", "recorded", "lost", "stalls", "killed", "withheld"].map(str::to_owned)];
    for host in hosts {
        let cost = &host.cost;
        let killed = cost.kernel_kills.unwrap_or(0) + cost.asked + cost.killed;
        rows.push([
            host.name.clone(),
            cost.watched.to_string(),
            or_unknown(host.lost().map(percent)),
            or_unknown(cost.allocation_stalls),
            killed.to_string(),
            host.withheld().to_string(),
        ]);
    }
    let sides = [
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Right,
    ];
    let mut text = table(sides, &rows);
    for (note, of) in notes(hosts) {
        let subject = if of.len() == 1 {
            of[0].to_owned()
        } else {
            counted(of.len() as u64, "host", "hosts")
        };
        let _ = writeln!(text, "note: {subject}: {note}");
    }
    text.push_str(&counted(hosts.len() as u64, "host\n", "hosts\n"));
    text
}

/// Each note once, with the hosts that have it.
fn notes(hosts: &[Host]) -> BTreeMap<&str, Vec<&str>> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for host in hosts {
        for note in &host.notes {
            notes.entry(note).or_default().push(&host.name);
        }
    }
    notes
}

#[cfg(test)]
mod tests;
