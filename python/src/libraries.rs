//! What is done with other libraries of Python: `warmset/_libraries.py`, which imports them when they are needed.

use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::PyDict;

/// Calls a function of that module with an object of ours.
pub(crate) fn call<'py, T: PyTypeInfo>(
    object: &Bound<'py, T>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    module(object.py())?.call_method1(name, (object,))
}

/// The same, with options.
pub(crate) fn call_with<'py, T: PyTypeInfo>(
    object: &Bound<'py, T>,
    name: &str,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    module(object.py())?.call_method(name, (object,), Some(options))
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("warmset._libraries")
}
