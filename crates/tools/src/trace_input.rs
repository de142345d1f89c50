//! A reference trace named on the command line.

use crate::read_note::{Noting, say};
use crate::ui::progress;
use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use traces::{Format, Order, ReadNote, Reading, Source, Wanted};
use units::Bytes;
use workingset::Trace;

/// The options that name a trace and say how it is read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Input {
    /// The trace, compressed or not; `-` is standard input
    trace: PathBuf,
    /// Format of the trace [default: found by its content and name]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Columns of a table: one of page, key, address, sector, and any of size, sectors, time, op, task, disk, count, each with
    /// a column's name or number, as in time=1:us,key=2,op=6; also delimiter=tab
    #[arg(long, value_name = "ROLE=COLUMN,…", conflicts_with = "format")]
    columns: Option<String>,
    /// Bytes of a page, where the trace has addresses
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    page_size: String,
    /// Count a lackey reference across the end of a page as two, instead of one at its first byte
    #[arg(long)]
    split: bool,
    /// Unit of time [default: references; for analyze and convert, the trace's own]
    #[arg(long, value_enum)]
    clock: Option<Counted>,
    /// Only references FROM to TO of the trace, counted from 0, without TO
    #[arg(long, value_name = "FROM..TO")]
    window: Option<String>,
    /// Only the references of this task
    #[arg(long, value_name = "NUMBER")]
    task: Option<u16>,
    /// What becomes of a trace with times that go back. an error, or its references sorted by time, in memory
    #[arg(long, value_enum, default_value_t = Unsorted::Refuse)]
    unsorted: Unsorted,
    /// Do not say on standard error what was read
    #[arg(long)]
    quiet: bool,
    /// Whether sizes of objects are wanted.
    #[arg(skip)]
    sizes: bool,
}

/// What becomes of a trace with times that go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Unsorted {
    /// An error that names the place
    Refuse,
    /// Sorted by time; needs the memory for all of it
    Sort,
}

/// The unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Counted {
    /// References
    References,
    /// The trace's own time: instructions, nanoseconds
    Trace,
    /// Bytes of instructions of a lackey trace, as the founding report counted
    Bytes,
}

impl Input {
    /// Reads the whole trace into memory, and says what was read.
    pub(crate) fn load(&self) -> Result<Trace> {
        let (trace, _) = self.load_noted()?;
        Ok(trace)
    }

    /// The same, and what was said.
    pub(crate) fn load_noted(&self) -> Result<(Trace, ReadNote)> {
        let name = self.trace.display().to_string();
        let bar = progress::spinner(&format!("reading {name}"));
        let mut source = self.noting(false)?;
        let show = |references: usize| bar.set_position(references as u64);
        let trace = traces::read(&mut source, &show).with_context(|| name.clone())?;
        bar.finish_and_clear();
        let note = self.noted(source, Some(trace.pages()));
        if self.counted() != Counted::References && trace.time().is_none() {
            bail!("{name}: the trace has no times: leave out --clock trace");
        }
        Ok((trace, note))
    }

    /// The same options for another trace.
    pub(crate) fn of(&self, trace: &Path) -> Self {
        Self {
            trace: trace.to_owned(),
            ..self.clone()
        }
    }

    /// The trace's name: its file's, without directories and endings.
    pub(crate) fn name(&self) -> String {
        traces::name_of(&self.trace)
    }

    /// The unit of time; references unless another was chosen.
    pub(crate) fn counted(&self) -> Counted {
        self.clock.unwrap_or(Counted::References)
    }

    /// The same trace with this unit of time.
    pub(crate) fn clocked(&self, clock: Counted) -> Self {
        Self {
            clock: Some(clock),
            ..self.clone()
        }
    }

    /// The same trace with this unit of time by default.
    pub(crate) fn counting(self, usual: Counted) -> Self {
        Self {
            clock: self.clock.or(Some(usual)),
            ..self
        }
    }

    /// The same trace with the sizes of its objects.
    pub(crate) fn sized(self) -> Self {
        Self {
            sizes: true,
            ..self
        }
    }

    /// Returns true if nothing is to be said on standard error.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns true for standard input, which can be read only once.
    pub(crate) fn is_pipe(&self) -> bool {
        self.trace == Path::new("-")
    }

    /// Opens the trace; the window and the task have been cut out of it. At its end it says what was read.
    pub(crate) fn open(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(self.noting(!self.quiet)?))
    }

    /// The same, and [`Self::noted`] says what was read when it is at its end.
    pub(crate) fn open_noting(&self) -> Result<Noting> {
        self.noting(false)
    }

    /// What was read of a source that is at its end; it is also said.
    pub(crate) fn noted(&self, source: Noting, pages: Option<usize>) -> ReadNote {
        let mut note = source.note;
        note.end(&source.source.about(), pages);
        if !self.quiet {
            say(&note);
        }
        note
    }

    fn noting(&self, says_it: bool) -> Result<Noting> {
        let name = self.trace.display().to_string();
        let format = self
            .format_told()
            .as_deref()
            .map(Format::named)
            .transpose()?;
        let format_is_told = format.is_some();
        let timed = self.counted() != Counted::References;
        let reading = Reading {
            time: timed,
            split: self.split,
            sizes: self.sizes,
            order: match self.unsorted {
                Unsorted::Refuse => Order::Refuse,
                Unsorted::Sort => Order::Sort,
            },
            bytes: self.counted() == Counted::Bytes,
            ..Reading::of_pages(self.page_bytes()?)?
        };
        let bytes: Box<dyn Read + Send> = if self.is_pipe() {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(&self.trace).with_context(|| format!("{name}: cannot read"))?)
        };
        let source = traces::open(bytes, &name, format, reading).with_context(|| name.clone())?;
        let wanted = Wanted {
            window: self.window.as_deref().map(window).transpose()?,
            task: self.task,
            time: timed,
        };
        Ok(Noting {
            source: traces::part(source, wanted),
            note: ReadNote::begin(&name, format_is_told),
            says_it,
        })
    }

    /// What the format is by the options; `None` if it is to be found.
    fn format_told(&self) -> Option<String> {
        match &self.columns {
            Some(columns) => Some(format!("{}{columns}", traces::COLUMNS)),
            None => self.format.clone(),
        }
    }

    /// `--page-size`: a number of bytes, or a size with its unit.
    fn page_bytes(&self) -> Result<u64> {
        if let Ok(bytes) = self.page_size.parse() {
            return Ok(bytes);
        }
        let size: Bytes = self
            .page_size
            .parse()
            .with_context(|| format!("--page-size {}", self.page_size))?;
        Ok(size.get())
    }
}

/// Parses `FROM..TO`, of which either may be left out.
fn window(text: &str) -> Result<(u64, u64)> {
    let wrong = || format!("--window {text}: write FROM..TO, such as 1000..2000");
    let (from, to) = text.split_once("..").with_context(wrong)?;
    let number = |text: &str, usual: u64| {
        if text.is_empty() {
            return Ok(usual);
        }
        text.parse().with_context(wrong)
    };
    let from = number(from, 0)?;
    let to = number(to, u64::MAX)?;
    anyhow::ensure!(from < to, "--window {text}: no reference is between");
    Ok((from, to))
}
