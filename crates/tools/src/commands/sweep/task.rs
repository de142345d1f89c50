//! A task: an input, named by its content, and the work on it.

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use traces::{Format, Reading, Source, Wanted};

/// One input and one piece of work on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// Path of the trace when it was planned.
    pub(super) trace: PathBuf,
    #[serde(flatten)]
    pub(super) what: What,
}

/// A task without the path of its input. The task's name is the hash of this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct What {
    /// Version of the format.
    pub(super) task: u32,
    /// SHA-256 of the trace's bytes.
    pub(super) sha256: String,
    pub(super) reading: How,
    pub(super) work: Work,
}

/// How the trace is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct How {
    pub(super) format: Option<String>,
    pub(super) page_size: u64,
    /// True for the trace's own unit of time; otherwise time is counted in references.
    pub(super) timed: bool,
}

/// The work on a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// A policy at several sizes; the trace is read once for all of them.
    Simulate {
        policy: String,
        capacities: Vec<String>,
    },
    /// A part of LRU's curve: of the references `from..to`.
    Chunk { from: u64, to: u64 },
    /// A part of LRU's curve: of a trace that is a piece of a longer one.
    Piece,
    /// A part of LRU's curve: of the pages of one class.
    Class { class: u64, of: u64 },
}

/// Version of the format of tasks that this program reads and writes.
pub(super) const FORM: u32 = 1;
/// Digits of a task's name: 128 bits of a hash.
const ID: usize = 32;

/// Returns true if this can be the name of a task.
pub(super) fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == ID && text.bytes().all(is_digit)
}

impl Task {
    /// The task's name: the first 128 bits of the hash, in hexadecimal.
    pub(super) fn id(&self) -> Result<String> {
        let hash = hex(&Sha256::digest(serde_json::to_vec(&self.what)?));
        Ok(hash[..ID].to_owned())
    }

    /// Reads a task from its file.
    ///
    /// Errors: the format is another one, or the file's name is not the hash of its content.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read(path).with_context(|| format!("{name}: cannot read"))?;
        let task: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{name}: not a task of a sweep"))?;
        let form = task.what.task;
        ensure!(
            form == FORM,
            "{name}: the task has format {form}; this program reads only format {FORM}"
        );
        let id = task.id()?;
        ensure!(
            path.file_stem().is_some_and(|stem| *stem == *id),
            "{name}: the content does not match the name, which would be {id}: plan again"
        );
        Ok(task)
    }

    /// Opens the trace.
    ///
    /// Errors: its content has changed since it was planned.
    pub(super) fn open(&self, window: Option<(u64, u64)>) -> Result<Box<dyn Source>> {
        let name = self.trace.display();
        let found = sha256(&self.trace)?;
        if found != self.what.sha256 {
            bail!("{name}: its content has changed since it was planned: plan again");
        }
        open(&self.trace, &self.what.reading, window)
    }
}

/// Opens a trace.
pub(super) fn open(path: &Path, how: &How, window: Option<(u64, u64)>) -> Result<Box<dyn Source>> {
    let name = path.display().to_string();
    let reading = Reading {
        time: how.timed,
        ..Reading::of_pages(how.page_size)?
    };
    let format = how.format.as_deref().map(Format::named).transpose()?;
    let file = File::open(path).with_context(|| format!("{name}: cannot read"))?;
    let source = traces::open(file, &name, format, reading).with_context(|| name.clone())?;
    let wanted = Wanted {
        window,
        task: None,
        time: how.timed,
    };
    Ok(traces::part(source, wanted))
}

/// SHA-256 of a file, in hexadecimal.
pub(super) fn sha256(path: &Path) -> Result<String> {
    let cannot_read = || format!("{}: cannot read", path.display());
    let mut hash = Sha256::new();
    let mut file = File::open(path).with_context(cannot_read)?;
    io::copy(&mut file, &mut hash).with_context(cannot_read)?;
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
