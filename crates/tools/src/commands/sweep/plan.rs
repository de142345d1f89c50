//! The tasks of a sweep.

use super::sweep_file::{Clock, Curve, Sweep};
use super::task::{FORM, How, Task, What, Work, is_id, open, sha256};
use crate::ui::atomic_file;
use anyhow::{Context as _, Result, ensure};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use workingset::Batch;

/// Writes the tasks of a sweep and the list of them; returns the files of the tasks, in their order.
///
/// Errors: the sweep cannot be read, a trace is missing, or a policy does not exist.
pub(super) fn plan(path: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name}: cannot read"))?;
    let sweep = Sweep::parse(&text).with_context(|| name.to_string())?;
    let base = path.parent().unwrap_or(Path::new(""));
    let tasks = tasks(&sweep, base).with_context(|| name.to_string())?;
    let into = directory.join("tasks");
    fs::create_dir_all(&into)
        .with_context(|| format!("{}: cannot make the directory", into.display()))?;
    let mut ids = Vec::new();
    let mut seen = HashSet::new();
    for task in &tasks {
        let id = task.id()?;
        let bytes = serde_json::to_vec_pretty(task)?;
        if seen.insert(id.clone()) {
            atomic_file::write(&into.join(format!("{id}.json")), |file| {
                Ok(file.write_all(&bytes)?)
            })?;
        } else if task.what.work != Work::Piece {
            // The same piece may be part of a trace twice. Any other task that comes twice is needed once.
            continue;
        }
        ids.push(id);
    }
    atomic_file::write(&directory.join("plan.json"), |file| {
        Ok(serde_json::to_writer_pretty(file, &ids)?)
    })?;
    Ok(task_files(directory, &ids))
}

/// The files of the tasks of a plan, in their order.
pub(super) fn planned(directory: &Path) -> Result<Vec<PathBuf>> {
    let path = directory.join("plan.json");
    let text = fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    let ids: Vec<String> = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not the plan of a sweep", path.display()))?;
    for id in &ids {
        // A name becomes a path, so that it must not lead out of the directory.
        ensure!(
            is_id(id),
            "{}: {id:?} is not the name of a task",
            path.display()
        );
    }
    Ok(task_files(directory, &ids))
}

fn task_files(directory: &Path, ids: &[String]) -> Vec<PathBuf> {
    let directory = directory.join("tasks");
    ids.iter()
        .map(|id| directory.join(format!("{id}.json")))
        .collect()
}

fn tasks(sweep: &Sweep, directory: &Path) -> Result<Vec<Task>> {
    let policies = sweep.labels()?;
    let how = How {
        format: sweep.format.clone(),
        page_size: sweep.page_size,
        timed: sweep.clock == Clock::Trace,
    };
    let mut tasks = Vec::new();
    let mut pieces = Vec::new();
    for trace in &sweep.traces {
        let trace = directory.join(trace);
        let trace = fs::canonicalize(&trace)
            .with_context(|| format!("{}: cannot read", trace.display()))?;
        let sha256 = sha256(&trace)?;
        let task = |work| {
            let what = What {
                task: FORM,
                sha256: sha256.clone(),
                reading: how.clone(),
                work,
            };
            Task {
                trace: trace.clone(),
                what,
            }
        };
        for policy in &policies {
            tasks.push(task(Work::Simulate {
                policy: policy.clone(),
                capacities: sweep.capacities.clone(),
            }));
        }
        for work in curve_parts(&sweep.curve, &trace, &how)? {
            tasks.push(task(work));
        }
        if sweep.curve.pieces {
            pieces.push(task(Work::Piece));
        }
    }
    tasks.append(&mut pieces);
    Ok(tasks)
}

/// The parts of LRU's curve of a trace: by time, then by class.
fn curve_parts(curve: &Curve, trace: &Path, how: &How) -> Result<Vec<Work>> {
    let mut parts = Vec::new();
    if curve.chunks > 0 {
        let references = count(trace, how)?;
        let chunks = curve.chunks.min(references).max(1);
        // 128 bits: the product of two numbers of 64 bits.
        let at = |chunk: u64| u128::from(references) * u128::from(chunk) / u128::from(chunks);
        for chunk in 0..chunks {
            parts.push(Work::Chunk {
                from: at(chunk) as u64,
                to: at(chunk + 1) as u64,
            });
        }
    }
    for class in 0..curve.classes {
        parts.push(Work::Class {
            class,
            of: curve.classes,
        });
    }
    Ok(parts)
}

/// The number of references of a trace.
fn count(trace: &Path, how: &How) -> Result<u64> {
    let mut source = open(trace, how, None)?;
    let mut batch = Batch::default();
    let mut references = 0;
    while source
        .fill(&mut batch)
        .with_context(|| trace.display().to_string())?
    {
        references += batch.len() as u64;
    }
    Ok(references)
}
