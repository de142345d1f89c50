//! Reads Arrow tables by the Arrow C stream: from any library that has it, without a copy.

use crate::failure::failed;
use crate::reading;
use crate::watch::Watch;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use workingset::Trace;

/// Takes the table's stream out of the capsule in which Python passes it on.
#[allow(
    unsafe_code,
    reason = "the Arrow C stream is a structure behind a pointer"
)]
pub(crate) fn stream(table: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let Ok(export) = table.getattr("__arrow_c_stream__") else {
        let kind = table.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!(
            "{kind} is no Arrow table: it has no __arrow_c_stream__"
        )));
    };
    let capsule = export.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule
        .pointer_checked(Some(c"arrow_array_stream"))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the Arrow PyCapsule interface, a capsule of this name points to a valid FFI_ArrowArrayStream, and it lives as
    // long as `capsule`. from_raw moves the structure out and marks the original as released, so the capsule's destructor
    // does not release it again.
    unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) }.map_err(failed)
}

/// Reads a table as a trace.
pub(crate) fn load(reader: ArrowArrayStreamReader, watch: &Watch) -> PyResult<Trace> {
    let source = traces::tables(Box::new(reader)).map_err(failed)?;
    reading::read(source, watch).map_err(failed)
}
