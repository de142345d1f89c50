//! Merging the parts of a sweep.

use super::plan::planned;
use super::result::{Column, write};
use super::run::{Part, load, place};
use super::task::{Task, Work};
use crate::ui::atomic_file;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use workingset::Score;
use workingset::measure::{Chunk, chunk};

/// The results of all tasks.
#[derive(Default)]
struct Whole {
    scores: Vec<Row>,
    curves: Vec<Curve>,
}

/// A policy's result on a trace at one size.
struct Row {
    trace: String,
    policy: String,
    score: Score,
}

/// LRU's curve of a trace.
struct Curve {
    trace: PathBuf,
    by: By,
    /// Divided by time: one chunk, of all parts so far. By classes: one chunk for each class.
    chunks: Vec<Chunk>,
}

/// How a curve was divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Time,
    Piece,
    Class,
}

/// Writes the results; returns each file with the number of its rows.
///
/// Errors: a task is not done yet, or a part is damaged.
pub(super) fn merge(directory: &Path) -> Result<Vec<(PathBuf, usize)>> {
    let tasks = planned(directory)?;
    let is_missing = |task: &&PathBuf| place(task).is_ok_and(|part| !part.exists());
    let missing: Vec<&PathBuf> = tasks.iter().filter(is_missing).collect();
    if let Some(first) = missing.first() {
        bail!(
            "{} of {} tasks are not done: warmset sweep run {} …",
            missing.len(),
            tasks.len(),
            first.display()
        );
    }
    let mut all = Whole::default();
    for path in &tasks {
        let task = Task::load(path)?;
        let part = load(&place(path)?, &task.id()?)
            .with_context(|| format!("run it again: warmset sweep run {}", path.display()))?;
        all.take(task, part)?;
    }
    let mut files = Vec::new();
    if !all.scores.is_empty() {
        files.push(scores(&directory.join("result.parquet"), &all.scores)?);
    }
    if !all.curves.is_empty() {
        files.push(curves(&directory.join("curves.parquet"), &all.curves)?);
    }
    Ok(files)
}

impl Whole {
    /// Takes the next part. Parts come in the order of the plan, in which those of one trace follow each other.
    fn take(&mut self, task: Task, part: Part) -> Result<()> {
        match (task.what.work, part) {
            (Work::Simulate { policy, .. }, Part::Scores(scores)) => {
                let trace = task.trace.display().to_string();
                for score in scores {
                    self.scores.push(Row {
                        trace: trace.clone(),
                        policy: policy.clone(),
                        score,
                    });
                }
            }
            (Work::Chunk { from, .. }, Part::Chunk(chunk)) => {
                self.curve(task.trace, By::Time, from > 0).add(chunk)?;
            }
            (Work::Class { class, .. }, Part::Chunk(chunk)) => {
                self.curve(task.trace, By::Class, class > 0).add(chunk)?;
            }
            (Work::Piece, Part::Chunk(chunk)) => {
                let last = self.curves.last();
                let goes_on = last.is_some_and(|curve| curve.by == By::Piece);
                self.curve(task.trace, By::Piece, goes_on).add(chunk)?;
            }
            _ => bail!("a part does not have the kind of its task"),
        }
        Ok(())
    }

    /// The last curve if the part continues it, or else a new one.
    fn curve(&mut self, trace: PathBuf, by: By, goes_on: bool) -> &mut Curve {
        if !goes_on || self.curves.is_empty() {
            self.curves.push(Curve {
                trace,
                by,
                chunks: Vec::new(),
            });
        }
        let last = self.curves.len() - 1;
        &mut self.curves[last]
    }
}

impl Curve {
    /// Adds a part. Classes are kept; a part that is later in time is merged at once, so that memory holds no more than two.
    fn add(&mut self, chunk: Chunk) -> Result<()> {
        let chunk = match self.chunks.pop() {
            Some(earlier) if self.by != By::Class => earlier.then(&chunk)?,
            Some(other) => {
                self.chunks.push(other);
                chunk
            }
            None => chunk,
        };
        self.chunks.push(chunk);
        Ok(())
    }

    fn misses(&self) -> Vec<u64> {
        match self.by {
            By::Time | By::Piece => self.chunks.first().map(Chunk::misses).unwrap_or_default(),
            By::Class => chunk::of_classes(&self.chunks),
        }
    }
}

fn scores(path: &Path, rows: &[Row]) -> Result<(PathBuf, usize)> {
    let whole_number = |value: fn(&Score) -> u64| {
        Column::Whole(rows.iter().map(|row| value(&row.score) as i64).collect())
    };
    let columns = [
        (
            "trace",
            Column::Text(rows.iter().map(|row| row.trace.clone()).collect()),
        ),
        (
            "policy",
            Column::Text(rows.iter().map(|row| row.policy.clone()).collect()),
        ),
        (
            "options",
            Column::Text(rows.iter().map(|row| row.score.options.clone()).collect()),
        ),
        ("capacity", whole_number(|score| score.capacity as u64)),
        ("references", whole_number(|score| score.references)),
        ("distinct", whole_number(|score| score.distinct)),
        ("misses", whole_number(|score| score.misses)),
        (
            "miss_ratio",
            Column::Real(rows.iter().map(|row| row.score.miss_ratio()).collect()),
        ),
        (
            "mean_size",
            Column::Real(rows.iter().map(|row| row.score.mean_size).collect()),
        ),
        (
            "writebacks",
            Column::Maybe(
                rows.iter()
                    .map(|row| row.score.writebacks.map(|count| count as i64))
                    .collect(),
            ),
        ),
    ];
    atomic_file::write(path, |file| write(file, &columns))?;
    Ok((path.to_owned(), rows.len()))
}

fn curves(path: &Path, curves: &[Curve]) -> Result<(PathBuf, usize)> {
    let mut trace = Vec::new();
    let mut by = Vec::new();
    let mut size = Vec::new();
    let mut misses = Vec::new();
    for curve in curves {
        let name = curve.trace.display().to_string();
        let how = match curve.by {
            By::Time => "time",
            By::Piece => "piece",
            By::Class => "class",
        };
        for (pages, faults) in curve.misses().into_iter().enumerate() {
            trace.push(name.clone());
            by.push(how.to_owned());
            size.push(pages as i64);
            misses.push(faults as i64);
        }
    }
    let rows = size.len();
    let columns = [
        ("trace", Column::Text(trace)),
        ("parts", Column::Text(by)),
        ("pages", Column::Whole(size)),
        ("misses", Column::Whole(misses)),
    ];
    atomic_file::write(path, |file| write(file, &columns))?;
    Ok((path.to_owned(), rows))
}
