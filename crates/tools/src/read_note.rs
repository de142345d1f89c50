//! What was read of a trace, in one line: so that a wrong format is seen, and not only its results.

use commandline::stderr;
use serde::Serialize;
use std::fmt;
use std::io::Write;
use traces::Source;
use workingset::{About, Batch, Clock};

/// What was read.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ReadNote {
    /// The file's name.
    file: String,
    format: String,
    /// How the format was found.
    found: &'static str,
    /// Of a table: what its columns were taken for, and which say nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<String>,
    page_size: u64,
    references: u64,
    /// Different pages; unknown where the trace is streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
    /// First and last time, where times are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<(u64, u64)>,
    clock: Clock,
}

impl ReadNote {
    pub(crate) fn begin(file: &str, found: &'static str) -> Self {
        Self {
            file: file.to_owned(),
            found,
            ..Self::default()
        }
    }

    fn take(&mut self, batch: &Batch) {
        self.references += batch.len() as u64;
        if let (Some(first), Some(last)) = (batch.time.first(), batch.time.last()) {
            let from = self.span.map_or(*first, |(from, _)| from);
            self.span = Some((from, *last));
        }
    }

    /// Says it on standard error. A file's name may hold anything.
    pub(crate) fn say(&self) {
        // Nobody who reads is no fault of the trace's.
        let _ = writeln!(stderr(), "{self}");
    }

    /// What is known at the end.
    pub(crate) fn end(&mut self, about: &About, pages: Option<usize>) {
        let note = |name: &str| {
            let found = about.parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        self.format.clone_from(&about.format);
        self.columns = note(traces::COLUMNS_USED);
        self.ignored = note(traces::COLUMNS_IGNORED);
        self.page_size = about.page_size;
        self.clock = about.clock;
        self.pages = pages;
    }
}

impl fmt::Display for ReadNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.file, self.format, self.found)?;
        if let Some(columns) = &self.columns {
            write!(f, ", columns {columns}")?;
        }
        if let Some(ignored) = &self.ignored {
            write!(f, ", not {ignored}")?;
        }
        write!(f, "; {} references", self.references)?;
        if let Some(pages) = self.pages {
            write!(f, " to {pages} pages")?;
        }
        write!(f, " of {} bytes", self.page_size)?;
        if let Some((from, to)) = self.span {
            let unit = match self.clock {
                Clock::References => "references",
                Clock::Instructions => "instructions",
                Clock::InstructionBytes => "bytes of instructions",
                Clock::Nanoseconds => "ns",
                Clock::Seconds => "s",
            };
            write!(f, ", from {from} to {to} {unit}")?;
        }
        Ok(())
    }
}

/// A source that notes what is read of it, and says it at the end unless it is to be quiet.
pub(crate) struct Noting {
    pub(crate) source: Box<dyn Source>,
    pub(crate) note: ReadNote,
    pub(crate) says_it: bool,
}

impl Source for Noting {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, traces::Error> {
        let more = self.source.fill(batch)?;
        self.note.take(batch);
        if !more && std::mem::take(&mut self.says_it) {
            self.note.end(&self.source.about(), None);
            self.note.say();
        }
        Ok(more)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
