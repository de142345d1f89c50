//! Reads a trace from a file.

use crate::failure::{failed, of_file, of_io};
use crate::watch::Watch;
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use traces::{Error, Format, Reading, Source, Wanted};
use workingset::{About, Batch, Trace};

/// A file, and how it is to be read.
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    pub(crate) format: Option<Format>,
    pub(crate) reading: Reading,
    pub(crate) wanted: Wanted,
}

impl Opening {
    /// Reads the whole trace into memory.
    pub(crate) fn load(self, watch: &Watch) -> PyResult<Trace> {
        let name = self.path.display().to_string();
        if let Some((from, to)) = self.wanted.window.filter(|(from, to)| from >= to) {
            return Err(failed(format!("--window {from}..{to}: nothing is between")));
        }
        let file = File::open(&self.path)
            .map_err(|error| of_io(&error, format!("{name}: cannot read: {error}")))?;
        let trace = traces::open(file, &name, self.format, self.reading)
            .map(|source| traces::part(source, self.wanted))
            .and_then(|source| read(source, watch))
            .map_err(|error| of_file(&self.path, error))?;
        if self.wanted.time && trace.time().is_none() {
            return Err(failed(format!(
                "{name}: the trace has no times: leave out --clock trace"
            )));
        }
        Ok(trace)
    }
}

/// Reads a whole source, and reports the progress to `watch`.
pub(crate) fn read(source: Box<dyn Source + '_>, watch: &Watch) -> Result<Trace, Error> {
    traces::read(&mut Watched { source, watch }, &|references| {
        watch.reach(references as u64);
    })
}

/// A source that ends with an error when the caller has stopped waiting.
struct Watched<'a> {
    source: Box<dyn Source + 'a>,
    watch: &'a Watch,
}

impl Source for Watched<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        if self.watch.is_stopped() {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        self.source.fill(batch)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
