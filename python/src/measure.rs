//! Measures of a trace, each in one pass.

use crate::failure::failed;
use crate::table::{Columns, Table};
use crate::trace::Trace;
use crate::watch::{self, Progress};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use workingset::measure::sample::{Sampling, sampled};
use workingset::measure::series::{Pixel, Series};
use workingset::measure::{self, MissCurve, Point};
use workingset::policy::Choice;

/// Misses of LRU at every memory size, from one pass.
///
/// Args:
///     trace: references.
///     sample: compute the curve from a part of the pages: a share such as 0.01, or a number of pages. Without it the
///         curve is exact.
///     jobs: threads; 0: one for each CPU.
///
/// Returns:
///     A table with a row for each size from 0 to the footprint: pages (int64), misses and miss_ratio (float64). Row c has the
///     misses with c pages of memory. The first has ``len(trace)``, and none has more than the one before.
///
/// Raises:
///     Error: a sample without a page.
///
/// >>> curve(Trace([1, 2, 1]))["misses"]
/// array([3., 3., 2.])
#[pyfunction]
#[pyo3(signature = (trace, *, sample=None, jobs=0))]
pub(crate) fn curve(trace: &Bound<'_, Trace>, sample: Option<f64>, jobs: usize) -> PyResult<Table> {
    let py = trace.py();
    let trace = Arc::clone(&trace.get().inner);
    let references = trace.len() as f64;
    let misses = watch::run(py, Progress::new(None, None), jobs, move |_| match sample {
        None => Ok(MissCurve::of(&trace).all()),
        Some(sample) => {
            let sampling = Sampling::told(sample).map_err(failed)?;
            Ok(sampled(&trace, sampling).map_err(failed)?.curve.all())
        }
    })?;
    Columns::default()
        .whole("pages", 0..misses.len() as u64)
        .real("misses", misses.iter().copied())
        .real(
            "miss_ratio",
            misses.iter().map(|misses| misses / references),
        )
        .table("x=pages,y=miss_ratio")
}

/// How long a program runs between faults, against the memory that it has on average: the result of ``lifetime``.
///
/// It is a table with a row for each point, by rising parameter: parameter (uint64), pages of memory or the window in the
/// trace's time; size (float64), mean pages in memory; misses (float64), faults; lifetime (float64), mean time between faults.
/// Time is the trace's own, or references if it has none.
///
/// >>> lru = lifetime(synth("zipf:pages=100", 5_000))
/// >>> lru.policy, len(lru), lru.columns
/// ('lru', 100, ['parameter', 'size', 'misses', 'lifetime'])
#[pyclass(frozen, extends = Table, module = "warmset")]
pub(crate) struct Lifetime {
    inner: measure::Lifetime,
}

/// The columns of points of a curve.
pub(crate) fn with_points<'p>(
    columns: Columns,
    points: impl Iterator<Item = &'p Point> + Clone,
) -> Columns {
    columns
        .counts("parameter", points.clone().map(|point| point.parameter))
        .real("size", points.clone().map(|point| point.size))
        .real("misses", points.clone().map(|point| point.misses))
        .real("lifetime", points.map(|point| point.lifetime))
}

#[pymethods]
impl Lifetime {
    fn __repr__(&self) -> String {
        format!(
            "<warmset.Lifetime: {} at {} points>",
            self.inner.policy,
            self.inner.points.len()
        )
    }

    /// The policy.
    #[getter]
    fn policy(&self) -> &str {
        &self.inner.policy
    }

    /// How long the trace is.
    #[getter]
    fn time(&self) -> u64 {
        self.inner.time
    }

    /// The space-time product in pages × time, if a fault is served in `service`: float64, shape (points,).
    #[pyo3(signature = (service=10_000.0))]
    fn space_time<'py>(
        &self,
        py: Python<'py>,
        service: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let service = time(service)?;
        let points = self.inner.points.iter();
        let values = points.map(|point| self.inner.space_time(point, service));
        Ok(PyArray1::from_iter(py, values))
    }

    /// The points at which memory is well used, if a fault is served in `service` of the trace's time.
    ///
    /// Returns:
    ///     ``ray``: the point of the greatest lifetime for each page, neither the first nor the last, or None;
    ///     ``space_time``: that of the least space-time; ``least``: that least space-time. A point is a dict of parameter, size, misses and lifetime.
    ///
    /// >>> knees = lifetime(synth("phases:pages=50", 100_000), "ws").knees()
    /// >>> 20 < knees["ray"]["size"] < 60
    /// True
    #[pyo3(signature = (service=10_000.0))]
    fn knees<'py>(&self, py: Python<'py>, service: f64) -> PyResult<Bound<'py, PyDict>> {
        let knees = self
            .inner
            .knees(time(service)?)
            .ok_or_else(|| failed("a curve without points has no knee"))?;
        let found = PyDict::new(py);
        let ray = knees.ray.map(|ray| point(py, &ray)).transpose()?;
        found.set_item("ray", ray)?;
        found.set_item("space_time", point(py, &knees.space_time)?)?;
        found.set_item("least", knees.least)?;
        Ok(found)
    }
}

fn time(service: f64) -> PyResult<f64> {
    if service.is_finite() && service >= 0.0 {
        return Ok(service);
    }
    Err(failed(format!(
        "a service time of {service}: 0 or more is meant"
    )))
}

fn point<'py>(py: Python<'py>, point: &Point) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("parameter", point.parameter)?;
    dict.set_item("size", point.size)?;
    dict.set_item("misses", point.misses)?;
    dict.set_item("lifetime", point.lifetime)?;
    Ok(dict)
}

/// The lifetime curve of a policy.
///
/// Args:
///     trace: references.
///     policy: a name of ``policies()``. lru is exact at every size from one pass, ws and vmin at every window from
///         another. Any other is run at `points` sizes.
///     points: sizes at which such a policy is run, even by their logarithm.
///     jobs: threads; 0: one for each CPU.
///
/// Raises:
///     Error: no such policy, fewer than two points.
///
/// >>> trace = synth("zipf:pages=100", 5_000)
/// >>> [len(lifetime(trace, policy, points=5)) for policy in ("lru", "opt")]
/// [100, 5]
#[pyfunction(name = "lifetime")]
#[pyo3(signature = (trace, policy="lru", *, points=24, jobs=0))]
pub(crate) fn lifetime(
    trace: &Bound<'_, Trace>,
    policy: &str,
    points: usize,
    jobs: usize,
) -> PyResult<Py<Lifetime>> {
    let choice = Choice::parse(policy).map_err(failed)?;
    let py = trace.py();
    let timed = trace.get().is_timed();
    let trace = Arc::clone(&trace.get().inner);
    let work = move |_: &_| measure::Lifetime::of(&trace, timed, &choice, points).map_err(failed);
    let inner = watch::run(py, Progress::new(None, None), jobs, work)?;
    let columns = with_points(Columns::default(), inner.points.iter());
    let table = columns.table("x=size,y=lifetime")?;
    Py::new(
        py,
        PyClassInitializer::from(table).add_subclass(Lifetime { inner }),
    )
}

/// The size of the working set over time: the result of ``working_set``.
///
/// It is a table with a row for each pixel, a stretch of time: begins (uint64), its first moment; least, mean and most pages
/// in it (uint64, float64, uint64). Times are the trace's own, or references if it has none.
#[pyclass(frozen, extends = Table, module = "warmset")]
pub(crate) struct WorkingSet {
    inner: Series,
}

/// The columns of a size over time.
pub(crate) fn with_pixels<'p>(
    columns: Columns,
    pixels: impl Iterator<Item = &'p Pixel> + Clone,
) -> Columns {
    columns
        .counts("begins", pixels.clone().map(|pixel| pixel.from))
        .counts("least", pixels.clone().map(|pixel| pixel.least))
        .real("mean", pixels.clone().map(|pixel| pixel.mean))
        .counts("most", pixels.map(|pixel| pixel.most))
}

#[pymethods]
impl WorkingSet {
    fn __repr__(&self) -> String {
        let shape = self.inner.shape();
        format!(
            "<warmset.WorkingSet: {:.1} pages at a window of {}>",
            shape.mean, self.inner.theta
        )
    }

    /// The window.
    #[getter]
    fn theta(&self) -> u64 {
        self.inner.theta
    }

    /// References at which the set had each size: uint64, shape (largest size + 1,).
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.inner.sizes)
    }

    /// How the sizes are spread: mean, deviation, skewness, excess_kurtosis and jarque_bera.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shape = self.inner.shape();
        let dict = PyDict::new(py);
        dict.set_item("mean", shape.mean)?;
        dict.set_item("deviation", shape.deviation)?;
        dict.set_item("skewness", shape.skewness)?;
        dict.set_item("excess_kurtosis", shape.excess_kurtosis)?;
        dict.set_item("jarque_bera", shape.jarque_bera)?;
        Ok(dict)
    }
}

/// The size of the working set w(t,θ) over time: the pages used in (t−θ, t].
///
/// Args:
///     trace: references.
///     theta: the window, in the trace's time, 1 or more.
///     pixels: the number of stretches of time in the result.
///
/// Raises:
///     Error: a window of 0.
///
/// >>> working_set(Trace([1, 2, 1, 1, 1, 1]), 2, pixels=6)["most"]
/// array([1, 2, 2, 1, 1, 1], dtype=uint64)
#[pyfunction]
#[pyo3(signature = (trace, theta, *, pixels=800))]
pub(crate) fn working_set(
    trace: &Bound<'_, Trace>,
    theta: u64,
    pixels: usize,
) -> PyResult<Py<WorkingSet>> {
    let py = trace.py();
    let timed = trace.get().is_timed();
    let trace = Arc::clone(&trace.get().inner);
    let work = move |_: &_| Series::of(&trace, timed, theta, pixels).map_err(failed);
    let inner = watch::run(py, Progress::new(None, None), 1, work)?;
    let columns = with_pixels(Columns::default(), inner.pixels.iter());
    let table = columns.table("x=begins,y=mean,band=least..most")?;
    Py::new(
        py,
        PyClassInitializer::from(table).add_subclass(WorkingSet { inner }),
    )
}
