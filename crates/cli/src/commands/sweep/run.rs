//! Tasks, run.

use super::task::{Task, Work};
use crate::ui::{atomic_file, progress};
use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use traces::Source;
use workingset::measure::{Chunk, chunk};
use workingset::policy::Choice;
use workingset::{About, Batch, Score, capacity};

/// What a task gives.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    /// A score for each capacity.
    Scores(Vec<Score>),
    /// A part of a curve.
    Chunk(Chunk),
}

/// A part with the task that it is of.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    id: String,
    part: Part,
}

/// Runs a task; `false` if it was done before.
pub(super) fn run(path: &Path) -> Result<bool> {
    let task = Task::load(path)?;
    let id = task.id()?;
    let target = place(path)?;
    if load(&target, &id).is_ok() {
        return Ok(false);
    }
    let part = done(&task).with_context(|| format!("task {id}"))?;
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot make the folder", directory.display()))?;
    }
    atomic_file::write(&target, |file| {
        Ok(serde_json::to_writer(file, &Kept { id, part })?)
    })?;
    Ok(true)
}

fn done(task: &Task) -> Result<Part> {
    let name = || task.trace.display().to_string();
    Ok(match &task.what.work {
        Work::Simulate { policy, capacities } => {
            let choice = Choice::parse(policy)?;
            let trace = traces::read(&mut *task.open(None)?, &|_| {}).with_context(name)?;
            let sizes = capacity::of_trace(capacities, &trace).with_context(name)?;
            let scores = sizes
                .iter()
                .map(|size| choice.spec.run(&trace, *size, &choice.options));
            Part::Scores(
                scores
                    .collect::<Result<_, _>>()
                    .with_context(|| choice.label())?,
            )
        }
        Work::Chunk { from, to } => Part::Chunk(Chunk::of(
            &traces::read(&mut *task.open(Some((*from, *to)))?, &|_| {}).with_context(name)?,
        )),
        Work::Piece => Part::Chunk(Chunk::of(
            &traces::read(&mut *task.open(None)?, &|_| {}).with_context(name)?,
        )),
        Work::Class { class, of } => {
            let mut source = OfClass {
                source: task.open(None)?,
                class: *class,
                of: *of,
            };
            match traces::read(&mut source, &|_| {}) {
                Ok(trace) => Part::Chunk(Chunk::of(&trace)),
                // No page of the trace is of this class.
                Err(traces::Error::Trace(workingset::Error::Empty)) => {
                    Part::Chunk(Chunk::default())
                }
                Err(error) => return Err(error).with_context(name),
            }
        }
    })
}

/// The references of a class of pages.
struct OfClass {
    source: Box<dyn Source>,
    class: u64,
    of: u64,
}

impl Source for OfClass {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, traces::Error> {
        while self.source.fill(batch)? {
            let keep: Vec<bool> = batch
                .page
                .iter()
                .map(|page| chunk::is_of_class(*page, self.class, self.of))
                .collect();
            batch.retain(&keep);
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}

/// Runs tasks, so many at once; a task that fails does not keep the others from being done.
pub(super) fn all(tasks: &[PathBuf], jobs: usize) -> Result<()> {
    let bar = progress::steps("tasks", tasks.len());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?;
    let one = |task: &PathBuf| {
        let done = run(task);
        bar.inc(1);
        done.err()
    };
    let failed: Vec<anyhow::Error> = pool.install(|| tasks.par_iter().filter_map(one).collect());
    bar.finish_and_clear();
    let Some(first) = failed.first() else {
        return Ok(());
    };
    bail!(
        "{} of {} tasks failed; the first: {first:#}",
        failed.len(),
        tasks.len()
    )
}

/// Where the part of a task is.
pub(super) fn place(task: &Path) -> Result<PathBuf> {
    let directory = task
        .parent()
        .and_then(Path::parent)
        .context("a task is in FOLDER/tasks")?;
    let stem = task
        .file_stem()
        .context("a task has a name")?
        .to_string_lossy();
    Ok(directory.join("parts").join(format!("{stem}.json.zst")))
}

/// A part that is whole, and of this task.
pub(super) fn load(path: &Path, id: &str) -> Result<Part> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name}: cannot read"))?;
    let bytes = zstd::decode_all(file).with_context(|| format!("{name}: damaged"))?;
    let kept: Kept =
        serde_json::from_slice(&bytes).with_context(|| format!("{name}: no part of a sweep"))?;
    if kept.id != id {
        bail!("{name}: the part of another task, {}", kept.id);
    }
    Ok(kept.part)
}
