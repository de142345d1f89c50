//! A sweep, and its tasks.

use super::task::{FORM, How, Task, What, Work, open, sha256};
use crate::ui::atomic_file;
use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use workingset::Batch;
use workingset::policy::Choice;

/// A sweep as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    /// Files, from the sweep's folder on.
    traces: Vec<PathBuf>,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    capacities: Vec<String>,
    /// Options of a policy, each with its values: every combination is run.
    #[serde(default)]
    parameters: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    #[serde(default)]
    curve: Curve,
    format: Option<String>,
    #[serde(default = "page")]
    page_size: u64,
    #[serde(default)]
    clock: Clock,
}

/// LRU's curve of each trace, in parts.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    /// By time, exactly.
    #[serde(default)]
    chunks: u64,
    /// Of all traces as one: they are its pieces, in order. By time, exactly.
    #[serde(default)]
    pieces: bool,
    /// By the hash of the page, nearly.
    #[serde(default)]
    classes: u64,
}

/// What time is counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Clock {
    #[default]
    References,
    Trace,
}

fn page() -> u64 {
    4096
}

/// Writes the tasks of a sweep that are not there yet, and the list of all; where they are, in their order.
///
/// Errors: a sweep that cannot be read, a trace that is missing, a policy that there is not.
pub(super) fn plan(path: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name}: cannot read"))?;
    let sweep: Sweep = toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let tasks =
        tasks(&sweep, path.parent().unwrap_or(Path::new(""))).with_context(|| name.to_string())?;
    let into = directory.join("tasks");
    fs::create_dir_all(&into)
        .with_context(|| format!("{}: cannot make the folder", into.display()))?;
    let (mut ids, mut seen) = (Vec::new(), HashSet::new());
    for task in &tasks {
        let id = task.id()?;
        let bytes = serde_json::to_vec_pretty(task)?;
        if seen.insert(id.clone()) {
            atomic_file::write(&into.join(format!("{id}.json")), |file| {
                Ok(file.write_all(&bytes)?)
            })?;
        } else if task.what.work != Work::Piece {
            // A piece may come again; anything else is the same twice.
            continue;
        }
        ids.push(id);
    }
    atomic_file::write(&directory.join("plan.json"), |file| {
        Ok(serde_json::to_writer_pretty(file, &ids)?)
    })?;
    Ok(ids
        .iter()
        .map(|id| into.join(format!("{id}.json")))
        .collect())
}

/// The tasks of the plan in a folder, in their order.
pub(super) fn planned(directory: &Path) -> Result<Vec<PathBuf>> {
    let path = directory.join("plan.json");
    let text = fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    let ids: Vec<String> = serde_json::from_slice(&text)
        .with_context(|| format!("{}: no plan of a sweep", path.display()))?;
    Ok(ids
        .iter()
        .map(|id| directory.join("tasks").join(format!("{id}.json")))
        .collect())
}

fn tasks(sweep: &Sweep, directory: &Path) -> Result<Vec<Task>> {
    let policies = policies(sweep)?;
    ensure!(
        policies.is_empty() == sweep.capacities.is_empty(),
        "policies and capacities go together"
    );
    ensure!(!sweep.traces.is_empty(), "no traces");
    let draws = sweep.curve.pieces || sweep.curve.chunks + sweep.curve.classes > 0;
    ensure!(
        !policies.is_empty() || draws,
        "nothing to do: policies, or a curve"
    );
    let how = How {
        format: sweep.format.clone(),
        page_size: sweep.page_size,
        timed: sweep.clock == Clock::Trace,
    };
    let (mut tasks, mut pieces) = (Vec::new(), Vec::new());
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
        let capacities = &sweep.capacities;
        tasks.extend(policies.iter().map(|policy| {
            task(Work::Simulate {
                policy: policy.clone(),
                capacities: capacities.clone(),
            })
        }));
        tasks.extend(curves(&sweep.curve, &trace, &how)?.into_iter().map(task));
        if sweep.curve.pieces {
            pieces.push(task(Work::Piece));
        }
    }
    tasks.append(&mut pieces);
    Ok(tasks)
}

/// The policies, each as often as it has combinations of parameters.
fn policies(sweep: &Sweep) -> Result<Vec<String>> {
    let mut labels = Vec::new();
    for choice in Choice::list(&sweep.policies)? {
        let mut choices = vec![choice.label()];
        for (option, values) in sweep.parameters.get(choice.spec.name).into_iter().flatten() {
            let with = |label: &String| {
                let joint = if label.contains(':') { ',' } else { ':' };
                values
                    .iter()
                    .map(|value| format!("{label}{joint}{option}={value}"))
                    .collect::<Vec<_>>()
            };
            choices = choices.iter().flat_map(with).collect();
        }
        for label in choices {
            labels.push(Choice::parse(&label)?.label());
        }
    }
    if let Some(unused) = sweep
        .parameters
        .keys()
        .find(|name| labels.iter().all(|label| !label.starts_with(*name)))
    {
        anyhow::bail!("parameters of {unused}, which is no policy of the sweep");
    }
    Ok(labels)
}

fn curves(curve: &Curve, trace: &Path, how: &How) -> Result<Vec<Work>> {
    let classes = (0..curve.classes).map(|class| Work::Class {
        class,
        of: curve.classes,
    });
    if curve.chunks == 0 {
        return Ok(classes.collect());
    }
    let (mut source, mut batch, mut references) =
        (open(trace, how, None)?, Batch::default(), 0_u64);
    while source
        .fill(&mut batch)
        .with_context(|| trace.display().to_string())?
    {
        references += batch.len() as u64;
    }
    let chunks = curve.chunks.min(references).max(1);
    let at = |chunk: u64| (u128::from(references) * u128::from(chunk) / u128::from(chunks)) as u64;
    Ok((0..chunks)
        .map(|chunk| Work::Chunk {
            from: at(chunk),
            to: at(chunk + 1),
        })
        .chain(classes)
        .collect())
}
