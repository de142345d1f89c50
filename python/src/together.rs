//! Several programs in one memory.

use crate::failure::failed;
use crate::policies::words;
use crate::table::{Columns, Table};
use crate::trace::Trace;
use crate::watch::{self, Progress, Watch};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::sync::Arc;
use workingset::capacity;
use workingset::engine::{Machine, Outcome, Process, ProcessOutcome, run_managed};
use workingset::trace::demand_order;

/// Managers and shares of memory that are run if none are given.
const MANAGERS: &str = "lru,clock,linux,mglru,le9,share";
const MEMORY: &str = "25%,50%,75%";
/// Shares of memory are of pages of this size, whatever the traces say: the machine has one.
const PAGE_SIZE: u64 = 4096;

/// What several programs in one memory did to each other: the result of ``together``.
///
/// It is a table with a row for each size of memory and manager: manager (str), memory (pages, int64), makespan_ns, some_ns and full_ns
/// (when the last program ended, and how long one or all waited for memory), refaults, reads, writes, kswapd, direct and
/// oom_kills (int64), leftmost_is_largest and largest_over_second (float64).
#[pyclass(frozen, extends = Table, module = "warmset")]
pub(crate) struct Together {
    runs: Vec<Run>,
}

#[pymethods]
impl Together {
    /// A row for each program of each run: manager, memory, program, references, ended_ns, killed, cold, refaults_file,
    /// refaults_anon, stalled_ns, read_ns, most.
    ///
    /// >>> one = together([synth("zipf:pages=99", 9_000)], ["50%"], "lru").programs
    /// >>> one["program"], one["killed"]
    /// (['1'], array([False]))
    #[getter]
    fn programs(&self) -> PyResult<Table> {
        let each = || {
            let runs = self.runs.iter();
            runs.flat_map(|run| run.outcome.processes.iter().map(move |own| (run, own)))
        };
        let counts = |value: fn(&ProcessOutcome) -> u64| each().map(move |(_, own)| value(own));
        Columns::default()
            .text("manager", each().map(|(run, _)| run.manager.clone()))
            .whole("memory", each().map(|(run, _)| run.memory as u64))
            .text("program", each().map(|(_, own)| own.name.clone()))
            .whole("references", counts(|own| own.references))
            .whole("ended_ns", counts(|own| own.ended_ns))
            .truth("killed", each().map(|(_, own)| own.killed))
            .whole("cold", counts(|own| own.cold))
            .whole("refaults_file", counts(|own| own.refaults_file))
            .whole("refaults_anon", counts(|own| own.refaults_anon))
            .whole("stalled_ns", counts(|own| own.stalled_ns))
            .whole("read_ns", counts(|own| own.read_ns))
            .whole("most", counts(|own| own.most as u64))
            .table("x=memory,y=ended_ns,by=program")
    }
}

/// A run of all programs.
struct Run {
    manager: String,
    memory: usize,
    outcome: Outcome,
}

/// A manager, a size of memory, and the times of the machine.
#[derive(Clone)]
struct Task {
    manager: String,
    machine: Machine,
    memory: usize,
}

/// Run several programs in one memory, and see how they make each other wait.
///
/// The machine has one CPU and one device. Pages that instructions are fetched from count as a file, other pages as
/// anonymous memory, unless the trace says which is which.
///
/// Args:
///     traces: the programs: a dict of names and traces, or a list. In a list, a trace is called as its file, or by its place.
///     memory: sizes of memory: numbers of pages, bytes such as ``64MiB``, or per cent of the footprint of all.
///     managers: managers of memory, as ``warmset together --help`` lists them: ``"lru,mglru,le9:15/0/15"``, or a list.
///     swap: whether anonymous memory can be evicted.
///     read: nanoseconds to read a page.
///     write: nanoseconds to write one.
///     slice: the longest time that a program runs before another may, in nanoseconds.
///     jobs: run so many at once; 0: one for each CPU.
///     progress: called as ``progress(runs done, runs in all)``.
///
/// Raises:
///     Error: no such manager, no memory, no traces, or a trace of looks at a program, which has no order of uses.
///
/// >>> both = {"a": synth("zipf:pages=300", 20_000), "b": synth("scan:pages=300", 20_000)}
/// >>> runs = together(both, ["50%"], "lru,share")
/// >>> runs["manager"], runs["memory"]
/// (['lru', 'share'], array([300, 300]))
/// >>> runs.programs["program"]
/// ['a', 'b', 'a', 'b']
#[pyfunction]
#[pyo3(signature = (traces, memory=None, managers=None, *, swap=true, read=100_000, write=100_000, slice=3_000_000,
                    jobs=0, progress=None))]
#[allow(clippy::too_many_arguments, reason = "Python's keywords")]
pub(crate) fn together<'py>(
    traces: &Bound<'py, PyAny>,
    memory: Option<&Bound<'py, PyAny>>,
    managers: Option<&Bound<'py, PyAny>>,
    swap: bool,
    read: u64,
    write: u64,
    slice: u64,
    jobs: usize,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Py<Together>> {
    let py = traces.py();
    let programs = programs(traces)?;
    let footprint = programs.iter().map(|(_, trace)| trace.pages()).sum();
    let mut tasks = Vec::new();
    for size in list(memory, MEMORY)? {
        let memory = capacity::pages(&size, footprint, PAGE_SIZE).map_err(failed)?;
        for manager in list(managers, MANAGERS)? {
            let machine = Machine {
                swap,
                read_ns: read,
                write_ns: write,
                slice_ns: slice,
                ..Machine::of(memory)
            };
            tasks.push(Task {
                manager,
                machine,
                memory,
            });
        }
    }
    let progress = Progress::new(progress, Some(tasks.len() as u64));
    let runs = watch::run(py, progress, jobs, move |watch| {
        let mut processes = Vec::new();
        for (name, trace) in &programs {
            processes.push(Process::new(name, trace));
        }
        tasks
            .into_par_iter()
            .map(|task| run(task, &processes, watch))
            .collect::<PyResult<Vec<_>>>()
    })?;
    let table = table(&runs)?;
    Py::new(
        py,
        PyClassInitializer::from(table).add_subclass(Together { runs }),
    )
}

/// The items of a string or a list, each of which may be several with commas between.
fn list(told: Option<&Bound<'_, PyAny>>, usual: &str) -> PyResult<Vec<String>> {
    let told = match told {
        Some(told) => words(told)?,
        None => vec![usual.to_owned()],
    };
    let items = told.iter().flat_map(|text| text.split(','));
    Ok(items.map(|item| item.trim().to_owned()).collect())
}

/// The programs by name.
///
/// Errors: a trace that has no order of uses.
fn programs(traces: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Arc<workingset::Trace>)>> {
    let mut programs = Vec::new();
    if let Ok(named) = traces.cast::<PyDict>() {
        for (name, trace) in named {
            let trace = trace.cast::<Trace>()?;
            programs.push((name.str()?.to_string(), Arc::clone(&trace.get().inner)));
        }
    } else {
        for (at, trace) in traces.try_iter()?.enumerate() {
            let trace = trace?;
            let trace = trace.cast::<Trace>()?.get();
            let name = trace.name().unwrap_or_else(|| (at + 1).to_string());
            programs.push((name, Arc::clone(&trace.inner)));
        }
    }
    for (_, trace) in &programs {
        demand_order(&trace.about, "together").map_err(failed)?;
    }
    Ok(programs)
}

fn run(task: Task, processes: &[Process<'_>], watch: &Watch) -> PyResult<Run> {
    watch.check()?;
    let outcome = run_managed(&task.manager, &task.machine, processes).map_err(failed)?;
    watch.step();
    Ok(Run {
        manager: task.manager,
        memory: task.memory,
        outcome,
    })
}

fn refaults(outcome: &Outcome) -> u64 {
    let each = outcome.processes.iter();
    each.map(|own| own.refaults_file + own.refaults_anon).sum()
}

fn table(runs: &[Run]) -> PyResult<Table> {
    let counts = |value: fn(&Outcome) -> u64| runs.iter().map(move |run| value(&run.outcome));
    let reals = |value: fn(&Outcome) -> f64| runs.iter().map(move |run| value(&run.outcome));
    Columns::default()
        .text("manager", runs.iter().map(|run| run.manager.clone()))
        .whole("memory", runs.iter().map(|run| run.memory as u64))
        .whole("makespan_ns", counts(|outcome| outcome.makespan_ns))
        .whole("some_ns", counts(|outcome| outcome.some_ns))
        .whole("full_ns", counts(|outcome| outcome.full_ns))
        .whole("refaults", counts(refaults))
        .whole("reads", counts(|outcome| outcome.reads))
        .whole("writes", counts(|outcome| outcome.writes))
        .whole("kswapd", counts(|outcome| outcome.kswapd))
        .whole("direct", counts(|outcome| outcome.direct))
        .whole("oom_kills", counts(|outcome| outcome.oom_kills))
        .real(
            "leftmost_is_largest",
            reals(|outcome| outcome.leftmost_is_largest),
        )
        .real(
            "largest_over_second",
            reals(|outcome| outcome.largest_over_second),
        )
        .table("x=memory,y=makespan_ns,by=manager")
}
