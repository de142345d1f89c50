//! `warmset synth`: makes a trace of a known kind.

use crate::ui::atomic_file::Replacing;
use crate::ui::{Context, packed_file};
use anyhow::{Context as _, Result};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::Output;
use workingset::synth::{Kind, Recipe, Synth};

const KINDS: &str = "\
Kinds, with their default parameters:
  zipf:pages=1000,alpha=1                              independent references by Zipf's law
  scan:pages=1000,once=0,hot=0,share=0.5               a scan, repeated or once, with a hot set
  indexed-db:index=100,records=10000                   an index page, then a record page, and so on
  phases:pages=100,count=8,length=20000,overlap=0.1    localities one after the other
Several kinds are processes that run in turn: warmset synth zipf scan:pages=500 --quantum 1000";

/// Make a reference trace of a known kind; the same seed gives the same trace
#[derive(Debug, clap::Args)]
#[command(after_long_help = KINDS)]
pub(crate) struct Args {
    /// Kind of trace, such as zipf:pages=1000,alpha=0.9; several run in turn
    #[arg(required = true, value_name = "KIND")]
    kinds: Vec<String>,
    /// Number of references
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 1_000_000)]
    references: u64,
    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Share of references that write
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    writes: f64,
    /// References of one kind before the next runs
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    quantum: u64,
    /// The trace to write; `-` is standard output, as an Arrow stream
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    replacing: Replacing,
    /// Format to write [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
}

pub(crate) fn run(args: &Args, _: &Context, out: &mut impl Write) -> Result<ExitCode> {
    let name = args.output.display().to_string();
    let to_pipe = args.output == Path::new("-");
    let output = match &args.to {
        Some(to) => Output::named(to)?,
        None if to_pipe => Output::Arrow,
        None => Output::by_name(&name)
            .with_context(|| format!("{name}: no format has this ending; name one with --to"))?,
    };
    if to_pipe && output != Output::Plain && output != Output::Csv && io::stdout().is_terminal() {
        anyhow::bail!("binary output to a terminal: name a file with --output, or use --to plain");
    }
    args.replacing.check(&args.output)?;
    let mut processes = Vec::new();
    for kind in &args.kinds {
        processes.push(Kind::parse(kind)?);
    }
    let recipe = Recipe {
        processes,
        quantum: args.quantum,
        references: args.references,
        writes: args.writes,
        seed: args.seed,
    };
    let mut synth = Synth::new(recipe)?;
    packed_file::write(&args.output, |file| {
        traces::write(&mut synth, output, file)?;
        Ok(())
    })?;
    if !to_pipe {
        writeln!(out, "{} references in {name}", args.references)?;
    }
    Ok(ExitCode::SUCCESS)
}
