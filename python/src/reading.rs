//! A trace from a file.

use crate::failure::{failed, of_file, of_io};
use crate::watch::Watch;
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use traces::{Error, Format, Reading, Source, Wanted};
use workingset::{About, Batch, Trace};

/// Which file, and how it is to be read.
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    pub(crate) format: Option<Format>,
    pub(crate) reading: Reading,
    pub(crate) wanted: Wanted,
}

impl Opening {
    /// The whole trace in memory.
    pub(crate) fn load(self, watch: &Watch) -> PyResult<Trace> {
        let name = self.path.display().to_string();
        if let Some((from, to)) = self.wanted.window.filter(|(from, to)| from >= to) {
            return Err(failed(format!("--window {from}..{to}: nothing is between")));
        }
        let file = File::open(&self.path)
            .map_err(|error| of_io(&error, format!("{name}: cannot read: {error}")))?;
        let source = traces::open(file, &name, self.format, self.reading);
        let source = source.map(|source| traces::part(source, self.wanted));
        let trace = source
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

/// A whole source, watched.
pub(crate) fn read(source: Box<dyn Source + '_>, watch: &Watch) -> Result<Trace, Error> {
    traces::read(&mut Watched { source, watch }, &|references| {
        watch.reach(references as u64);
    })
}

/// A source that ends when nobody waits any more.
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
