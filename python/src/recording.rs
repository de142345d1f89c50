//! Recordings of the guard.

use crate::failure::{failed, of_io};
use crate::watch::{self, Progress, Watch};
use host::recordings::{self, ReadError, Reader};
use numpy::PyArray1;
use pressure::recording::{Entry, Header, columns};
use pressure::sample::Sample;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// A recording of the guard: samples of a machine, and the decisions after each.
///
/// Args:
///     paths: a file that ``warmsetd`` or ``warmset record`` wrote, or several, oldest first.
///     progress: called as ``progress(entries so far, None)``.
///
/// Raises:
///     OSError: a file cannot be read.
///     Error: there is no recording in it.
///
/// ``recording["vmstat.nr_free_pages"]`` is the column of this name: float64, shape (samples,), NaN where it is not
/// known. ``columns`` has all names, with their units.
///
/// >>> recording = Recording("fixtures/lab/storm-6.12-1024-warmset-1.rec.gz")
/// >>> recording.columns["vmstat.nr_free_pages"], recording["vmstat.nr_free_pages"][:3]
/// ('pages', array([214797., 172399., 152239.]))
#[pyclass(frozen, module = "warmset")]
pub(crate) struct Recording {
    pub(crate) entries: Arc<Vec<Entry>>,
    /// Notes about the files, one sentence each.
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Recording {
    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Sample(sample) => Some(&**sample),
            _ => None,
        })
    }

    fn header(&self) -> Option<&Header> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Header(header) => Some(&**header),
            _ => None,
        })
    }
}

#[pymethods]
impl Recording {
    #[new]
    #[pyo3(signature = (paths, *, progress=None))]
    fn new(paths: &Bound<'_, PyAny>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let files = match paths.extract::<PathBuf>() {
            Ok(one) => vec![one],
            Err(_) => paths.extract::<Vec<PathBuf>>()?,
        };
        let read = move |watch: &Watch| {
            let mut entries = Vec::new();
            let readers = files.iter().map(|file| Reader::open(file));
            let notes = recordings::read(readers, |entry| {
                entries.push(entry);
                watch.reach(entries.len() as u64);
                Ok::<(), ReadError>(())
            });
            let notes = notes.map_err(unread)?;
            Ok((entries, notes.lines()))
        };
        let (entries, notes) = watch::run(paths.py(), Progress::new(progress, None), 1, read)?;
        Ok(Self {
            entries: Arc::new(entries),
            notes,
        })
    }

    /// Samples.
    fn __len__(&self) -> usize {
        self.samples().count()
    }

    fn __repr__(&self) -> String {
        format!("<warmset.Recording: {} samples>", self.samples().count())
    }

    /// A column of the samples.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        column: &str,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut place = None;
        let mut known = false;
        let mut values = Vec::new();
        for entry in self.entries.iter() {
            match entry {
                Entry::Header(header) => {
                    place = find(&header.shape.unknown(), column);
                    known |= place.is_some();
                }
                Entry::Sample(sample) => {
                    let value = place
                        .and_then(|(section, field)| sample.sections().nth(section)?.get(field));
                    values.push(value.map_or(f64::NAN, |value| value as f64));
                }
                Entry::Decision(_) | Entry::Lost(_) => {}
            }
        }
        if known {
            return Ok(PyArray1::from_vec(py, values));
        }
        Err(PyKeyError::new_err(format!(
            "no column {column:?}: .columns has those that there are"
        )))
    }

    /// The columns that samples have: name to unit, which is bytes, pages, us, 0.01% or count.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for entry in self.entries.iter() {
            if let Entry::Header(header) = entry {
                for (name, unit) in &columns(&header.shape.unknown()) {
                    all.set_item(name, unit)?;
                }
            }
        }
        Ok(all)
    }

    /// When each sample was taken, in seconds since boot: float64, shape (samples,).
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(
            py,
            self.samples().map(|sample| sample.at.get().as_secs_f64()),
        )
    }

    /// The wall-clock time of each sample: datetime64[ms], shape (samples,).
    #[getter]
    fn wall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let since_1970 = PyArray1::from_iter(py, self.samples().map(|sample| sample.wall.0 as i64));
        since_1970.call_method1("view", ("datetime64[ms]",))
    }

    /// The decisions, as ``warmset replay --json`` prints them: a dict for each. ``sample`` is the place of the sample
    /// after which it was made.
    #[getter]
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut samples = 0_usize;
        let mut decisions = Vec::new();
        for entry in self.entries.iter() {
            match entry {
                Entry::Sample(_) => samples += 1,
                Entry::Decision(decision) => {
                    let decision = json(py, decision)?;
                    decision.set_item("sample", samples.saturating_sub(1))?;
                    decisions.push(decision);
                }
                Entry::Header(_) | Entry::Lost(_) => {}
            }
        }
        Ok(decisions)
    }

    /// The machine: kernel, page size, CPUs and so on.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.header()
            .map(|header| json(py, &header.facts))
            .transpose()
    }

    /// The configuration that was in force; None if this version cannot read it.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.header()
            .and_then(|header| header.config.as_ref())
            .map(|config| json(py, config))
            .transpose()
    }

    /// The number of samples that were lost.
    #[getter]
    fn lost(&self) -> u64 {
        let mut lost = 0;
        for entry in self.entries.iter() {
            if let Entry::Lost(count) = entry {
                lost += count;
            }
        }
        lost
    }
}

/// The section and the field of a column.
fn find(sample: &Sample, column: &str) -> Option<(usize, usize)> {
    let mut place = columns(sample)
        .iter()
        .position(|(name, _)| name == column)?;
    for (at, section) in sample.sections().enumerate() {
        let fields = section.fields().len();
        if place < fields {
            return Some((at, place));
        }
        place -= fields;
    }
    None
}

fn unread(error: ReadError) -> PyErr {
    match &error {
        ReadError::Io { error: why, .. } => of_io(why, error.to_string()),
        ReadError::Line { .. } | ReadError::Nothing { .. } => failed(error),
    }
}

/// A value as Python's own, by way of JSON, so that names are those that ``--json`` prints.
pub(crate) fn json<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(failed)?;
    py.import("json")?
        .call_method1("loads", (PyString::new(py, &text),))
}
