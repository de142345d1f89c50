//! The Python package `warmset`: types in and out, no logic.
//!
//! The documentation here is what Python's `help` shows, so its examples are in Python.
#![allow(
    rustdoc::all,
    clippy::doc_link_with_quotes,
    reason = "the texts are Python's docstrings"
)]
#![allow(
    missing_docs,
    reason = "what Python sees is documented where it is; the module has no interface for Rust"
)]

mod analysis;
mod arrays;
mod capsules;
mod failure;
mod libraries;
mod measure;
mod objects;
mod policies;
mod python_policy;
mod reading;
mod recording;
mod replay;
mod synth;
mod table;
mod together;
mod trace;
mod trace_columns;
mod watch;

#[pyo3::pymodule]
mod _warmset {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::analysis::{Analysis, analyze};
    #[pymodule_export]
    use crate::failure::Error;
    #[pymodule_export]
    use crate::measure::{Lifetime, WorkingSet, curve, lifetime, working_set};
    #[pymodule_export]
    use crate::objects::simulate_objects;
    #[pymodule_export]
    use crate::policies::{policies, simulate};
    #[pymodule_export]
    use crate::recording::Recording;
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::synth::synth;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::together::{Together, together};
    #[pymodule_export]
    use crate::trace::Trace;

    /// Imports NumPy now. During an import within the first call that returns an array, Ctrl-C would be a panic.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        numpy::array::get_array_module(module.py())?;
        numpy::dtype::<f64>(module.py());
        Ok(())
    }
}
