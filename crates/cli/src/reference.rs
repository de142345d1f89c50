//! A reference trace named on the command line: opened, read with its progress shown, and written without leaving a
//! half.

use crate::hinted::Hinted;
use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use traces::{Format, Reading, Source, Wanted};
use units::Bytes;
use workingset::Trace;

/// Which trace, and how it is to be read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Input {
    /// The trace, compressed or not; `-` is standard input
    trace: PathBuf,
    /// Its format, instead of what its content and name say
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Bytes of a page, where the trace has addresses
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    page_size: String,
    /// Count a lackey reference over a page's end as two, instead of one at its first byte
    #[arg(long)]
    split: bool,
    /// What time is counted in [default: references; for analyze and convert, the trace's own]
    #[arg(long, value_enum)]
    clock: Option<Counted>,
    /// Only references FROM to TO of the trace, counted from 0, TO not included
    #[arg(long, value_name = "FROM..TO")]
    window: Option<String>,
    /// Only the references of this task
    #[arg(long, value_name = "NUMBER")]
    task: Option<u16>,
}

/// What time is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Counted {
    /// References
    References,
    /// The trace's own time: instructions, nanoseconds
    Trace,
    /// Bytes of instructions, of a lackey trace, as the founding report counted
    Bytes,
}

impl Input {
    /// The whole trace in memory.
    pub(crate) fn load(&self) -> Result<Trace> {
        let name = self.trace.display().to_string();
        let bar = spinner(&format!("reading {name}"));
        let mut source = self.open()?;
        let told = |references: usize| bar.set_position(references as u64);
        let trace = traces::read(&mut *source, &told).with_context(|| name.clone())?;
        bar.finish_and_clear();
        if self.counted() != Counted::References && trace.time().is_none() {
            bail!("{name}: the trace has no times: leave out --clock trace");
        }
        Ok(trace)
    }

    /// The same options for another trace.
    pub(crate) fn of(&self, trace: &Path) -> Self {
        Self {
            trace: trace.to_owned(),
            ..self.clone()
        }
    }

    /// What the trace is called: its file without folders and endings.
    pub(crate) fn name(&self) -> String {
        let name = self
            .trace
            .file_name()
            .unwrap_or(self.trace.as_os_str())
            .to_string_lossy();
        name.split('.').next().unwrap_or_default().to_owned()
    }

    /// What time is counted in.
    pub(crate) fn counted(&self) -> Counted {
        self.clock.unwrap_or(Counted::References)
    }

    /// The same trace, its time counted otherwise.
    pub(crate) fn clocked(&self, clock: Counted) -> Self {
        Self {
            clock: Some(clock),
            ..self.clone()
        }
    }

    /// The same, counted so unless something else was asked for.
    pub(crate) fn counting(self, usual: Counted) -> Self {
        Self {
            clock: self.clock.or(Some(usual)),
            ..self
        }
    }

    /// Whether it can be read but once.
    pub(crate) fn is_pipe(&self) -> bool {
        self.trace == Path::new("-")
    }

    /// The trace as it comes, cut as asked.
    pub(crate) fn open(&self) -> Result<Box<dyn Source>> {
        let name = self.trace.display().to_string();
        let format = self.format.as_deref().map(Format::named).transpose()?;
        let size = match self.page_size.parse::<u64>() {
            Ok(bytes) => bytes,
            Err(_) => self
                .page_size
                .parse::<Bytes>()
                .with_context(|| format!("--page-size {}", self.page_size))?
                .get(),
        };
        let reading = Reading {
            time: self.counted() != Counted::References,
            split: self.split,
            bytes: self.counted() == Counted::Bytes,
            ..Reading::of_pages(size)?
        };
        let bytes: Box<dyn Read + Send> = if self.is_pipe() {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(&self.trace).with_context(|| format!("{name}: cannot read"))?)
        };
        let source = traces::open(bytes, &name, format, reading).with_context(|| name.clone())?;
        let window = self.window.as_deref().map(window).transpose()?;
        let wanted = Wanted {
            window,
            task: self.task,
            time: self.counted() != Counted::References,
        };
        Ok(traces::part(source, wanted))
    }
}

/// `FROM..TO`, either may be left out.
fn window(text: &str) -> Result<(u64, u64)> {
    let meant = || format!("--window {text}: FROM..TO is meant, such as 1000..2000");
    let (from, to) = text.split_once("..").with_context(meant)?;
    let number = |text: &str, else_: u64| {
        if text.is_empty() {
            Ok(else_)
        } else {
            text.parse().with_context(meant)
        }
    };
    let (from, to) = (number(from, 0)?, number(to, u64::MAX)?);
    anyhow::ensure!(from < to, "--window {text}: nothing is between");
    Ok((from, to))
}

/// A sign of life on a terminal: references so far, and how fast.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    bar(
        ProgressBar::new_spinner(),
        &format!("{{spinner}} {what}: {{human_pos}} references, {{per_sec}}"),
    )
}

/// So many steps, on a terminal.
pub(crate) fn steps(what: &str, count: usize) -> ProgressBar {
    bar(
        ProgressBar::new(count as u64),
        &format!("{what} {{bar:30}} {{pos}}/{{len}}, {{eta}} to go"),
    )
}

fn bar(bar: ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Writes a file as a whole or not at all; `-` is standard output. A name that ends in .gz or .zst is compressed.
pub(crate) fn whole(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout());
        fill(&mut out)?;
        return Ok(out.flush()?);
    }
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let failed = || format!("{}: cannot write", path.display());
    // What has a hint of its own has nothing to do with the file.
    let told = |error: anyhow::Error| {
        if error.is::<Hinted>() {
            error
        } else {
            error.context(failed())
        }
    };
    let mut file = tempfile::Builder::new()
        .prefix(".warmset-")
        .tempfile_in(directory)
        .with_context(failed)?;
    {
        let mut out = BufWriter::new(file.as_file_mut());
        match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => {
                let mut packed =
                    flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
                fill(&mut packed).map_err(told)?;
                packed.finish().with_context(failed)?;
            }
            Some("zst") => {
                let mut packed = zstd::stream::write::Encoder::new(&mut out, 3)?;
                packed.include_checksum(true)?;
                fill(&mut packed).map_err(told)?;
                packed.finish().with_context(failed)?;
            }
            _ => fill(&mut out).map_err(told)?,
        }
        out.flush().with_context(failed)?;
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}
