//! Reads NumPy arrays: any integers, any strides, read-only or not, a block at a time and never as a whole.

use crate::failure::failed;
use crate::watch::Progress;
use numpy::ndarray::s;
use numpy::{
    Element, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::ops::Range;
use workingset::{About, Batch, Error, Loader, Op, Trace};

/// References that are read at once, while the interpreter waits: a megabyte of u64, done well within a millisecond.
const BLOCK: usize = 1 << 17;

/// A column of numbers of 0 or more.
trait Numbers {
    /// Appends the numbers of a range.
    ///
    /// Errors: a value that is no number of 0 or more.
    fn copy(&self, range: Range<usize>, to: &mut Vec<u64>) -> Result<(), String>;
}

impl<T: Element + Copy + std::fmt::Display> Numbers for PyReadonlyArray1<'_, T>
where
    u64: TryFrom<T>,
{
    fn copy(&self, range: Range<usize>, to: &mut Vec<u64>) -> Result<(), String> {
        let from = range.start;
        let view = self.as_array();
        let part = view.slice(s![range]);
        if let Some(at) = part.iter().position(|value| u64::try_from(*value).is_err()) {
            return Err(format!(
                "{} at place {}: a number of 0 or more is meant",
                part[at],
                from + at
            ));
        }
        let numbers = part.iter().map(|value| u64::try_from(*value));
        to.extend(numbers.map(Result::unwrap_or_default));
        Ok(())
    }
}

/// An array, and its name in messages.
struct Column<'py> {
    name: String,
    numbers: Box<dyn Numbers + 'py>,
    length: usize,
}

impl<'py> Column<'py> {
    /// A column of anything that NumPy makes an array of.
    fn of(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let array = object
            .py()
            .import("numpy")?
            .call_method1("asarray", (object,))?;
        let shape = array.cast::<PyUntypedArray>()?.shape().to_vec();
        if shape.len() != 1 {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            return Err(failed(format!(
                "{name}: an array of shape ({}): one dimension is meant",
                sizes.join(", ")
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            numbers: numbers(name, plain(array)?)?,
            length: shape[0],
        })
    }

    fn copy(&self, range: Range<usize>, to: &mut Vec<u64>) -> PyResult<()> {
        to.clear();
        self.numbers
            .copy(range, to)
            .map_err(|what| failed(format!("{}: {what}", self.name)))
    }
}

/// All numbers of a column.
///
/// Errors: as of a trace's columns.
pub(crate) fn whole(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let column = Column::of(name, object)?;
    let mut numbers = Vec::with_capacity(column.length);
    column.copy(0..column.length, &mut numbers)?;
    Ok(numbers)
}

/// The array as Rust can read it. One of foreign byte order, or that is not aligned, is copied.
fn plain(array: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let kind = array.cast::<PyUntypedArray>()?.dtype();
    let is_aligned: bool = array.getattr("flags")?.getattr("aligned")?.extract()?;
    if is_aligned && kind.is_native_byteorder() != Some(false) {
        return Ok(array);
    }
    let native = kind.call_method1("newbyteorder", ("=",))?;
    array.call_method1("astype", (native,))
}

/// The numbers of an array of any integer type.
fn numbers<'py>(name: &str, array: Bound<'py, PyAny>) -> PyResult<Box<dyn Numbers + 'py>> {
    macro_rules! any_of {
        ($($kind:ty),*) => {
            $(if let Ok(column) = array.extract::<PyReadonlyArray1<'py, $kind>>() {
                return Ok(Box::new(column));
            })*
        };
    }
    any_of!(u64, i64, u32, i32, u16, i16, u8, i8);
    let untyped = array.cast::<PyUntypedArray>()?;
    if untyped.is_empty() {
        return Err(failed(Error::Empty));
    }
    Err(PyTypeError::new_err(format!(
        "{name}: an array of {}: integers are meant",
        untyped.dtype()
    )))
}

/// The columns of a trace.
pub(crate) struct Columns<'py> {
    page: Column<'py>,
    others: [Option<Column<'py>>; 4],
}

impl<'py> Columns<'py> {
    pub(crate) fn of(
        page: &Bound<'py, PyAny>,
        others: [Option<Bound<'py, PyAny>>; 4],
    ) -> PyResult<Self> {
        let page = Column::of("pages", page)?;
        if page.length >= u32::MAX as usize {
            return Err(failed(Error::TooMany("2^32 references")));
        }
        let [time, op, task, size] = others;
        let column = |name, object: Option<Bound<'py, PyAny>>| -> PyResult<Option<Column<'py>>> {
            let Some(column) = object.map(|object| Column::of(name, &object)).transpose()? else {
                return Ok(None);
            };
            if column.length == page.length {
                return Ok(Some(column));
            }
            Err(failed(format!(
                "{name}: {} numbers for {} references",
                column.length, page.length
            )))
        };
        let others = [
            column("time", time)?,
            column("op", op)?,
            column("task", task)?,
            column("size", size)?,
        ];
        Ok(Self { page, others })
    }

    /// Makes the trace. While pages are numbered, other threads of Python run. Ctrl-C is noticed between blocks.
    pub(crate) fn load(
        &self,
        py: Python<'_>,
        progress: Option<Bound<'_, PyAny>>,
        about: About,
    ) -> PyResult<Trace> {
        let mut loader = Loader::expecting(self.page.length);
        let mut progress = Progress::new(progress, Some(self.page.length as u64));
        let mut batch = Batch::default();
        let mut numbers = Vec::new();
        let mut before = 0;
        for from in (0..self.page.length).step_by(BLOCK) {
            let range = from..(from + BLOCK).min(self.page.length);
            self.page.copy(range.clone(), &mut batch.page)?;
            let [time, op, task, size] = &self.others;
            if let Some(time) = time {
                time.copy(range.clone(), &mut batch.time)?;
                before = rising(&batch.time, before, from)?;
            }
            if let Some(op) = op {
                op.copy(range.clone(), &mut numbers)?;
                batch.op = small(&numbers, "op", 7)?.map(|op| Op(op as u8)).collect();
            }
            if let Some(task) = task {
                task.copy(range.clone(), &mut numbers)?;
                batch.task = small(&numbers, "task", u64::from(u16::MAX))?
                    .map(|task| task as u16)
                    .collect();
            }
            if let Some(size) = size {
                size.copy(range.clone(), &mut numbers)?;
                batch.size = small(&numbers, "size", u64::from(u32::MAX))?
                    .map(|size| size as u32)
                    .collect();
            }
            py.detach(|| loader.push(&batch)).map_err(failed)?;
            py.check_signals()?;
            progress.tell(range.end as u64)?;
        }
        py.detach(|| loader.finish(about)).map_err(failed)
    }
}

/// Checks that times never fall. Returns the last of them.
fn rising(times: &[u64], before: u64, from: usize) -> PyResult<u64> {
    let mut last = before;
    for (at, time) in times.iter().enumerate() {
        if *time < last {
            return Err(failed(format!(
                "time: at place {} it goes back from {last} to {time}",
                from + at
            )));
        }
        last = *time;
    }
    Ok(last)
}

/// The numbers.
///
/// Errors: one of them is above `most`.
fn small<'n>(
    numbers: &'n [u64],
    name: &str,
    most: u64,
) -> PyResult<impl Iterator<Item = u64> + use<'n>> {
    match numbers.iter().find(|number| **number > most) {
        Some(number) => Err(failed(format!("{name}: {number} is above {most}"))),
        None => Ok(numbers.iter().copied()),
    }
}
