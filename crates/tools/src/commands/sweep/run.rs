//! Running tasks.

use super::shelf::Shelf;
use super::task::{Task, Work};
use crate::ui::{self, packed_file, progress};
use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use traces::Source;
use workingset::measure::{Chunk, chunk};
use workingset::policy::Choice;
use workingset::{About, Batch, Score, Trace, capacity};

/// The result of a task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    /// A score for each capacity.
    Scores(Vec<Score>),
    /// A part of a curve.
    Chunk(Chunk),
}

/// A part as it is in its file, with the name of its task.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    id: String,
    part: Part,
}

/// Runs a task; returns false if it was done before.
fn run(path: &Path, shelf: &Shelf) -> Result<bool> {
    let task = Task::load(path)?;
    let id = task.id()?;
    let target = place(path)?;
    if load(&target, &id).is_ok() {
        shelf.pass(&task.what);
        return Ok(false);
    }
    let part = work(&task, shelf).with_context(|| format!("task {id}"))?;
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("{}: cannot make the directory", directory.display()))?;
    }
    packed_file::write(&target, |file| {
        Ok(serde_json::to_writer(file, &Kept { id, part })?)
    })?;
    Ok(true)
}

fn work(task: &Task, shelf: &Shelf) -> Result<Part> {
    let name = || task.trace.display().to_string();
    match &task.what.work {
        Work::Simulate { policy, capacities } => {
            let choice = Choice::parse(policy)?;
            let trace = shelf.take(&task.what, || {
                read(&mut *task.open(None)?).with_context(name)
            })?;
            let sizes = capacity::of_trace(capacities, &trace).with_context(name)?;
            let scores = choice.spec.run_all(&trace, &sizes, &choice.options);
            Ok(Part::Scores(scores.with_context(|| choice.label())?))
        }
        Work::Chunk { from, to } => {
            let trace = read(&mut *task.open(Some((*from, *to)))?).with_context(name)?;
            Ok(Part::Chunk(Chunk::of(&trace)))
        }
        Work::Piece => {
            let trace = read(&mut *task.open(None)?).with_context(name)?;
            Ok(Part::Chunk(Chunk::of(&trace)))
        }
        Work::Class { class, of } => {
            let mut source = OfClass {
                source: task.open(None)?,
                class: *class,
                of: *of,
            };
            match read(&mut source) {
                Ok(trace) => Ok(Part::Chunk(Chunk::of(&trace))),
                // No page of the trace is of this class.
                Err(traces::Error::Trace(workingset::Error::Empty)) => {
                    Ok(Part::Chunk(Chunk::default()))
                }
                Err(error) => Err(error).with_context(name),
            }
        }
    }
}

/// Reads a trace without showing progress: many tasks run at once.
fn read(source: &mut dyn Source) -> Result<Trace, traces::Error> {
    traces::read(source, &|_| {})
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

/// Runs tasks one after the other; returns for each whether it was not done before.
pub(super) fn some(tasks: &[PathBuf]) -> Result<Vec<bool>> {
    let shelf = Shelf::for_tasks(tasks);
    // Those of one trace together, so that no more than one is in memory: a shell names them in the order of their hashes.
    let trace_of = |at: &usize| Task::load(&tasks[*at]).ok().map(|task| task.what.sha256);
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_cached_key(trace_of);
    let mut done = vec![false; tasks.len()];
    for at in order {
        done[at] = run(&tasks[at], &shelf)?;
    }
    Ok(done)
}

/// Runs tasks, `jobs` at once, by default as many as there are CPUs. If one fails, the others are run all the same.
pub(super) fn all(tasks: &[PathBuf], jobs: Option<usize>) -> Result<()> {
    let shelf = Shelf::for_tasks(tasks);
    let bar = progress::steps("tasks", tasks.len());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(ui::threads(jobs, tasks.len()))
        .build()?;
    let error_of = |task: &PathBuf| {
        let done = run(task, &shelf);
        bar.inc(1);
        done.err()
    };
    let failed: Vec<anyhow::Error> =
        pool.install(|| tasks.par_iter().filter_map(error_of).collect());
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

/// The file for the part of a task.
pub(super) fn place(task: &Path) -> Result<PathBuf> {
    let directory = task
        .parent()
        .and_then(Path::parent)
        .context("a task must be in DIR/tasks")?;
    let stem = task
        .file_stem()
        .context("a task must have a name")?
        .to_string_lossy();
    Ok(directory.join("parts").join(format!("{stem}.json.zst")))
}

/// Reads a part.
///
/// Errors: it is missing or damaged, or belongs to another task.
pub(super) fn load(path: &Path, id: &str) -> Result<Part> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name}: cannot read"))?;
    let bytes = zstd::decode_all(file).with_context(|| format!("{name}: damaged"))?;
    let kept: Kept =
        serde_json::from_slice(&bytes).with_context(|| format!("{name}: not a part of a sweep"))?;
    if kept.id != id {
        bail!("{name}: this is the part of another task, {}", kept.id);
    }
    Ok(kept.part)
}
