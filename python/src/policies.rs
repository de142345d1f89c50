//! Replacement policies, run.

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

/// One string, or several things as strings.
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
///     trace: what to run them on.
///     policies: ``"lru,opt"`` or a list; names of ``policies()``, with options as in ``2q:kin=0.25``; ``all`` is every
///         one. Those of variable memory (ws, pff, vmin, half-life) are given the parameter whose mean size is the
///         capacity, unless it is told.
///     capacities: memory: numbers of pages, or strings such as ``64MiB`` or ``10%`` of the footprint.
///     jobs: run so many at once; 0: as there are processors.
///     progress: called as ``progress(runs done, runs in all)``.
///
/// Returns:
///     A table as a dict of columns, a row for each policy and capacity, from which pandas, polars and pyarrow make
///     theirs: policy and options (lists of str), capacity, references, distinct and misses (int64), miss_ratio,
///     mean_size (pages) and seconds (float64), all of shape (rows,); and writebacks (int64) if the trace tells what was
///     written.
///
/// Raises:
///     Error: no such policy or option; a capacity of 0 or above the footprint.
///     KeyboardInterrupt: at once; the runs that have begun end in the background.
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
    let usual = || {
        Ok(["1%", "5%", "10%", "25%", "50%"]
            .map(str::to_owned)
            .to_vec())
    };
    let told = capacities.map_or_else(usual, words)?;
    let told: Vec<&str> = told.iter().flat_map(|text| text.split(',')).collect();
    let capacities = capacity::of_trace(&told, &trace).map_err(failed)?;
    let runs: Vec<(Choice, usize)> = choices
        .iter()
        .flat_map(|choice| {
            capacities
                .iter()
                .map(|capacity| (choice.clone(), *capacity))
        })
        .collect();
    let progress = Progress::new(progress, Some(runs.len() as u64));
    let scores = watch::run(py, progress, jobs, move |watch| {
        if choices
            .iter()
            .any(|choice| matches!(choice.spec.name, "opt" | "vmin"))
        {
            trace.next_uses();
        }
        runs.into_par_iter()
            .map(|(choice, capacity)| run(&trace, &choice, capacity, watch))
            .collect::<PyResult<Vec<_>>>()
    })?;
    table(py, &scores)
}

/// A run: the policy, what came of it, and the seconds that it took.
type Run = (String, Score, f64);

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
    Ok((label, score, began.elapsed().as_secs_f64()))
}

fn table<'py>(py: Python<'py>, runs: &[Run]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let whole = |value: fn(&Score) -> u64| {
        PyArray1::from_iter(py, runs.iter().map(|run| value(&run.1) as i64))
    };
    let real = |value: fn(&Run) -> f64| PyArray1::from_iter(py, runs.iter().map(value));
    table.set_item("policy", PyList::new(py, runs.iter().map(|run| &run.0))?)?;
    table.set_item(
        "options",
        PyList::new(py, runs.iter().map(|run| &run.1.options))?,
    )?;
    table.set_item("capacity", whole(|score| score.capacity as u64))?;
    table.set_item("references", whole(|score| score.references))?;
    table.set_item("distinct", whole(|score| score.distinct))?;
    table.set_item("misses", whole(|score| score.misses))?;
    table.set_item("miss_ratio", real(|run| run.1.miss_ratio()))?;
    table.set_item("mean_size", real(|run| run.1.mean_size))?;
    table.set_item("seconds", real(|run| run.2))?;
    let writebacks: Option<Vec<i64>> = runs
        .iter()
        .map(|run| run.1.writebacks.map(|count| count as i64))
        .collect();
    if let Some(writebacks) = writebacks.filter(|_| !runs.is_empty()) {
        table.set_item("writebacks", PyArray1::from_vec(py, writebacks))?;
    }
    Ok(table)
}

/// The replacement policies that there are.
///
/// Returns:
///     A dict for each: name, about, source, variable (whether its memory grows and shrinks), and options: name,
///     default and about.
///
/// >>> [policy["name"] for policy in policies()][:4]
/// ['fifo', 'half-life', 'random', 'lru']
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let entry = |pairs: &[(&str, Bound<'_, PyAny>)]| {
        let entry = PyDict::new(py);
        pairs
            .iter()
            .try_for_each(|(name, value)| entry.set_item(name, value))
            .map(|()| entry)
    };
    let text = |text: &str| PyString::new(py, text).into_any();
    let option = |(name, value, about): &(&str, f64, &str)| {
        let value = pyo3::types::PyFloat::new(py, *value).into_any();
        entry(&[
            ("name", text(name)),
            ("default", value),
            ("about", text(about)),
        ])
    };
    let of_spec = |spec: &workingset::Spec| {
        let options = spec
            .options
            .iter()
            .map(option)
            .collect::<PyResult<Vec<_>>>()?;
        entry(&[
            ("name", text(spec.name)),
            ("about", text(spec.about)),
            ("source", text(spec.cite)),
            (
                "variable",
                pyo3::types::PyBool::new(py, spec.variable)
                    .to_owned()
                    .into_any(),
            ),
            ("options", PyList::new(py, options)?.into_any()),
        ])
    };
    POLICIES.iter().map(of_spec).collect()
}
