//! `warmset sweep`: many simulations, on one machine or many, that can be interrupted and resumed.
//!
//! ```text
//!   SWEEP.toml ─plan─► DIR/tasks/ID.json ─run─► DIR/parts/ID.json.zst ─merge─► DIR/result.parquet, curves.parquet
//! ```
//!
//! A task's name is the hash of its input's content and its work. So a task that is done is never done again, on any
//! machine. A part is written as a whole or not at all.

mod dask;
mod merge;
mod plan;
mod result;
mod run;
mod shelf;
mod sweep_file;
mod task;

use crate::ui::{Context, Form, json};
use anyhow::Result;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns true if this text is a sweep that can be planned, its traces apart.
pub fn is_sweep(text: &str) -> bool {
    sweep_file::Sweep::parse(text).is_ok_and(|sweep| sweep.labels().is_ok())
}

/// Simulate many traces, policies and sizes, on one machine or many
///
/// A sweep is planned as tasks in a directory. They are run in any order, by any machine that sees the directory, and merged
/// into Parquet files. An interrupted sweep can be resumed: tasks that are done are not done again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Write the tasks of a sweep to a directory
    Plan {
        #[command(flatten)]
        planned: Planned,
    },
    /// Run tasks of a plan
    Run {
        /// Tasks: DIR/tasks/ID.json
        #[arg(required = true, value_name = "TASK")]
        tasks: Vec<PathBuf>,
    },
    /// Merge the results of all tasks
    Merge {
        /// The directory of the plan
        directory: PathBuf,
    },
    /// Plan, run and merge
    All {
        #[command(flatten)]
        planned: Planned,
        /// Where to run: `local`, or `dask://HOST:PORT`, a scheduler with workers that see the same files
        #[arg(long, value_name = "WHERE", default_value = "local")]
        on: On,
        /// Number of tasks at once on this machine [default: the number of CPUs]
        #[arg(long, value_name = "NUMBER")]
        jobs: Option<usize>,
        /// Python interpreter that has Dask and the package warmset
        #[arg(long, value_name = "PROGRAM", default_value = "python3")]
        python: PathBuf,
    },
}

/// The options of a plan.
#[derive(Debug, clap::Args)]
struct Planned {
    /// The sweep, in the format of docs/reference/formats.md
    #[arg(value_name = "SWEEP.toml")]
    sweep: PathBuf,
    /// Directory for its tasks and results [default: the sweep's name without .toml]
    #[arg(short, long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl Planned {
    fn directory(&self) -> PathBuf {
        self.into
            .clone()
            .unwrap_or_else(|| self.sweep.with_extension(""))
    }
}

/// Where tasks are run.
#[derive(Debug, Clone)]
enum On {
    Local,
    Dask(String),
}

impl std::str::FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("dask://")) {
            ("local", _) => Ok(Self::Local),
            (_, Some(address)) if address.contains(':') => Ok(Self::Dask(address.to_owned())),
            _ => Err("write local or dask://HOST:PORT".to_owned()),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    match &args.verb {
        Verb::Plan { planned } => {
            let directory = planned.directory();
            let tasks = plan::plan(&planned.sweep, &directory)?;
            let text = format!("{} tasks in {}", tasks.len(), directory.display());
            print(context, out, &text, &tasks)?;
        }
        Verb::Run { tasks } => {
            let done = run::some(tasks)?;
            let new = done.iter().filter(|new| **new).count();
            let text = format!("{new} of {} tasks were run", done.len());
            print(context, out, &text, &done)?;
        }
        Verb::Merge { directory } => merge(directory, context, out)?,
        Verb::All {
            planned,
            on,
            jobs,
            python,
        } => {
            let directory = planned.directory();
            let tasks = plan::plan(&planned.sweep, &directory)?;
            match on {
                On::Local => run::all(&tasks, *jobs)?,
                On::Dask(address) => dask::all(python, address, &directory)?,
            }
            merge(&directory, context, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn merge(directory: &Path, context: &Context, out: &mut impl Write) -> Result<()> {
    let merged = merge::merge(directory)?;
    let mut lines = Vec::new();
    for (path, rows) in &merged {
        lines.push(format!("{rows} rows in {}", path.display()));
    }
    print(context, out, &lines.join("\n"), &merged)
}

/// Prints `text`, or `value` as JSON.
fn print(
    context: &Context,
    out: &mut impl Write,
    text: &str,
    value: &impl serde::Serialize,
) -> Result<()> {
    match context.form {
        Form::Json => json(out, value),
        Form::Text => Ok(writeln!(out, "{text}")?),
    }
}
