//! Arrow tables in: by the Arrow C stream, so from any library that speaks it, without a copy.

use crate::failure::failed;
use crate::reading;
use crate::watch::Watch;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use workingset::Trace;

/// The table's stream, taken over from the capsule in which Python passes it on.
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
    // SAFETY: a capsule of this name holds such a structure, and what is taken out of it is marked as moved.
    unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) }.map_err(failed)
}

/// The trace that a table is.
pub(crate) fn load(reader: ArrowArrayStreamReader, watch: &Watch) -> PyResult<Trace> {
    let source = traces::tables(Box::new(reader)).map_err(failed)?;
    reading::read(source, watch).map_err(failed)
}
