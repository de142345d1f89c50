//! A reference trace in memory.

use crate::arrays::Columns;
use crate::failure::failed;
use crate::reading::Opening;
use crate::tables;
use crate::watch::{self, Progress};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use traces::{Reading, Wanted};
use workingset::{About, Clock};

/// References of a program to pages, in the order of use. A trace does not change.
///
/// Args:
///     pages: page numbers in the order of use, shape (n,), any integers of 0 or more: an array, or what NumPy makes
///         one of. It may be read-only and strided; it is read once, block by block, and not kept.
///     time: the time of each reference, shape (n,), never falling; without it, time is counted in references.
///     op: the operation of each, shape (n,): 1 fetch, 2 load, 4 store, 6 modify. Policies then count write-backs.
///     task: the task of each, shape (n,), 0 to 65535.
///     page_size: bytes of a page; capacities such as ``64MiB`` need it.
///     clock: what `time` counts: ``references``, ``instructions``, ``instruction-bytes``, ``nanoseconds``, ``seconds``.
///     progress: called as ``progress(references so far, references in all)``.
///
/// Raises:
///     TypeError: an array that is not of integers.
///     Error: no reference, more than 2^32, a negative number, another shape, time that goes back.
///
/// >>> trace = Trace([7, 9, 7, 7])
/// >>> len(trace), trace.distinct
/// (4, 2)
/// >>> trace.refs, trace.names
/// (array([0, 1, 0, 0], dtype=uint32), array([7, 9], dtype=uint64))
#[pyclass(frozen, module = "warmset")]
pub(crate) struct Trace {
    pub(crate) inner: Arc<workingset::Trace>,
}

impl Trace {
    pub(crate) fn from(trace: workingset::Trace) -> Self {
        Self {
            inner: Arc::new(trace),
        }
    }

    /// Returns true if measures use the trace's own time. A trace has one only if it was requested.
    pub(crate) fn is_timed(&self) -> bool {
        self.inner.time().is_some()
    }
}

#[pymethods]
impl Trace {
    #[new]
    #[pyo3(signature = (pages, time=None, op=None, task=None, *, page_size=4096, clock=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        pages: &Bound<'_, PyAny>,
        time: Option<Bound<'_, PyAny>>,
        op: Option<Bound<'_, PyAny>>,
        task: Option<Bound<'_, PyAny>>,
        page_size: u64,
        clock: Option<&str>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let page_size = Reading::of_pages(page_size).map_err(failed)?.page_size;
        let about = About {
            page_size,
            clock: clock.map(named).transpose()?.unwrap_or_default(),
            ..About::default()
        };
        let columns = Columns::of(pages, [time, op, task])?;
        Ok(Self::from(columns.load(pages.py(), progress, about)?))
    }

    /// Read a trace from a file of any format that ``warmset convert --help`` lists, compressed or not.
    ///
    /// Args:
    ///     path: the file.
    ///     format: the format, instead of the one that content and name show.
    ///     page_size: bytes of a page, if the trace has addresses.
    ///     split: count a lackey reference over a page's end as two.
    ///     clock: what time is counted in: ``references``, ``trace`` (its own time), ``bytes`` (of instructions, lackey).
    ///     window: only references from ``window[0]`` to ``window[1]``, the latter not included.
    ///     task: only the references of this task.
    ///     progress: called as ``progress(references so far, None)``.
    ///
    /// Raises:
    ///     OSError: the file cannot be read.
    ///     Error: the content is no trace; the message names the line or the byte.
    ///
    /// >>> import tempfile, pathlib
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.txt"
    /// >>> _ = path.write_text("7\n9\n7\n")
    /// >>> Trace.read(path)
    /// <warmset.Trace: 3 references to 2 pages>
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, page_size=4096, split=false, clock="references", window=None, task=None,
                        progress=None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        page_size: u64,
        split: bool,
        clock: &str,
        window: Option<(u64, u64)>,
        task: Option<u16>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (time, bytes) = match clock {
            "references" => (false, false),
            "trace" => (true, false),
            "bytes" => (true, true),
            other => {
                return Err(failed(format!(
                    "no clock '{other}': there are references, trace, bytes"
                )));
            }
        };
        let reading = Reading {
            time,
            split,
            bytes,
            ..Reading::of_pages(page_size).map_err(failed)?
        };
        let format = format
            .map(traces::Format::named)
            .transpose()
            .map_err(failed)?;
        let opening = Opening {
            path,
            format,
            reading,
            wanted: Wanted { window, task, time },
        };
        watch::run(py, Progress::new(progress, None), 1, move |watch| {
            opening.load(watch)
        })
        .map(Self::from)
    }

    /// Read a trace from an Arrow table: a ``pyarrow.Table``, a ``polars.DataFrame``, anything with
    /// ``__arrow_c_stream__``. It is read in place, without a copy.
    ///
    /// Args:
    ///     table: it has a column of integers called page (or vpn, pfn, key, obj_id, id). It may have columns time, op,
    ///         task, and run, the number of references that a row stands for.
    ///     progress: called as ``progress(references so far, None)``.
    ///
    /// Raises:
    ///     TypeError: no Arrow table.
    ///     Error: no such column, not of integers, missing or negative values.
    ///
    /// >>> import pyarrow
    /// >>> Trace.from_arrow(pyarrow.table({"page": [7, 9, 7]}))
    /// <warmset.Trace: 3 references to 2 pages>
    #[staticmethod]
    #[pyo3(signature = (table, *, progress=None))]
    fn from_arrow(table: &Bound<'_, PyAny>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let reader = tables::stream(table)?;
        let load = move |watch: &watch::Watch| tables::load(reader, watch);
        watch::run(table.py(), Progress::new(progress, None), 1, load).map(Self::from)
    }

    /// References.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<warmset.Trace: {} references to {} pages>",
            self.inner.len(),
            self.inner.pages()
        )
    }

    /// For pickle: another process gets the columns.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let trace = &slf.get().inner;
        let columns = PyDict::new(py);
        columns.set_item("pages", Self::pages(slf))?;
        columns.set_item("time", Self::time(slf))?;
        columns.set_item("op", slf.get().op(py))?;
        columns.set_item("task", Self::task(slf))?;
        columns.set_item("page_size", trace.about.page_size)?;
        columns.set_item("clock", slf.get().clock())?;
        let make = py
            .import("functools")?
            .getattr("partial")?
            .call((slf.get_type(),), Some(&columns))?;
        Ok((make, pyo3::types::PyTuple::empty(py).into_any()))
    }

    /// Different pages: the footprint.
    #[getter]
    fn distinct(&self) -> usize {
        self.inner.pages()
    }

    /// Pages in the order of use, numbered in the order of first use, shape (n,): a read-only view of uint32.
    #[getter]
    fn refs<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u32>> {
        view(slf.get().inner.refs(), slf)
    }

    /// The page number in the source that each of `refs` stands for, shape (distinct,): a read-only view of uint64.
    #[getter]
    fn names<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        view(slf.get().inner.names(), slf)
    }

    /// Page numbers of the source in the order of use, shape (n,): a new array of uint64, ``names[refs]``.
    #[getter]
    fn pages<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyArray1<u64>> {
        let trace = &slf.get().inner;
        let names = trace.names();
        let pages = trace.refs().iter().map(|page| names[*page as usize]);
        PyArray1::from_iter(slf.py(), pages)
    }

    /// The time of each reference, shape (n,): a read-only view of uint64; None if time is counted in references.
    #[getter]
    fn time<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyArray1<u64>>> {
        slf.get().inner.time().map(|time| view(time, slf))
    }

    /// The operation of each, shape (n,), a new array of uint8: 1 fetch, 2 load, 4 store, 6 modify; None if not known.
    #[getter]
    fn op<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u8>>> {
        self.inner
            .op()
            .map(|op| PyArray1::from_iter(py, op.iter().map(|op| op.0)))
    }

    /// The task of each, shape (n,): a read-only view of uint16; None if not known.
    #[getter]
    fn task<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyArray1<u16>>> {
        slf.get().inner.task().map(|task| view(task, slf))
    }

    /// Bytes of a page.
    #[getter]
    fn page_size(&self) -> u64 {
        self.inner.about.page_size
    }

    /// What the times count.
    #[getter]
    fn clock(&self) -> &'static str {
        let own = self.inner.about.clock;
        let found = CLOCKS.iter().find(|(clock, _)| *clock == own);
        found.map_or("references", |(_, name)| name)
    }
}

const CLOCKS: [(Clock, &str); 5] = [
    (Clock::References, "references"),
    (Clock::Instructions, "instructions"),
    (Clock::InstructionBytes, "instruction-bytes"),
    (Clock::Nanoseconds, "nanoseconds"),
    (Clock::Seconds, "seconds"),
];

fn named(name: &str) -> PyResult<Clock> {
    for (clock, known) in CLOCKS {
        if known == name {
            return Ok(clock);
        }
    }
    let known = CLOCKS.map(|(_, name)| name).join(", ");
    Err(failed(format!("no clock '{name}': there are {known}")))
}

/// A read-only view of a column. It keeps the trace alive.
#[allow(
    unsafe_code,
    reason = "NumPy gets a pointer, and with it the trace that it points into"
)]
fn view<'py, T: Element>(column: &[T], trace: &Bound<'py, Trace>) -> Bound<'py, PyArray1<T>> {
    // SAFETY: the column belongs to the trace. The trace is frozen, so the column neither moves nor changes while the trace
    // lives, and the array holds a reference to the trace as its base.
    let array =
        unsafe { PyArray1::borrow_from_array(&ArrayView1::from(column), trace.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}
