//! Runs replacement policies.

use crate::failure::failed;
use crate::trace::Trace;
use crate::watch::{self, Progress, Watch};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use workingset::policy::Choice;
use workingset::{POLICIES, Score, capacity};

/// Capacities that are run if none are given.
const USUAL: [&str; 5] = ["1%", "5%", "10%", "25%", "50%"];

/// The string, or each of several items as a string.
pub(crate) fn words(told: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(one) = told.cast::<PyString>() {
        return Ok(vec![one.to_string()]);
    }
    told.try_iter()?
        .map(|item| Ok(item?.str()?.to_string()))
        .collect()
}

/// Run replacement policies on a trace, at every capacity, in parallel.
///
/// Args:
///     trace: references.
///     policies: ``"lru,opt"`` or a list; names of ``policies()``, with options as in ``2q:kin=0.25``; ``all`` is every
///         one. Those of variable memory (ws, pff, vmin, half-life) get the parameter that makes the mean size
///         the capacity, unless it is given.
///     capacities: memory: numbers of pages, or strings such as ``64MiB`` or ``10%`` of the footprint.
///     jobs: run so many at once; 0: one for each CPU.
///     progress: called as ``progress(runs done, runs in all)``.
///
/// Returns:
///     A table as a dict of columns, a row for each policy and capacity, from which pandas, polars and pyarrow make
///     theirs: policy and options (lists of str), capacity, references, distinct and misses (int64), miss_ratio,
///     mean_size (pages) and seconds (float64), all of shape (rows,); and writebacks (int64) if the trace has operations.
///
/// Raises:
///     Error: no such policy or option; a capacity of 0.
///     KeyboardInterrupt: at once, while runs that have begun end in the background.
///
/// >>> scores = simulate(synth("zipf:pages=500", 10_000), "lru,opt", [50, "50%"])
/// >>> scores["policy"], scores["capacity"]
/// (['lru', 'lru', 'opt', 'opt'], array([ 50, 248,  50, 248]))
/// >>> bool(scores["misses"][0] > scores["misses"][2])
/// True
#[pyfunction]
#[pyo3(signature = (trace, policies=None, capacities=None, *, jobs=0, progress=None))]
pub(crate) fn simulate<'py>(
    trace: &Bound<'py, Trace>,
    policies: Option<&Bound<'py, PyAny>>,
    capacities: Option<&Bound<'py, PyAny>>,
    jobs: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = trace.py();
    let trace = Arc::clone(&trace.get().inner);
    let policies = policies.map_or_else(|| Ok(vec!["lru,opt".to_owned()]), words)?;
    let choices = Choice::list(&policies).map_err(failed)?;
    let capacities = match capacities {
        Some(given) => words(given)?,
        None => USUAL.map(str::to_owned).to_vec(),
    };
    let capacities: Vec<&str> = capacities.iter().flat_map(|text| text.split(',')).collect();
    let capacities = capacity::of_trace(&capacities, &trace).map_err(failed)?;
    let mut runs: Vec<(Choice, usize)> = Vec::new();
    for choice in &choices {
        for capacity in &capacities {
            runs.push((choice.clone(), *capacity));
        }
    }
    let progress = Progress::new(progress, Some(runs.len() as u64));
    let needs_future = choices
        .iter()
        .any(|choice| matches!(choice.spec.name, "opt" | "vmin"));
    let scores = watch::run(py, progress, jobs, move |watch| {
        if needs_future {
            // Computed before the runs, which would wait for each other.
            trace.next_uses();
        }
        runs.into_par_iter()
            .map(|(choice, capacity)| run(&trace, &choice, capacity, watch))
            .collect::<PyResult<Vec<_>>>()
    })?;
    table(py, &scores)
}

/// A run of a policy.
struct Run {
    policy: String,
    score: Score,
    seconds: f64,
}

fn run(
    trace: &workingset::Trace,
    choice: &Choice,
    capacity: usize,
    watch: &Watch,
) -> PyResult<Run> {
    watch.check()?;
    let label = choice.label();
    let began = Instant::now();
    let score = choice
        .spec
        .run(trace, capacity, &choice.options)
        .map_err(|error| failed(format!("{label}: {error}")))?;
    watch.step();
    Ok(Run {
        policy: label,
        score,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn table<'py>(py: Python<'py>, runs: &[Run]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let whole = |value: fn(&Score) -> u64| {
        PyArray1::from_iter(py, runs.iter().map(|run| value(&run.score) as i64))
    };
    let real = |value: fn(&Run) -> f64| PyArray1::from_iter(py, runs.iter().map(value));
    let policies = PyList::new(py, runs.iter().map(|run| &run.policy))?;
    let options = PyList::new(py, runs.iter().map(|run| &run.score.options))?;
    table.set_item("policy", policies)?;
    table.set_item("options", options)?;
    table.set_item("capacity", whole(|score| score.capacity as u64))?;
    table.set_item("references", whole(|score| score.references))?;
    table.set_item("distinct", whole(|score| score.distinct))?;
    table.set_item("misses", whole(|score| score.misses))?;
    table.set_item("miss_ratio", real(|run| run.score.miss_ratio()))?;
    table.set_item("mean_size", real(|run| run.score.mean_size))?;
    table.set_item("seconds", real(|run| run.seconds))?;
    // All runs are of one trace, so all have write-backs or none has.
    let mut writebacks = Vec::new();
    for run in runs {
        writebacks.extend(run.score.writebacks.map(|count| count as i64));
    }
    if !writebacks.is_empty() {
        table.set_item("writebacks", PyArray1::from_vec(py, writebacks))?;
    }
    Ok(table)
}

/// The replacement policies.
///
/// Returns:
///     A dict for each: name, about, source, variable (whether its memory grows and shrinks), and options: name,
///     default and about.
///
/// >>> [policy["name"] for policy in policies()][:4]
/// ['fifo', 'half-life', 'random', 'lru']
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut all = Vec::new();
    for spec in POLICIES {
        let options = PyList::empty(py);
        for (name, default, about) in spec.options {
            let option = PyDict::new(py);
            option.set_item("name", name)?;
            option.set_item("default", default)?;
            option.set_item("about", about)?;
            options.append(option)?;
        }
        let policy = PyDict::new(py);
        policy.set_item("name", spec.name)?;
        policy.set_item("about", spec.about)?;
        policy.set_item("source", spec.cite)?;
        policy.set_item("variable", spec.variable)?;
        policy.set_item("options", options)?;
        all.push(policy);
    }
    Ok(all)
}
