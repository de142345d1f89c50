//! `warmset synth`: a trace of known make.

use crate::ui::{Context, atomic_file};
use anyhow::{Context as _, Result};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::Output;
use workingset::synth::{Kind, Recipe, Synth};

const KINDS: &str = "\
Kinds, with what they are unless told:
  zipf:pages=1000,alpha=1                              independent, by Zipf's law
  scan:pages=1000,once=0,hot=0,share=0.5               in a circle, or once; beside a hot set
  indexed-db:index=100,records=10000                   an index page and a record page in turn
  phases:pages=100,count=8,length=20000,overlap=0.1    localities one after the other
Several kinds are processes that take turns: warmset synth zipf scan:pages=500 --quantum 1000";

/// Make a reference trace of a known kind, the same for the same seed
#[derive(Debug, clap::Args)]
#[command(after_long_help = KINDS)]
pub(crate) struct Args {
    /// What to make, such as zipf:pages=1000,alpha=0.9; several take turns
    #[arg(required = true, value_name = "KIND")]
    kinds: Vec<String>,
    /// References in all
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 1_000_000)]
    references: u64,
    /// Of the dice
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Share of references that write
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    writes: f64,
    /// References of a turn, where there are several kinds
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    quantum: u64,
    /// Where to; `-` is standard output, as an Arrow stream
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The format to write, instead of what the name says
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
            .with_context(|| format!("{name}: no format is called so; say which with --to"))?,
    };
    if to_pipe && output != Output::Plain && output != Output::Csv && io::stdout().is_terminal() {
        anyhow::bail!("binary to a terminal: name a file with --output, or say --to plain");
    }
    let recipe = Recipe {
        processes: args
            .kinds
            .iter()
            .map(|text| Kind::parse(text))
            .collect::<Result<_, _>>()?,
        quantum: args.quantum,
        references: args.references,
        writes: args.writes,
        seed: args.seed,
    };
    let mut making = Synth::new(recipe)?;
    atomic_file::write(&args.output, |file| {
        traces::write(&mut making, output, file)?;
        Ok(())
    })?;
    if !to_pipe {
        writeln!(out, "{} references in {name}", args.references)?;
    }
    Ok(ExitCode::SUCCESS)
}
