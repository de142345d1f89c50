//! Arrow's C data interface, both ways: tables of any library come in, traces and results go out, each in a capsule of Python.

use crate::failure::failed;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

// The names are the interface's.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Batches of a table, from whoever has them.
pub(crate) type Batches = Box<dyn RecordBatchReader + Send>;

/// The batches of anything that passes a table on: by `__arrow_c_stream__`, or `__arrow_c_array__` of a record batch.
///
/// Errors: it passes on nothing, or a column instead of a table.
pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<Batches> {
    if let Ok(export) = table.getattr("__arrow_c_stream__") {
        return stream(&export);
    }
    if let Ok(export) = table.getattr("__arrow_c_array__") {
        return array(&export);
    }
    let kind = table.get_type().name()?.to_string();
    Err(PyTypeError::new_err(format!(
        "{kind} is no Arrow table: it has neither __arrow_c_stream__ nor __arrow_c_array__"
    )))
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &'static CStr) -> PyResult<NonNull<T>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

#[allow(
    unsafe_code,
    reason = "the Arrow C stream is a structure behind a pointer"
)]
fn stream(export: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let capsule = export.call0()?;
    let pointer = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM)?;
    // SAFETY: by the Arrow PyCapsule interface, a capsule of this name points to a valid FFI_ArrowArrayStream, and it lives as
    // long as `capsule`. from_raw moves the structure out and marks the original as released, so the capsule's destructor
    // does not release it again.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    Ok(Box::new(reader.map_err(failed)?))
}

#[allow(
    unsafe_code,
    reason = "Arrow's C array and schema are structures behind pointers"
)]
fn array(export: &Bound<'_, PyAny>) -> PyResult<Batches> {
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = export.call0()?.extract()?;
    let schema_pointer = pointer::<FFI_ArrowSchema>(&schema, SCHEMA)?;
    let array_pointer = pointer::<FFI_ArrowArray>(&array, ARRAY)?;
    // SAFETY: as above. The schema is only borrowed, while `schema` keeps its capsule; the array is moved out, so the capsule's
    // destructor does not release it again. A capsule's schema describes its array.
    let (data, metadata) = unsafe {
        let schema = schema_pointer.as_ref();
        let array = FFI_ArrowArray::from_raw(array_pointer.as_ptr());
        let metadata = schema.metadata().map_err(failed)?;
        (from_ffi(array, schema).map_err(failed)?, metadata)
    };
    let DataType::Struct(fields) = data.data_type().clone() else {
        return Err(PyTypeError::new_err(format!(
            "an Arrow array of {}, and no table: Trace(array) takes one of integers",
            data.data_type()
        )));
    };
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(failed(format!(
            "{} rows of the table are missing",
            rows.null_count()
        )));
    }
    let batch = RecordBatch::try_new(Arc::clone(&schema), rows.columns().to_vec());
    Ok(Box::new(RecordBatchIterator::new(
        [Ok(batch.map_err(failed)?)],
        schema,
    )))
}

/// What `__arrow_c_schema__` returns.
pub(crate) fn schema_out<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(failed)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// What `__arrow_c_array__` returns.
pub(crate) fn array_out(
    py: Python<'_>,
    batch: RecordBatch,
) -> PyResult<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)> {
    let schema = schema_out(py, &batch.schema())?;
    let rows = StructArray::from(batch);
    let (array, _) = to_ffi(&rows.to_data()).map_err(failed)?;
    Ok((schema, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// What `__arrow_c_stream__` returns.
pub(crate) fn stream_out(py: Python<'_>, batches: Batches) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), STREAM)
}

/// The batches of a table that is in memory.
pub(crate) fn whole(batch: RecordBatch) -> Batches {
    let schema = batch.schema();
    Box::new(RecordBatchIterator::new([Ok(batch)], schema))
}

/// A column that has a value in every row.
pub(crate) fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, false)
}
