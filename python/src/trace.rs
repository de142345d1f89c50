//! A trace, as Python has it.

use crate::arrays::{self, Columns};
use crate::capsules;
use crate::failure::failed;
use crate::libraries;
use crate::reading::{Opening, format_told};
use crate::recording::json;
use crate::trace_columns::{self, Rows};
use crate::watch::{self, Progress};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PySlice};
use std::path::PathBuf;
use std::sync::Arc;
use traces::{ReadNote, Reading, Wanted};
use units::Bytes;
use workingset::{About, Clock, Loader};

/// References of a program to pages, in the order of use. A trace does not change.
///
/// Args:
///     pages: page numbers in the order of use, shape (n,), any integers of 0 or more: an array, or what NumPy makes
///         one of. It may be read-only and strided; it is read once, block by block, and not kept.
///     time: the time of each reference, shape (n,), never falling; without it, time is counted in references.
///     op: the operation of each, shape (n,): 1 fetch, 2 load, 4 store, 6 modify. Policies then count write-backs.
///     task: the task of each, shape (n,), 0 to 65535.
///     size: bytes of each, shape (n,), below 4 GiB, where the pages are objects of several sizes. For ``simulate_objects``.
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
    /// Of a file: what was read, and how it was recognised.
    read: Option<ReadNote>,
}

impl Trace {
    pub(crate) fn from(trace: workingset::Trace) -> Self {
        Self {
            inner: Arc::new(trace),
            read: None,
        }
    }

    /// The name of its file, without directories and endings.
    pub(crate) fn name(&self) -> Option<String> {
        self.read.as_ref().map(ReadNote::name)
    }

    /// The part of the references from one place to another.
    fn range(&self, from: usize, to: usize) -> PyResult<Self> {
        let mut loader = Loader::expecting(to.saturating_sub(from));
        for at in (from..to).step_by(STEP) {
            let batch = self.inner.batch(at, STEP.min(to - at));
            loader.push(&batch).map_err(failed)?;
        }
        let about = self.inner.about.clone();
        loader.finish(about).map(Self::from).map_err(failed)
    }

    /// The references for which a mask is true.
    fn masked(&self, mask: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Ok(mask) = mask.extract::<PyReadonlyArray1<'_, bool>>() else {
            return Ok(None);
        };
        let mask = mask.as_array();
        if mask.len() != self.inner.len() {
            return Err(failed(format!(
                "a mask of {} for {} references",
                mask.len(),
                self.inner.len()
            )));
        }
        let part = self.inner.part(|at| mask[at]).map_err(failed)?;
        Ok(Some(Self::from(part)))
    }

    /// Returns true if measures use the trace's own time. A trace has one only if it was requested.
    pub(crate) fn is_timed(&self) -> bool {
        self.inner.time().is_some()
    }
}

#[pymethods]
impl Trace {
    #[new]
    #[pyo3(signature = (pages, time=None, op=None, task=None, *, size=None, page_size=4096, clock=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn new(
        pages: &Bound<'_, PyAny>,
        time: Option<Bound<'_, PyAny>>,
        op: Option<Bound<'_, PyAny>>,
        task: Option<Bound<'_, PyAny>>,
        size: Option<Bound<'_, PyAny>>,
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
        let columns = Columns::of(pages, [time, op, task, size])?;
        Ok(Self::from(columns.load(pages.py(), progress, about)?))
    }

    /// Read a trace from a file of any format that ``warmset convert --help`` lists, compressed or not.
    ///
    /// Args:
    ///     path: the file.
    ///     format: the format, instead of the one that content and name show.
    ///     columns: of a table, what each column is, as the command's ``--columns`` takes it: ``"time=1:us,key=2,op=6"``.
    ///     page_size: bytes of a page, if the trace has addresses: a number, or a size such as ``"64KiB"``.
    ///     split: count a lackey reference over a page's end as two.
    ///     clock: what time is counted in: ``references``, ``trace`` (its own time), ``bytes`` (of instructions, lackey).
    ///     window: only references from ``window[0]`` to ``window[1]``, the latter not included; None is the start or the end.
    ///     task: only the references of this task.
    ///     sizes: read the sizes of objects, where there are any, for ``simulate_objects``: 4 bytes more a reference.
    ///     progress: called as ``progress(references so far, None)``.
    ///
    /// Raises:
    ///     OSError: the file cannot be read.
    ///     Error: the content is no trace; the message names the line or the byte.
    ///
    /// ``note`` says what was read, as the command does, so that a wrong format is seen.
    ///
    /// >>> import tempfile, pathlib
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.txt"
    /// >>> _ = path.write_text("7\n9\n7\n")
    /// >>> Trace.read(path)
    /// <warmset.Trace: 3 references to 2 pages>
    /// >>> Trace.read(path).note.split(": ")[1]
    /// 'plain (by its content); 3 references to 2 pages of 4096 bytes'
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, columns=None, page_size=PageSize::Bytes(4096), split=false,
                        clock="references", window=None, task=None, sizes=false, progress=None),
           text_signature = "(path, *, format=None, columns=None, page_size=4096, split=False, clock='references', \
                             window=None, task=None, sizes=False, progress=None)")]
    #[allow(clippy::too_many_arguments, reason = "Python's keywords")]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        columns: Option<&str>,
        page_size: PageSize,
        split: bool,
        clock: &str,
        window: Option<(Option<u64>, Option<u64>)>,
        task: Option<u16>,
        sizes: bool,
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
            sizes,
            ..Reading::of_pages(page_size.bytes()?).map_err(failed)?
        };
        let format = format_told(format, columns)?;
        let window = window.map(|(from, to)| (from.unwrap_or(0), to.unwrap_or(u64::MAX)));
        let opening = Opening {
            path,
            format,
            reading,
            wanted: Wanted { window, task, time },
        };
        let (trace, note) = watch::run(py, Progress::new(progress, None), 1, move |watch| {
            opening.load(watch)
        })?;
        Ok(Self {
            read: Some(note),
            ..Self::from(trace)
        })
    }

    /// Read a trace from an Arrow table: a ``pyarrow.Table``, a ``polars.DataFrame``, a relation of DuckDB, anything with
    /// ``__arrow_c_stream__`` or ``__arrow_c_array__``. It is read in place, without a copy.
    ///
    /// Args:
    ///     table: it has a column of integers called page (or vpn, pfn, key, obj_id, id). It may have columns time, op,
    ///         task, and run, the number of references that a row stands for.
    ///     sizes: read the column size, too, the bytes of each object.
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
    #[pyo3(signature = (table, *, sizes=false, progress=None))]
    fn from_arrow(
        table: &Bound<'_, PyAny>,
        sizes: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let batches = capsules::batches(table)?;
        let reading = with_sizes(sizes);
        let load = move |watch: &watch::Watch| trace_columns::load(batches, reading, watch);
        watch::run(table.py(), Progress::new(progress, None), 1, load).map(Self::from)
    }

    /// Read a trace from a ``pandas.DataFrame``, or from a dict of arrays. It needs no pyarrow.
    ///
    /// Args:
    ///     frame: the columns, named as in ``from_arrow``.
    ///     page_size: bytes of a page.
    ///     clock: what time counts, as in ``Trace``.
    ///     sizes: read the column size, too, the bytes of each object.
    ///     progress: called as ``progress(references so far, None)``.
    ///
    /// Raises:
    ///     TypeError: a column that is not of integers; pandas makes those with missing values floats.
    ///     Error: no such column, columns of different lengths, negative values, time that goes back.
    ///
    /// >>> import pandas
    /// >>> Trace.from_pandas(pandas.DataFrame({"vpn": [7, 9, 7], "comment": ["a", "b", "c"]}))
    /// <warmset.Trace: 3 references to 2 pages>
    #[staticmethod]
    #[pyo3(signature = (frame, *, page_size=4096, clock=None, sizes=false, progress=None))]
    fn from_pandas(
        frame: &Bound<'_, PyAny>,
        page_size: u64,
        clock: Option<&str>,
        sizes: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let reading = with_sizes(sizes);
        let about = About {
            page_size: Reading::of_pages(page_size).map_err(failed)?.page_size,
            clock: clock.map(named).transpose()?.unwrap_or_default(),
            ..About::default()
        };
        let mut names = Vec::new();
        for name in frame.call_method0("keys")?.try_iter()? {
            names.push(name?.str()?.to_string());
        }
        let page = traces::page_column(&names).map_err(failed)?;
        let mut columns = Vec::new();
        for name in names {
            let is_known = traces::PAGE_TRACE.contains(&name.as_str());
            let is_unwanted = name == "size" && !sizes;
            if name == page || (is_known && !is_unwanted) {
                columns.push((name.clone(), arrays::whole(&name, &frame.get_item(&name)?)?));
            }
        }
        let batches = trace_columns::of_numbers(columns, &about)?;
        let load = move |watch: &watch::Watch| trace_columns::load(batches, reading, watch);
        watch::run(frame.py(), Progress::new(progress, None), 1, load).map(Self::from)
    }

    /// Read a trace from a ``polars.DataFrame``: the same as ``from_arrow``.
    ///
    /// >>> import polars
    /// >>> Trace.from_polars(polars.DataFrame({"page": [7, 9, 7]}))
    /// <warmset.Trace: 3 references to 2 pages>
    #[staticmethod]
    #[pyo3(signature = (frame, *, sizes=false, progress=None))]
    fn from_polars(
        frame: &Bound<'_, PyAny>,
        sizes: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Self::from_arrow(frame, sizes, progress)
    }

    /// The trace as a ``pyarrow.Table`` of the columns that are known: time, page, op, task, size. ``from_arrow`` reads it back,
    /// with page size and clock.
    ///
    /// Raises:
    ///     ImportError: pyarrow is not installed.
    ///
    /// >>> Trace([7, 9, 7]).to_arrow()["page"].to_pylist()
    /// [7, 9, 7]
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "to_arrow")
    }

    /// The trace as a ``pandas.DataFrame`` of the same columns. It needs no pyarrow.
    ///
    /// Raises:
    ///     ImportError: pandas is not installed.
    ///
    /// >>> Trace([7, 9, 7], op=[2, 2, 4]).to_pandas().columns.tolist()
    /// ['page', 'op']
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "trace_to_pandas")
    }

    /// The trace as a ``polars.DataFrame`` of the same columns.
    ///
    /// Raises:
    ///     ImportError: polars is not installed.
    ///
    /// >>> Trace([7, 9, 7]).to_polars()["page"].n_unique()
    /// 2
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "to_polars")
    }

    /// References.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// The page number of a reference by its place; or a trace of some references, by a slice whose step is 1 or more, or by a
    /// mask of bool. A trace has at least one reference, so an empty part is an Error. A part counts its pages anew, and has no `note`.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let own = slf.get();
        let len = own.inner.len();
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(len as isize)?;
            let step = usize::try_from(range.step).map_err(|_| {
                failed("a trace cannot be read backwards: the step of a slice is 1 or more")
            })?;
            let from = range.start as usize;
            let to = (range.stop.max(range.start)) as usize;
            let part = if step == 1 {
                own.range(from, to)?
            } else {
                let is_wanted = |at: usize| at >= from && at < to && (at - from) % step == 0;
                Self::from(own.inner.part(is_wanted).map_err(failed)?)
            };
            return Ok(Bound::new(py, part)?.into_any());
        }
        if let Some(part) = own.masked(key)? {
            return Ok(Bound::new(py, part)?.into_any());
        }
        let Ok(place) = key.extract::<isize>() else {
            let kind = key.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!(
                "a trace has references by number, slice or mask of bool: {kind} is none of them"
            )));
        };
        let at = if place < 0 {
            place + len as isize
        } else {
            place
        };
        match usize::try_from(at) {
            Ok(at) if at < len => {
                let page = own.inner.refs()[at];
                let name = own.inner.names()[page as usize];
                Ok(name.into_pyobject(py)?.into_any())
            }
            _ => Err(PyIndexError::new_err(format!(
                "reference {place} of a trace of {len}"
            ))),
        }
    }

    /// The page numbers, as int.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let numbers = Self::pages(slf).call_method0("tolist")?;
        Ok(numbers.try_iter()?.into_any())
    }

    fn __repr__(&self) -> String {
        format!(
            "<warmset.Trace: {} references to {} pages>",
            self.inner.len(),
            self.inner.pages()
        )
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "trace_as_html")
    }

    /// For ``numpy.asarray(trace)``: `pages`, a new array.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "an array of a trace's pages is a new one: refs and names are views",
            ));
        }
        let pages = Self::pages(slf);
        match dtype {
            Some(dtype) => pages.call_method1("astype", (dtype,)),
            None => Ok(pages.into_any()),
        }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema_out(py, &trace_columns::schema(&self.inner)?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // By the interface, a request that cannot be met is left to the one who asked.
        let _ = requested_schema;
        capsules::array_out(py, Rows::in_one(&self.inner)?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsules::stream_out(py, Box::new(Rows::of(&self.inner)?))
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
        columns.set_item("size", Self::size(slf))?;
        columns.set_item("page_size", trace.about.page_size)?;
        columns.set_item("clock", slf.get().clock())?;
        let make = py
            .import("functools")?
            .getattr("partial")?
            .call((slf.get_type(),), Some(&columns))?;
        Ok((make, pyo3::types::PyTuple::empty(py).into_any()))
    }

    /// The names of the columns that are known, of time, page, op, task and size.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let schema = trace_columns::schema(&self.inner)?;
        let fields = schema.fields().iter();
        Ok(fields.map(|field| field.name().clone()).collect())
    }

    /// What was read of the file, in the line that the command prints on standard error: its format and how that was found, what columns
    /// were taken for, references and pages. None if the trace is from no file, or is a part of one.
    #[getter]
    fn note(&self) -> Option<String> {
        self.read.as_ref().map(ToString::to_string)
    }

    /// The same as a dict, as the command's ``--json`` has it under ``trace``: file, format, found, page_size, references and so on.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.read.as_ref().map(|note| json(py, note)).transpose()
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

    /// Bytes of the object of each reference, shape (n,): a read-only view of uint32; None if not known.
    #[getter]
    fn size<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyArray1<u32>>> {
        slf.get().inner.size().map(|size| view(size, slf))
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

/// References of a part that are copied at once: a megabyte of page numbers.
const STEP: usize = 1 << 17;

/// How a table in memory is read.
fn with_sizes(sizes: bool) -> Reading {
    Reading {
        sizes,
        ..Reading::default()
    }
}

/// The size of a page: bytes, or a size with its unit.
#[derive(FromPyObject)]
pub(crate) enum PageSize {
    Bytes(u64),
    Told(String),
}

impl PageSize {
    fn bytes(&self) -> PyResult<u64> {
        match self {
            Self::Bytes(bytes) => Ok(*bytes),
            Self::Told(text) => match text.parse::<Bytes>() {
                Ok(size) => Ok(size.get()),
                Err(error) => Err(failed(format!("page_size {text}: {error}"))),
            },
        }
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
