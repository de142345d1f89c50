//! Results as Arrow tables.

use crate::capsules;
use crate::failure::failed;
use crate::libraries;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PySlice, PyTuple, PyType};
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of a table that is being made.
#[derive(Default)]
pub(crate) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn add(mut self, name: &str, array: ArrayRef, is_sometimes_unknown: bool) -> Self {
        let kind = array.data_type().clone();
        self.fields
            .push(Field::new(name, kind, is_sometimes_unknown));
        self.arrays.push(array);
        self
    }

    pub(crate) fn text(self, name: &str, values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values.into_iter().collect();
        self.add(name, Arc::new(StringArray::from(values)), false)
    }

    pub(crate) fn whole(self, name: &str, values: impl IntoIterator<Item = u64>) -> Self {
        let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
        self.add(name, Arc::new(Int64Array::from(values)), false)
    }

    pub(crate) fn whole_if_known(
        self,
        name: &str,
        values: impl IntoIterator<Item = Option<u64>>,
    ) -> Self {
        let values = values.into_iter().map(|value| value.map(|it| it as i64));
        let values: Vec<Option<i64>> = values.collect();
        self.add(name, Arc::new(Int64Array::from(values)), true)
    }

    /// Numbers that use all bits, such as times.
    pub(crate) fn counts(self, name: &str, values: impl IntoIterator<Item = u64>) -> Self {
        let values: Vec<u64> = values.into_iter().collect();
        self.add(name, Arc::new(UInt64Array::from(values)), false)
    }

    pub(crate) fn real(self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        self.add(name, Arc::new(Float64Array::from(values)), false)
    }

    pub(crate) fn real_if_known(
        self,
        name: &str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let values: Vec<Option<f64>> = values.into_iter().collect();
        self.add(name, Arc::new(Float64Array::from(values)), true)
    }

    pub(crate) fn truth(self, name: &str, values: impl IntoIterator<Item = bool>) -> Self {
        let values: Vec<bool> = values.into_iter().collect();
        self.add(name, Arc::new(BooleanArray::from(values)), false)
    }

    /// The table. `axes` says which columns are drawn, as in `x=size,y=misses,by=policy`.
    pub(crate) fn table(self, axes: &str) -> PyResult<Table> {
        let metadata = HashMap::from([(AXES.to_owned(), axes.to_owned())]);
        let schema = Schema::new_with_metadata(self.fields, metadata);
        let batch = RecordBatch::try_new(Arc::new(schema), self.arrays).map_err(failed)?;
        Ok(Table { batch })
    }
}

/// The key in the metadata under which it is kept how a table is drawn.
const AXES: &str = "warmset.axes";

/// A result: a table of columns, which does not change.
///
/// It is an Arrow table for any library that takes one (``pyarrow.table(result)``, ``polars.DataFrame(result)``, a query
/// of DuckDB), and needs none of them. A column is ``result["misses"]``: a NumPy array, a list of str for text. Where
/// a whole number is not known in some row, the array is of float64 with NaN there; Arrow has a missing value.
///
/// ``len(result)`` is the number of rows. ``result[3]`` is a row as a dict, ``result[2:5]`` a table of these rows.
///
/// >>> scores = simulate(synth("zipf:pages=500", 10_000), "lru,opt", [50, 100])
/// >>> scores.columns[:3], len(scores)
/// (['policy', 'capacity', 'references'], 4)
/// >>> scores["capacity"]
/// array([ 50, 100,  50, 100])
/// >>> scores[0]["policy"], scores[1:]["policy"]
/// ('lru', ['lru', 'opt', 'opt'])
#[pyclass(frozen, subclass, module = "warmset")]
pub(crate) struct Table {
    pub(crate) batch: RecordBatch,
}

impl Table {
    fn of(batch: RecordBatch) -> Self {
        Self { batch }
    }

    fn names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self
            .batch
            .schema()
            .fields()
            .iter()
            .zip(self.batch.columns())
        {
            dict.set_item(field.name(), cell(py, column, row)?)?;
        }
        Ok(dict)
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.batch.column_by_name(name) {
            Some(column) => array(py, column),
            None => Err(PyKeyError::new_err(format!(
                "no column {name:?}: there are {}",
                self.names().join(", ")
            ))),
        }
    }
}

#[pymethods]
impl Table {
    /// Put tables of the same columns under each other.
    ///
    /// Args:
    ///     tables: a dict of them. Its names become the first column.
    ///     column: the name of that column.
    ///
    /// Raises:
    ///     Error: no tables, or tables of different columns.
    ///
    /// >>> one = simulate(Trace([1, 2, 1]), "lru", [1])
    /// >>> Table.concat({"mine": one, "yours": one}, "trace")["trace"]
    /// ['mine', 'yours']
    #[staticmethod]
    fn concat(tables: &Bound<'_, PyDict>, column: &str) -> PyResult<Self> {
        let mut parts = Vec::new();
        let mut names = Vec::new();
        for (name, table) in tables {
            let table = table.cast::<Self>()?;
            let batch = table.get().batch.clone();
            names.extend(std::iter::repeat_n(name.to_string(), batch.num_rows()));
            parts.push(batch);
        }
        let Some(first) = parts.first() else {
            return Err(failed("no tables to put under each other"));
        };
        let schema = first.schema();
        let whole = arrow_select::concat::concat_batches(&schema, &parts).map_err(failed)?;
        let mut fields = vec![Arc::new(Field::new(column, DataType::Utf8, false))];
        fields.extend(schema.fields().iter().cloned());
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(StringArray::from(names))];
        arrays.extend(whole.columns().iter().cloned());
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        RecordBatch::try_new(Arc::new(schema), arrays)
            .map(Self::of)
            .map_err(failed)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names()
    }

    /// The names of the columns, so that ``dict(result)`` is a dict of arrays.
    fn keys(&self) -> Vec<String> {
        self.names()
    }

    /// The rows, each a dict; what is not known is None.
    ///
    /// >>> simulate(Trace([1, 2, 1]), "lru", [1]).rows()[0]["misses"]
    /// 3
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        (0..self.batch.num_rows())
            .map(|row| self.row(py, row))
            .collect()
    }

    /// How ``plot`` draws the table if nothing else is said: the columns for ``x``, ``y``, ``by`` and ``band``.
    #[getter]
    fn axes(&self) -> HashMap<String, String> {
        let schema = self.batch.schema();
        let told = schema.metadata().get(AXES).cloned().unwrap_or_default();
        let pairs = told.split(',').filter_map(|part| part.split_once('='));
        pairs
            .map(|(axis, column)| (axis.to_owned(), column.to_owned()))
            .collect()
    }

    /// The table as a ``pyarrow.Table``.
    ///
    /// Raises:
    ///     ImportError: pyarrow is not installed.
    ///
    /// >>> curve(Trace([1, 2, 1])).to_arrow().column_names
    /// ['pages', 'misses', 'miss_ratio']
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "to_arrow")
    }

    /// The table as a ``pandas.DataFrame``. It needs no pyarrow.
    ///
    /// Raises:
    ///     ImportError: pandas is not installed.
    ///
    /// >>> curve(Trace([1, 2, 1])).to_pandas().shape
    /// (3, 3)
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "to_pandas")
    }

    /// The table as a ``polars.DataFrame``.
    ///
    /// Raises:
    ///     ImportError: polars is not installed.
    ///
    /// >>> curve(Trace([1, 2, 1])).to_polars()["misses"].to_list()
    /// [3.0, 3.0, 2.0]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "to_polars")
    }

    /// Draw the table with matplotlib or Altair.
    ///
    /// Args:
    ///     x: the column across; each kind of result has one of its own.
    ///     y: the column upwards.
    ///     by: a column of names: a line for each.
    ///     log: axes with a logarithmic scale: ``""``, ``"x"``, ``"y"`` or ``"xy"``. If not given, those on which the largest
    ///         value is more than a hundred times the smallest above 0, but not one of times.
    ///     ax: the axes of matplotlib to draw in, instead of new ones.
    ///     library: ``"matplotlib"`` or ``"altair"``; if not given, the first that is installed.
    ///
    /// Returns:
    ///     ``matplotlib.axes.Axes`` or ``altair.Chart``.
    ///
    /// Raises:
    ///     ImportError: neither is installed.
    ///     Error: no such column.
    ///
    /// >>> scores = simulate(synth("zipf:pages=500", 10_000), "lru,opt", ["10%", "50%"])
    /// >>> drawn = scores.plot(library="matplotlib")
    /// >>> drawn.get_xlabel(), [line.get_label() for line in drawn.get_lines()]
    /// ('mean_size', ['lru', 'opt'])
    #[pyo3(signature = (x=None, y=None, by=None, *, log=None, ax=None, library=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        x: Option<&str>,
        y: Option<&str>,
        by: Option<&str>,
        log: Option<&str>,
        ax: Option<Bound<'py, PyAny>>,
        library: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = PyDict::new(slf.py());
        options.set_item("x", x)?;
        options.set_item("y", y)?;
        options.set_item("by", by)?;
        options.set_item("log", log)?;
        options.set_item("ax", ax)?;
        options.set_item("library", library)?;
        libraries::call_with(slf, "plot", &options)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __contains__(&self, column: &str) -> bool {
        self.batch.column_by_name(column).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = PyList::new(py, self.names())?;
        Ok(names.try_iter()?.into_any())
    }

    /// A column by its name, a row by its number, a table of some rows by a slice.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<String>() {
            return self.column(py, &name);
        }
        let rows = self.batch.num_rows();
        if let Ok(slice) = key.cast::<PySlice>() {
            let range = slice.indices(rows as isize)?;
            let places = (0..range.slicelength as isize).map(|at| range.start + at * range.step);
            let places = UInt32Array::from_iter_values(places.map(|place| place as u32));
            let part =
                arrow_select::take::take_record_batch(&self.batch, &places).map_err(failed)?;
            return Ok(Bound::new(py, Self::of(part))?.into_any());
        }
        let Ok(place) = key.extract::<isize>() else {
            let kind = key.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!(
                "a table has columns by name and rows by number or slice: {kind} is neither"
            )));
        };
        let row = if place < 0 {
            place + rows as isize
        } else {
            place
        };
        match usize::try_from(row) {
            Ok(row) if row < rows => Ok(self.row(py, row)?.into_any()),
            _ => Err(PyIndexError::new_err(format!(
                "row {place} of a table of {rows} rows"
            ))),
        }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "as_text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        libraries::call(slf, "as_html")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema_out(py, &self.batch.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // By the interface, a request that cannot be met is left to the one who asked.
        let _ = requested_schema;
        capsules::array_out(py, self.batch.clone())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsules::stream_out(py, capsules::whole(self.batch.clone()))
    }

    /// For pickle: another process gets the table, of what is more than a table only that.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let batch = &slf.get().batch;
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).map_err(failed)?;
        writer.write(batch).map_err(failed)?;
        writer.finish().map_err(failed)?;
        drop(writer);
        let make = PyType::new::<Self>(py).getattr("_of_bytes")?;
        let state = PyTuple::new(py, [PyBytes::new(py, &bytes)])?;
        Ok((make, state))
    }

    /// What pickle calls.
    #[staticmethod]
    #[pyo3(name = "_of_bytes")]
    fn of_bytes(bytes: &[u8]) -> PyResult<Self> {
        let mut reader = StreamReader::try_new(bytes, None).map_err(failed)?;
        match reader.next() {
            Some(batch) => Ok(Self::of(batch.map_err(failed)?)),
            None => Err(failed("a pickled table without its rows")),
        }
    }
}

/// The column as Python has it: an array; a list for text.
fn array<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    match column.data_type() {
        DataType::Int64 => Ok(numbers::<Int64Type>(py, column, |value| value as f64)),
        DataType::UInt64 => Ok(numbers::<UInt64Type>(py, column, |value| value as f64)),
        DataType::Float64 => Ok(reals::<Float64Type>(py, column, |value| value)),
        DataType::Boolean if column.null_count() == 0 => {
            let values = column.as_boolean().iter().map(Option::unwrap_or_default);
            Ok(PyArray1::from_iter(py, values).into_any())
        }
        _ => {
            let list = PyList::empty(py);
            for row in 0..column.len() {
                list.append(cell(py, column, row)?)?;
            }
            Ok(list.into_any())
        }
    }
}

fn numbers<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    column: &ArrayRef,
    real: impl Fn(T::Native) -> f64,
) -> Bound<'py, PyAny>
where
    T::Native: numpy::Element,
{
    if column.null_count() > 0 {
        return reals::<T>(py, column, real);
    }
    PyArray1::from_slice(py, column.as_primitive::<T>().values()).into_any()
}

fn reals<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    column: &ArrayRef,
    real: impl Fn(T::Native) -> f64,
) -> Bound<'py, PyAny> {
    let values = column.as_primitive::<T>().iter();
    let values = values.map(|value| value.map_or(f64::NAN, &real));
    PyArray1::from_iter(py, values).into_any()
}

/// A value as Python has it.
fn cell<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::UInt64 => column
            .as_primitive::<UInt64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Boolean => column
            .as_boolean()
            .value(row)
            .into_pyobject(py)?
            .to_owned()
            .into_any(),
        _ => column
            .as_string::<i32>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
    })
}
