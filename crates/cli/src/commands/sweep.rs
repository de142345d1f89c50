//! `warmset sweep`: many simulations, on this machine or many, that can be interrupted and go on.
//!
//! ```text
//!   SWEEP.toml ─plan─► FOLDER/tasks/ID.json ─run─► FOLDER/parts/ID.json.zst ─merge─► FOLDER/result.parquet, curves.parquet
//! ```
//!
//! A task's name is the hash of what it is: its input's content and the work. So a task that is done is never done
//! again, whoever runs it, and a part is there as a whole or not at all.

mod dask;
mod merge;
mod plan;
mod result;
mod run;
mod task;

use crate::ui::{Context, Form, json};
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Simulate many traces, policies and sizes, on this machine or many
///
/// A sweep is planned as tasks in a folder, run in any order and by anyone who sees the folder, and merged into Parquet
/// files. What was interrupted goes on: tasks that are done are not done again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Write the tasks of a sweep to a folder
    Plan {
        #[command(flatten)]
        planned: Planned,
    },
    /// Run tasks of a plan
    Run {
        /// Tasks: FOLDER/tasks/ID.json
        #[arg(required = true, value_name = "TASK")]
        tasks: Vec<PathBuf>,
    },
    /// Put the results of all tasks together
    Merge {
        /// The folder of the plan
        directory: PathBuf,
    },
    /// Plan, run and merge
    All {
        #[command(flatten)]
        planned: Planned,
        /// Where to run: `local`, or `dask://HOST:PORT` of a scheduler whose workers see the same files
        #[arg(long, value_name = "WHERE", default_value = "local")]
        on: On,
        /// Run so many tasks at once on this machine [default: as there are processors]
        #[arg(long, value_name = "NUMBER")]
        jobs: Option<usize>,
        /// The Python that has Dask and the package warmset
        #[arg(long, value_name = "PROGRAM", default_value = "python3")]
        python: PathBuf,
    },
}

/// What is planned, and where.
#[derive(Debug, clap::Args)]
struct Planned {
    /// The sweep, as docs/formats.md describes it
    #[arg(value_name = "SWEEP.toml")]
    sweep: PathBuf,
    /// The folder of its tasks and results [default: the sweep's name without .toml]
    #[arg(short, long, value_name = "FOLDER")]
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
            _ => Err("local or dask://HOST:PORT is meant".to_owned()),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut impl Write) -> Result<ExitCode> {
    match &args.verb {
        Verb::Plan { planned } => {
            let tasks = plan::plan(&planned.sweep, &planned.directory())?;
            let directory = planned.directory();
            say(
                context,
                out,
                &format!("{} tasks in {}", tasks.len(), directory.display()),
                &tasks,
            )?;
        }
        Verb::Run { tasks } => {
            let done = tasks
                .iter()
                .map(|task| run::run(task))
                .collect::<Result<Vec<_>>>()?;
            say(
                context,
                out,
                &format!(
                    "{} of {} tasks were to be done",
                    done.iter().filter(|new| **new).count(),
                    done.len()
                ),
                &done,
            )?;
        }
        Verb::Merge { directory } => merged(directory, context, out)?,
        Verb::All {
            planned,
            on,
            jobs,
            python,
        } => {
            let directory = planned.directory();
            let tasks = plan::plan(&planned.sweep, &directory)?;
            match on {
                On::Local => run::all(&tasks, jobs.unwrap_or(0))?,
                On::Dask(address) => dask::all(python, address, &directory)?,
            }
            merged(&directory, context, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn merged(directory: &std::path::Path, context: &Context, out: &mut impl Write) -> Result<()> {
    let merged = merge::merge(directory)?;
    let files: Vec<String> = merged
        .iter()
        .map(|(path, rows)| format!("{rows} rows in {}", path.display()))
        .collect();
    say(context, out, &files.join("\n"), &merged)
}

fn say(
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
