//! What was read of a trace, in one line: so that a wrong format is seen, and not only its results.

use crate::{COLUMNS_IGNORED, COLUMNS_USED, Format};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use workingset::{About, Batch, Clock};

/// What was read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReadNote {
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
    /// The note of a file of which nothing is read yet. `is_told` says whether its format was given.
    pub fn begin(file: &str, is_told: bool) -> Self {
        let found = if is_told {
            "as told"
        } else if Format::by_name(file).is_some() {
            "by its name"
        } else {
            "by its content"
        };
        Self {
            file: file.to_owned(),
            found,
            ..Self::default()
        }
    }

    /// The trace's name: its file's, without directories and endings.
    pub fn name(&self) -> String {
        name_of(Path::new(&self.file))
    }

    /// Notes references that were read.
    pub fn take(&mut self, batch: &Batch) {
        self.references += batch.len() as u64;
        if let (Some(first), Some(last)) = (batch.time.first(), batch.time.last()) {
            let from = self.span.map_or(*first, |(from, _)| from);
            self.span = Some((from, *last));
        }
    }

    /// Notes what is known at the end.
    pub fn end(&mut self, about: &About, pages: Option<usize>) {
        let note = |name: &str| {
            let found = about.parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        self.format.clone_from(&about.format);
        self.columns = note(COLUMNS_USED);
        self.ignored = note(COLUMNS_IGNORED);
        self.page_size = about.page_size;
        self.clock = about.clock;
        self.pages = pages;
    }
}

/// A trace's name: its file's, without directories and endings.
pub fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or(path.as_os_str());
    let file = file.to_string_lossy();
    file.split('.').next().unwrap_or_default().to_owned()
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
