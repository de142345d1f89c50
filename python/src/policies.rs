//! Runs replacement policies.

use crate::failure::failed;
use crate::python_policy::PythonPolicy;
use crate::table::{Columns, Table};
use crate::trace::Trace;
use crate::watch::{self, Progress, Watch};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use workingset::objects::OBJECT_POLICIES;
use workingset::policy::{Choice, OptionSpec};
use workingset::{POLICIES, Score, capacity};

/// Capacities that are run if none are given.
pub(crate) const USUAL: [&str; 5] = ["1%", "5%", "10%", "25%", "50%"];

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
///         the capacity, unless it is given. A list may have policies of your own: see ``Policy``.
///     capacities: memory: numbers of pages, or strings such as ``64MiB`` or ``10%`` of the footprint.
///     jobs: run so many at once; 0: one for each CPU.
///     progress: called as ``progress(runs done, runs in all)``.
///
/// Returns:
///     A table with a row for each policy and capacity: policy and options (str); capacity, references, distinct and misses
///     (int64); miss_ratio, mean_size (pages), seconds and references_per_second (float64); above_footprint (bool);
///     writebacks (int64), not known where the trace has no operations; size_missed_by (float64), the share by which the mean
///     size misses the capacity, known where it is more than a twentieth.
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
) -> PyResult<Table> {
    let py = trace.py();
    let asked = match policies {
        Some(told) => asked(told)?,
        None => built_in("lru,opt")?,
    };
    let inner = Arc::clone(&trace.get().inner);
    let capacities = capacities_of(capacities, &inner)?;
    let total = asked.len() * capacities.len();
    let progress = Progress::new(progress, Some(total as u64));
    let looks_ahead = |asked: &Asked| match asked {
        Asked::BuiltIn(choice) => matches!(choice.spec.name, "opt" | "vmin"),
        Asked::Python(_) => false,
    };
    let needs_future = asked.iter().any(looks_ahead);
    let trace = trace.clone().unbind();
    let runs = watch::run(py, progress, jobs, move |watch| {
        if needs_future {
            // Computed before the runs, which would wait for each other.
            inner.next_uses();
        }
        all(&asked, &capacities, &trace, watch)
    })?;
    table(&runs)
}

/// A policy that is asked for.
enum Asked {
    BuiltIn(Choice),
    Python(PythonPolicy),
}

/// The policies that are asked for: names, policies of Python, or a list of both.
fn asked(told: &Bound<'_, PyAny>) -> PyResult<Vec<Asked>> {
    if let Ok(names) = told.cast::<PyString>() {
        return built_in(names.to_str()?);
    }
    if let Some(own) = PythonPolicy::of(told)? {
        return Ok(vec![Asked::Python(own)]);
    }
    let mut all = Vec::new();
    for item in told.try_iter()? {
        let item = item?;
        match PythonPolicy::of(&item)? {
            Some(own) => all.push(Asked::Python(own)),
            None => all.extend(built_in(item.str()?.to_str()?)?),
        }
    }
    Ok(all)
}

fn built_in(names: &str) -> PyResult<Vec<Asked>> {
    let choices = Choice::list(&[names]).map_err(failed)?;
    Ok(choices.into_iter().map(Asked::BuiltIn).collect())
}

fn capacities_of(
    told: Option<&Bound<'_, PyAny>>,
    trace: &workingset::Trace,
) -> PyResult<Vec<usize>> {
    let told = match told {
        Some(given) => words(given)?,
        None => USUAL.map(str::to_owned).to_vec(),
    };
    let told: Vec<&str> = told.iter().flat_map(|text| text.split(',')).collect();
    capacity::of_trace(&told, trace).map_err(failed)
}

/// Runs every policy at every capacity. Those of Python take turns, beside the others: the interpreter runs one at a time.
fn all(
    asked: &[Asked],
    capacities: &[usize],
    trace: &Py<Trace>,
    watch: &Watch,
) -> PyResult<Vec<Run>> {
    let inner = &trace.get().inner;
    let mut native = Vec::new();
    let mut python = Vec::new();
    for (place, asked) in asked.iter().enumerate() {
        match asked {
            Asked::Python(own) => python.push((place, own)),
            Asked::BuiltIn(choice) => {
                let at_once = if choice.spec.is_at_once() {
                    capacities.len()
                } else {
                    1
                };
                for sizes in capacities.chunks(at_once.max(1)) {
                    native.push((place, choice, sizes));
                }
            }
        }
    }
    let (native, python) = rayon::join(
        || {
            let runs = native.into_par_iter().map(|(place, choice, sizes)| {
                run_built_in(inner, choice, sizes, watch).map(|runs| (place, runs))
            });
            runs.collect::<PyResult<Vec<_>>>()
        },
        || {
            let mut runs = Vec::new();
            for (place, own) in python {
                runs.push((place, run_python(trace, own, capacities, watch)?));
            }
            Ok::<_, PyErr>(runs)
        },
    );
    // An error of a policy in Python is told first: the other runs may have ended for want of a result.
    let mut runs = python?;
    runs.extend(native?);
    // Stable: the sizes of a policy stay in their order.
    runs.sort_by_key(|(place, _)| *place);
    Ok(runs.into_iter().flat_map(|(_, runs)| runs).collect())
}

/// A run of a policy.
struct Run {
    policy: String,
    score: Score,
    size_missed_by: Option<f64>,
    seconds: f64,
}

/// Runs a policy at several sizes, which one pass serves if it can. Each has the seconds of the whole pass.
fn run_built_in(
    trace: &workingset::Trace,
    choice: &Choice,
    capacities: &[usize],
    watch: &Watch,
) -> PyResult<Vec<Run>> {
    watch.check()?;
    let label = choice.label();
    let began = Instant::now();
    let scores = choice
        .spec
        .run_all(trace, capacities, &choice.options)
        .map_err(|error| failed(format!("{label}: {error}")))?;
    let seconds = began.elapsed().as_secs_f64();
    let mut runs = Vec::new();
    for score in scores {
        watch.step();
        runs.push(Run {
            policy: label.clone(),
            size_missed_by: choice.spec.size_missed_by(&choice.options, &score),
            score,
            seconds,
        });
    }
    Ok(runs)
}

fn run_python(
    trace: &Py<Trace>,
    own: &PythonPolicy,
    capacities: &[usize],
    watch: &Watch,
) -> PyResult<Vec<Run>> {
    let mut runs = Vec::new();
    for capacity in capacities {
        watch.check()?;
        let began = Instant::now();
        let score = own.run(trace, *capacity, watch)?;
        watch.step();
        runs.push(Run {
            policy: own.label.clone(),
            score,
            size_missed_by: None,
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    Ok(runs)
}

fn table(runs: &[Run]) -> PyResult<Table> {
    let scores = || runs.iter().map(|run| &run.score);
    let rate = |run: &Run| run.score.references as f64 / run.seconds.max(1e-9);
    Columns::default()
        .text("policy", runs.iter().map(|run| run.policy.clone()))
        .whole("capacity", scores().map(|score| score.capacity as u64))
        .whole("references", scores().map(|score| score.references))
        .whole("distinct", scores().map(|score| score.distinct))
        .whole("misses", scores().map(|score| score.misses))
        .real("miss_ratio", scores().map(Score::miss_ratio))
        .whole_if_known("writebacks", scores().map(|score| score.writebacks))
        .real("mean_size", scores().map(|score| score.mean_size))
        .truth(
            "above_footprint",
            scores().map(|score| score.capacity as u64 > score.distinct),
        )
        .real_if_known("size_missed_by", runs.iter().map(|run| run.size_missed_by))
        .text("options", scores().map(|score| score.options.clone()))
        .real("seconds", runs.iter().map(|run| run.seconds))
        .real("references_per_second", runs.iter().map(rate))
        .table("x=mean_size,y=miss_ratio,by=policy")
}

/// The replacement policies.
///
/// Args:
///     objects: those of ``simulate_objects``, for caches of objects that have sizes, instead of those of ``simulate``.
///
/// Returns:
///     A dict for each: name, about, source, and options: name, default and about; those of ``simulate`` also variable,
///     whether its memory grows and shrinks.
///
/// >>> [policy["name"] for policy in policies()][:4]
/// ['fifo', 'half-life', 'random', 'lru']
/// >>> [policy["name"] for policy in policies(objects=True)][5:8]
/// ['gdsf', 'lhd', 'lecar']
#[pyfunction]
#[pyo3(signature = (*, objects=false))]
pub(crate) fn policies(py: Python<'_>, objects: bool) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut all = Vec::new();
    if objects {
        for spec in OBJECT_POLICIES {
            all.push(listed(py, spec.name, spec.about, spec.cite, spec.options)?);
        }
        return Ok(all);
    }
    for spec in POLICIES {
        let policy = listed(py, spec.name, spec.about, spec.cite, spec.options)?;
        policy.set_item("variable", spec.variable)?;
        all.push(policy);
    }
    Ok(all)
}

/// A policy of either family.
fn listed<'py>(
    py: Python<'py>,
    name: &str,
    about: &str,
    source: &str,
    options: &[OptionSpec],
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyList::empty(py);
    for (name, default, about) in options {
        let option = PyDict::new(py);
        option.set_item("name", name)?;
        option.set_item("default", default)?;
        option.set_item("about", about)?;
        all.append(option)?;
    }
    let policy = PyDict::new(py);
    policy.set_item("name", name)?;
    policy.set_item("about", about)?;
    policy.set_item("source", source)?;
    policy.set_item("options", all)?;
    Ok(policy)
}
