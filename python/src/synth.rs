//! Synthetic traces.

use crate::failure::failed;
use crate::policies::words;
use crate::reading;
use crate::trace::Trace;
use crate::watch::{self, Progress};
use pyo3::prelude::*;
use workingset::synth::{Kind, Recipe, Synth};

/// Make a trace of a known kind, the same for the same seed.
///
/// Args:
///     kinds: what to make, as ``warmset synth --help`` lists: ``zipf:pages=1000,alpha=1``, ``scan``, ``indexed-db``,
///         ``phases``; several, in a list, are processes that take turns.
///     references: the number of references in all.
///     seed: the seed of the random numbers.
///     writes: the share of references that write.
///     quantum: references that a process makes before the next one does, if there are several kinds.
///     progress: called as ``progress(references so far, references in all)``.
///
/// Raises:
///     Error: no such kind, or numbers that make no trace.
///
/// >>> synth("scan:pages=3", references=7).pages
/// array([1, 2, 0, 1, 2, 0, 1], dtype=uint64)
#[pyfunction]
#[pyo3(signature = (kinds, references=1_000_000, *, seed=1, writes=0.0, quantum=1000, progress=None))]
pub(crate) fn synth(
    kinds: &Bound<'_, PyAny>,
    references: u64,
    seed: u64,
    writes: f64,
    quantum: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Trace> {
    let mut processes = Vec::new();
    for kind in words(kinds)? {
        processes.push(Kind::parse(&kind).map_err(failed)?);
    }
    let made = Synth::new(Recipe {
        processes,
        quantum,
        references,
        writes,
        seed,
    })
    .map_err(failed)?;
    let load = move |watch: &watch::Watch| reading::read(Box::new(made), watch).map_err(failed);
    watch::run(
        kinds.py(),
        Progress::new(progress, Some(references)),
        1,
        load,
    )
    .map(Trace::from)
}
