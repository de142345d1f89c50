//! Measures of a trace, each in one pass.

use crate::failure::failed;
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
///     Misses, float64, shape (distinct + 1,): item c is the misses with c pages of memory. The first is ``len(trace)``,
///     and none is above the one before.
///
/// Raises:
///     Error: a sample without a page.
///
/// >>> curve(Trace([1, 2, 1]))
/// array([3., 3., 2.])
#[pyfunction]
#[pyo3(signature = (trace, *, sample=None, jobs=0))]
pub(crate) fn curve<'py>(
    trace: &Bound<'py, Trace>,
    sample: Option<f64>,
    jobs: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let py = trace.py();
    let trace = Arc::clone(&trace.get().inner);
    let misses = watch::run(py, Progress::new(None, None), jobs, move |_| match sample {
        None => Ok(MissCurve::of(&trace).all()),
        Some(sample) => {
            let sampling = Sampling::told(sample).map_err(failed)?;
            Ok(sampled(&trace, sampling).map_err(failed)?.curve.all())
        }
    })?;
    Ok(PyArray1::from_vec(py, misses))
}

/// How long a program runs between faults, against the memory that it has on average: the result of ``lifetime``.
///
/// Its columns have a value for each point, by rising parameter. Time is the trace's own, or references if it has none.
///
/// >>> lru = lifetime(synth("zipf:pages=100", 5_000))
/// >>> lru.policy, len(lru)
/// ('lru', 100)
#[pyclass(frozen, module = "warmset")]
pub(crate) struct Lifetime {
    inner: measure::Lifetime,
}

impl Lifetime {
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl FnMut(&Point) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.inner.points.iter().map(value))
    }
}

#[pymethods]
impl Lifetime {
    fn __len__(&self) -> usize {
        self.inner.points.len()
    }

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

    /// Pages of memory, or the window in the trace's time: uint64, shape (points,).
    #[getter]
    fn parameter<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |point| point.parameter)
    }

    /// Mean pages in memory: float64, shape (points,).
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |point| point.size)
    }

    /// Faults: float64, shape (points,).
    #[getter]
    fn misses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |point| point.misses)
    }

    /// Mean time between faults: float64, shape (points,).
    #[getter]
    fn lifetime<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |point| point.lifetime)
    }

    /// The space-time product in pages × time, if a fault is served in `service`: float64, shape (points,).
    #[pyo3(signature = (service=10_000.0))]
    fn space_time<'py>(
        &self,
        py: Python<'py>,
        service: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let service = time(service)?;
        Ok(self.column(py, |point| self.inner.space_time(point, service)))
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
) -> PyResult<Lifetime> {
    let choice = Choice::parse(policy).map_err(failed)?;
    let py = trace.py();
    let timed = trace.get().is_timed();
    let trace = Arc::clone(&trace.get().inner);
    let work = move |_: &_| measure::Lifetime::of(&trace, timed, &choice, points).map_err(failed);
    let inner = watch::run(py, Progress::new(None, None), jobs, work)?;
    Ok(Lifetime { inner })
}

/// The size of the working set over time: the result of ``working_set``.
///
/// Times are the trace's own, or references if it has none. Each pixel is a stretch of time.
#[pyclass(frozen, module = "warmset")]
pub(crate) struct WorkingSet {
    inner: Series,
}

impl WorkingSet {
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: fn(&Pixel) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.inner.pixels.iter().map(value))
    }
}

#[pymethods]
impl WorkingSet {
    fn __len__(&self) -> usize {
        self.inner.pixels.len()
    }

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

    /// When each pixel begins: uint64, shape (pixels,).
    #[getter]
    fn begins<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |pixel| pixel.from)
    }

    /// Fewest pages in each pixel: uint64, shape (pixels,).
    #[getter]
    fn least<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |pixel| pixel.least)
    }

    /// Mean of pages in each pixel: float64, shape (pixels,).
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |pixel| pixel.mean)
    }

    /// Most pages in each pixel: uint64, shape (pixels,).
    #[getter]
    fn most<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |pixel| pixel.most)
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
/// >>> working_set(Trace([1, 2, 1, 1, 1, 1]), 2, pixels=6).most
/// array([1, 2, 2, 1, 1, 1], dtype=uint64)
#[pyfunction]
#[pyo3(signature = (trace, theta, *, pixels=800))]
pub(crate) fn working_set(
    trace: &Bound<'_, Trace>,
    theta: u64,
    pixels: usize,
) -> PyResult<WorkingSet> {
    let py = trace.py();
    let timed = trace.get().is_timed();
    let trace = Arc::clone(&trace.get().inner);
    let work = move |_: &_| Series::of(&trace, timed, theta, pixels).map_err(failed);
    let inner = watch::run(py, Progress::new(None, None), 1, work)?;
    Ok(WorkingSet { inner })
}
