//! Reads a trace from a file.

use crate::failure::{failed, of_file, of_io};
use crate::watch::Watch;
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use traces::{Error, Format, ReadNote, Reading, Source, Wanted};
use workingset::{About, Batch, Trace};

/// A file, and how it is to be read.
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    pub(crate) format: Option<Format>,
    pub(crate) reading: Reading,
    pub(crate) wanted: Wanted,
}

impl Opening {
    /// Reads the whole trace into memory. The note is what the command says of it.
    pub(crate) fn load(self, watch: &Watch) -> PyResult<(Trace, ReadNote)> {
        let name = self.path.display().to_string();
        if let Some((from, to)) = self.wanted.window.filter(|(from, to)| from >= to) {
            return Err(failed(format!("--window {from}..{to}: nothing is between")));
        }
        let file = File::open(&self.path)
            .map_err(|error| of_io(&error, format!("{name}: cannot read: {error}")))?;
        let mut note = ReadNote::begin(&name, self.format.is_some());
        let trace = traces::open(file, &name, self.format, self.reading)
            .map(|source| traces::part(source, self.wanted))
            .and_then(|source| read_noting(source, watch, &mut note))
            .map_err(|error| of_file(&self.path, error))?;
        if self.wanted.time && trace.time().is_none() {
            return Err(failed(format!(
                "{name}: the trace has no times: leave out --clock trace"
            )));
        }
        note.end(&trace.about, Some(trace.pages()));
        Ok((trace, note))
    }
}

/// The format that the options name; `None` if it is to be found.
///
/// Errors: no such format or column, or both options.
pub(crate) fn format_told(format: Option<&str>, columns: Option<&str>) -> PyResult<Option<Format>> {
    let told = match (format, columns) {
        (Some(_), Some(_)) => {
            return Err(failed(
                "the argument 'columns' cannot be used with 'format'",
            ));
        }
        (Some(format), None) => Some(Format::named(format)),
        (None, Some(columns)) => Some(Format::named(&format!("{}{columns}", traces::COLUMNS))),
        (None, None) => None,
    };
    told.transpose().map_err(failed)
}

/// Reads a whole source, and reports the progress to `watch`.
pub(crate) fn read(source: Box<dyn Source + '_>, watch: &Watch) -> Result<Trace, Error> {
    read_noting(source, watch, &mut ReadNote::default())
}

fn read_noting(
    source: Box<dyn Source + '_>,
    watch: &Watch,
    note: &mut ReadNote,
) -> Result<Trace, Error> {
    let mut source = Watched {
        source,
        watch,
        note,
    };
    traces::read(&mut source, &|references| {
        watch.reach(references as u64);
    })
}

/// A source that ends with an error when the caller has stopped waiting, and notes what was read.
struct Watched<'a> {
    source: Box<dyn Source + 'a>,
    watch: &'a Watch,
    note: &'a mut ReadNote,
}

impl Source for Watched<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        if self.watch.is_stopped() {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        let more = self.source.fill(batch)?;
        self.note.take(batch);
        Ok(more)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
