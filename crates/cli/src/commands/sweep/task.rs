//! A task: an input by its content, and what to do with it.

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use traces::{Format, Reading, Source, Wanted};

/// One input and one piece of work on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// Where the trace was when it was planned.
    pub(super) trace: PathBuf,
    #[serde(flatten)]
    pub(super) what: What,
}

/// What a task is, wherever its input lies: its name is the hash of this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct What {
    /// The version of this form.
    pub(super) task: u32,
    /// Of the trace's bytes.
    pub(super) sha256: String,
    pub(super) reading: How,
    pub(super) work: Work,
}

/// How the trace is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct How {
    pub(super) format: Option<String>,
    pub(super) page_size: u64,
    /// With the trace's own time.
    pub(super) timed: bool,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// A policy at some sizes: they share the reading.
    Simulate {
        policy: String,
        capacities: Vec<String>,
    },
    /// LRU's curve, of the references from..to.
    Chunk { from: u64, to: u64 },
    /// LRU's curve, of a trace that is a piece of one in several files.
    Piece,
    /// LRU's curve, of the pages of a class.
    Class { class: u64, of: u64 },
}

/// The form of tasks that this version reads and writes.
pub(super) const FORM: u32 = 1;

impl Task {
    /// Its name.
    pub(super) fn id(&self) -> Result<String> {
        Ok(hex(&Sha256::digest(serde_json::to_vec(&self.what)?))[..32].to_owned())
    }

    /// From its file, whose name must be what it is.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read(path).with_context(|| format!("{name}: cannot read"))?;
        let task: Self =
            serde_json::from_slice(&text).with_context(|| format!("{name}: no task of a sweep"))?;
        let form = task.what.task;
        ensure!(
            form == FORM,
            "{name}: a task of form {form}, where only form {FORM} is understood"
        );
        let id = task.id()?;
        ensure!(
            path.file_stem().is_some_and(|stem| *stem == *id),
            "{name}: not the task that its name says, which would be {id}: plan again"
        );
        Ok(task)
    }

    /// Its trace as it comes, if it still is the one that was planned.
    pub(super) fn open(&self, window: Option<(u64, u64)>) -> Result<Box<dyn Source>> {
        let name = self.trace.display();
        let found = sha256(&self.trace)?;
        if found != self.what.sha256 {
            bail!("{name}: its content is not what was planned: plan again");
        }
        open(&self.trace, &self.what.reading, window)
    }
}

/// A trace as it comes.
pub(super) fn open(path: &Path, how: &How, window: Option<(u64, u64)>) -> Result<Box<dyn Source>> {
    let name = path.display().to_string();
    let reading = Reading {
        time: how.timed,
        ..Reading::of_pages(how.page_size)?
    };
    let format = how.format.as_deref().map(Format::named).transpose()?;
    let file = File::open(path).with_context(|| format!("{name}: cannot read"))?;
    let source = traces::open(file, &name, format, reading).with_context(|| name.clone())?;
    Ok(traces::part(
        source,
        Wanted {
            window,
            task: None,
            time: how.timed,
        },
    ))
}

/// Of a file's bytes.
pub(super) fn sha256(path: &Path) -> Result<String> {
    let cannot = || format!("{}: cannot read", path.display());
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path).with_context(cannot)?, &mut hash).with_context(cannot)?;
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
