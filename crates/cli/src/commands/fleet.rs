//! `warmset report`: many hosts' recordings in one page.

mod bought;
mod course;
mod fleet_page;
mod host;
mod pictures;

use crate::ui::text::{Side, counted, or_unknown, table};
use crate::ui::{Context, Form, atomic_file, json, progress};
use anyhow::{Context as _, Result, ensure};
use host::Host;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use units::Bytes;

/// Show many hosts in one page: who stalled, what it cost, what was foretold, what withheld memory bought
///
/// From recordings, as `warmsetd` and `warmset record` make them, each of a host or a folder of a host's. The page needs no
/// network and no script. Processes are in it by the name they give themselves; command lines and paths are not.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Recordings: a file is a host, and so is a folder; NAME=PATH names it
    #[arg(long, value_name = "RECORDING", required = true, num_args = 1.., value_hint = clap::ValueHint::AnyPath)]
    from: Vec<String>,
    /// The page: a name that ends in .html
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        let is_page = path.extension().is_some_and(|end| end == "html");
        ensure!(
            is_page,
            "--output {}: a name that ends in .html is meant",
            path.display()
        );
    }
    let sources = args
        .from
        .iter()
        .map(|from| Source::of(from))
        .collect::<Result<Vec<_>>>()?;
    let bar = progress::spinner("reading");
    let mut hosts: Vec<Host> = sources.par_iter().map(Host::of).collect::<Result<_>>()?;
    bar.finish_and_clear();
    // The worst first; who tells nothing of stalls, last.
    hosts.sort_by(|a, b| {
        b.lost()
            .unwrap_or(-1.0)
            .total_cmp(&a.lost().unwrap_or(-1.0))
            .then_with(|| a.name.cmp(&b.name))
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

/// A host's recordings, oldest first.
#[derive(Debug)]
struct Source {
    name: String,
    files: Vec<PathBuf>,
}

impl Source {
    /// `PATH` or `NAME=PATH`. Without a name, the last part of the path is it, without the endings of a recording.
    fn of(text: &str) -> Result<Self> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.contains('/') && !name.is_empty() => {
                (Some(name), Path::new(path))
            }
            _ => (None, Path::new(text)),
        };
        let about = || format!("{}: cannot read", path.display());
        let files = if fs::metadata(path).with_context(about)?.is_dir() {
            let entries = fs::read_dir(path).with_context(about)?;
            let mut files = entries
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<Vec<_>>>()
                .with_context(about)?;
            files.retain(|file| {
                file.file_name()
                    .is_some_and(|name| name.to_string_lossy().contains(".rec"))
            });
            files.sort();
            ensure!(
                !files.is_empty(),
                "{}: no recording (*.rec, *.rec.gz) in it",
                path.display()
            );
            files
        } else {
            vec![path.to_owned()]
        };
        let last = path.file_name().map_or_else(
            || "host".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let plain = last.split(".rec").next().unwrap_or(&last).to_owned();
        Ok(Self {
            name: name.map_or(plain, str::to_owned),
            files,
        })
    }
}

/// A row for each host, the worst first.
fn text(hosts: &[Host]) -> String {
    let mut rows =
        vec![["host", "recorded", "lost", "stalls", "killed", "withheld"].map(str::to_owned)];
    rows.extend(hosts.iter().map(|host| {
        let killed = host.cost.kernel_kills.unwrap_or(0) + host.cost.asked + host.cost.killed;
        [
            host.name.clone(),
            host.cost.watched.to_string(),
            host.lost().map_or_else(|| "unknown".to_owned(), percent),
            or_unknown(host.cost.allocation_stalls),
            killed.to_string(),
            host.withheld().to_string(),
        ]
    }));
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
        let whose = if of.len() == 1 {
            of[0].to_owned()
        } else {
            counted(of.len() as u64, "host", "hosts")
        };
        let _ = writeln!(text, "note: {whose}: {note}");
    }
    text.push_str(&counted(hosts.len() as u64, "host\n", "hosts\n"));
    text
}

/// Each note once, with the hosts it is of.
fn notes(hosts: &[Host]) -> BTreeMap<&str, Vec<&str>> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, note) in hosts
        .iter()
        .flat_map(|host| host.notes.iter().map(move |note| (host, note)))
    {
        notes.entry(note).or_default().push(&host.name);
    }
    notes
}

/// A share of one, for people.
fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Mean of a sum over time.
fn mean(sum: f64, seconds: f64) -> Bytes {
    Bytes::new(if seconds > 0.0 {
        (sum / seconds) as u64
    } else {
        0
    })
}

#[cfg(test)]
mod tests;
