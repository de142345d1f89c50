//! The working set of a program in numbers.

use crate::failure::failed;
use crate::libraries;
use crate::measure::{with_pixels, with_points};
use crate::recording::json;
use crate::table::{Columns, Table};
use crate::trace::Trace;
use crate::watch::{self, Progress};
use numpy::ndarray::Array2;
use numpy::{PyArray2, ToPyArray};
use pyo3::prelude::*;
use std::iter::repeat_n;
use std::sync::Arc;
use workingset::Uses;
use workingset::analysis::{self, AtWindow, Claim, Curves, Need, RegionUse, Wanted};

/// The working set of a program: the result of ``analyze``. Its parts are tables.
///
/// >>> analysis = analyze(synth("phases:pages=50", 100_000))
/// >>> analysis
/// <warmset.Analysis: 100000 references to 230 pages, 3 windows>
/// >>> bool((analysis.faults["opt"] <= analysis.faults["lru"]).all())
/// True
#[pyclass(frozen, module = "warmset")]
pub(crate) struct Analysis {
    inner: analysis::Analysis,
}

#[pymethods]
impl Analysis {
    fn __repr__(&self) -> String {
        format!(
            "<warmset.Analysis: {} references to {} pages, {} windows>",
            self.inner.program.references,
            self.inner.program.pages,
            self.inner.windows.len()
        )
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "analysis_as_html")
    }

    /// The whole, as ``warmset --json analyze`` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json(py, &self.inner)
    }

    /// The trace as a whole: name, references, uses, pages, page_size, clock, time, and the floor that would keep its working set in
    /// memory, with pages, bytes and the window theta; None where it shows no locality.
    #[getter]
    fn program<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let program = json(py, &self.inner.program)?;
        program.del_item("needs")?;
        program.del_item("regions")?;
        Ok(program)
    }

    /// The memory that is needed, by falling ratio of faults: ratio, lru_pages, theta, ws_pages.
    #[getter]
    fn needs(&self) -> PyResult<Table> {
        let needs = &self.inner.program.needs;
        let reals = |value: fn(&Need) -> f64| needs.iter().map(value);
        Columns::default()
            .real("ratio", reals(|need| need.ratio))
            .whole("lru_pages", needs.iter().map(|need| need.lru_pages))
            .counts("theta", needs.iter().map(|need| need.theta))
            .real("ws_pages", reals(|need| need.ws_pages))
            .table("x=ws_pages,y=ratio")
    }

    /// What backs the pages, the largest first: name, pages, uses.
    #[getter]
    fn regions(&self) -> PyResult<Table> {
        let regions = &self.inner.program.regions;
        let counts = |value: fn(&RegionUse) -> u64| regions.iter().map(value);
        Columns::default()
            .text("name", regions.iter().map(|region| region.name.clone()))
            .whole("pages", counts(|region| region.pages))
            .whole("uses", counts(|region| region.uses))
            .table("x=pages,y=uses")
    }

    /// The working set at each window: theta; size, the mean; peak; enough, pages for 95 % of the time; faults; size_at_faults; deviation of
    /// the size; stays, how many times a page stayed in the set and left it, and mean_stay.
    #[getter]
    fn windows(&self) -> PyResult<Table> {
        let windows = &self.inner.windows;
        let counts = |value: fn(&AtWindow) -> u64| windows.iter().map(value);
        let reals = |value: fn(&AtWindow) -> f64| windows.iter().map(value);
        Columns::default()
            .counts("theta", counts(|at| at.theta))
            .real("size", reals(|at| at.size))
            .whole("peak", counts(|at| at.peak))
            .whole("enough", counts(|at| at.enough))
            .whole("faults", counts(|at| at.faults))
            .real("size_at_faults", reals(|at| at.size_at_faults))
            .real("deviation", reals(|at| at.shape.deviation))
            .whole("stays", counts(|at| at.residence.stays as u64))
            .real("mean_stay", reals(|at| at.residence.mean))
            .table("x=theta,y=size")
    }

    /// The size of the working set over time, a row for each pixel of each window: theta, begins, least, mean, most.
    #[getter]
    fn sizes(&self) -> PyResult<Table> {
        let windows = &self.inner.windows;
        let each = windows.iter().flat_map(|at| &at.sizes.pixels);
        let thetas = windows
            .iter()
            .flat_map(|at| repeat_n(at.theta, at.sizes.pixels.len()));
        let columns = Columns::default().counts("theta", thetas);
        with_pixels(columns, each).table("x=begins,y=mean,by=theta,band=least..most")
    }

    /// The curves of policies: policy, parameter, size, misses, lifetime. None if the trace does not show every reference.
    #[getter]
    fn lifetimes(&self) -> PyResult<Option<Table>> {
        self.of_curves(|curves| {
            let lines = &curves.lifetimes;
            let each = lines.iter().flat_map(|line| &line.points);
            let policies = lines
                .iter()
                .flat_map(|line| repeat_n(line.policy.clone(), line.points.len()));
            let columns = Columns::default().text("policy", policies);
            with_points(columns, each).table("x=size,y=lifetime,by=policy")
        })
    }

    /// Faults of each policy with as much memory as the working set has on average: theta, size, and ws, lru, opt, fifo, two_q, half_life;
    /// vmin_size is the size of VMIN, which has the faults of ws. None if the trace does not show every reference.
    #[getter]
    fn faults(&self) -> PyResult<Option<Table>> {
        self.of_curves(|curves| {
            let reals = |value: fn(&Claim) -> f64| curves.claims.iter().map(value);
            Columns::default()
                .counts("theta", curves.claims.iter().map(|claim| claim.theta))
                .real("size", reals(|claim| claim.size))
                .real("vmin_size", reals(|claim| claim.vmin_size))
                .real("ws", reals(|claim| claim.ws))
                .real("lru", reals(|claim| claim.lru))
                .real("opt", reals(|claim| claim.opt))
                .real("fifo", reals(|claim| claim.fifo))
                .real("two_q", reals(|claim| claim.two_q))
                .real("half_life", reals(|claim| claim.half_life))
                .table("x=size,y=ws")
        })
    }

    /// The least space-time of ws and lru by how long a fault is served: policy, service, value, and the size that it is at. None if the
    /// trace does not show every reference.
    #[getter]
    fn space_time(&self) -> PyResult<Option<Table>> {
        self.of_curves(|curves| {
            let rows = &curves.space_time;
            Columns::default()
                .text("policy", rows.iter().map(|row| row.policy.clone()))
                .real("service", rows.iter().map(|row| row.service))
                .real("value", rows.iter().map(|row| row.value))
                .real("size", rows.iter().map(|row| row.least.size))
                .table("x=service,y=value,by=policy")
        })
    }

    /// Moves between localities: begins, and distance, from 0 for the same pages as in the stretch of time before to 1 for none in common.
    #[getter]
    fn moves(&self) -> PyResult<Table> {
        let moves = &self.inner.moves;
        Columns::default()
            .counts("begins", moves.iter().map(|step| step.from))
            .real("distance", moves.iter().map(|step| step.distance))
            .table("x=begins,y=distance")
    }

    /// Times between two uses of a page: up_to, the upper edge of a bin, and references in it.
    #[getter]
    fn intervals(&self) -> PyResult<Table> {
        let bins = &self.inner.intervals;
        Columns::default()
            .counts("up_to", bins.iter().map(|bin| bin.0))
            .whole("references", bins.iter().map(|bin| bin.1))
            .table("x=up_to,y=references")
    }

    /// Uses by memory and time: uint32, shape (ranks of pages, stretches of time), the lowest pages first.
    #[getter]
    fn map<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let map = &self.inner.map;
        let cells = Array2::from_shape_vec((map.height, map.width), map.count.clone());
        Ok(cells.map_err(failed)?.to_pyarray(py))
    }

    /// Draw the map, the size over time, the lifetime curves and the times between uses, with matplotlib.
    ///
    /// Returns:
    ///     ``matplotlib.figure.Figure``.
    ///
    /// Raises:
    ///     ImportError: matplotlib is not installed.
    ///
    /// >>> [axes.get_title() for axes in analyze(synth("phases:pages=50", 20_000)).plot().axes]
    /// ['uses', 'working set', 'lifetime', 'times between uses']
    fn plot<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "plot_analysis")
    }
}

impl Analysis {
    fn of_curves(&self, table: impl Fn(&Curves) -> PyResult<Table>) -> PyResult<Option<Table>> {
        self.inner.curves.as_ref().map(table).transpose()
    }
}

/// Analyze the working set of a program: its size over time, the memory that it needs, what policies would miss.
///
/// Args:
///     trace: references.
///     windows: windows of the working set, in the trace's time; if there are none, three that the trace suggests.
///     service: how long a fault is served, in the trace's time, for space-time.
///     points: sizes at which opt, fifo and 2q are run, beside those of the working set.
///     name: the trace's name in the result; if not given, that of its file.
///     jobs: threads; 0: one for each CPU.
///
/// Raises:
///     Error: a window of 0, or longer than the trace.
///
/// ``warmset analyze`` counts the trace's own time by default; ``Trace.read(path, clock="trace")`` reads it.
///
/// >>> analyze(synth("phases:pages=50", 100_000), [500]).windows["theta"]
/// array([500], dtype=uint64)
#[pyfunction]
#[pyo3(signature = (trace, windows=vec![], *, service=100_000.0, points=6, name=None, jobs=0))]
pub(crate) fn analyze(
    trace: &Bound<'_, Trace>,
    windows: Vec<u64>,
    service: f64,
    points: usize,
    name: Option<String>,
    jobs: usize,
) -> PyResult<Analysis> {
    let own = trace.get();
    let name = name.unwrap_or_else(|| own.name().unwrap_or_else(|| "trace".to_owned()));
    let timed = own.is_timed();
    let wanted = Wanted {
        thetas: windows,
        points,
        service,
        ..Wanted::default()
    };
    let inner = Arc::clone(&own.inner);
    let work = move |_: &_| {
        let uses = Uses::of(&inner, timed).map_err(failed)?;
        analysis::Analysis::of(&name, &uses, &wanted).map_err(failed)
    };
    let inner = watch::run(trace.py(), Progress::new(None, None), jobs, work)?;
    Ok(Analysis { inner })
}
