//! Recording files: written so that a kill, a crash or a full disk costs the last seconds at most.
//!
//! A file is a row of gzip members, each whole in itself, of at most 64 KiB of text or thirty seconds.
//! `zcat` reads it. Each file opens with a header, so that each can be read, moved or deleted alone.
//! The directory is 0700, a file 0600; a file is never opened through a link, nor over another. The text
//! is [`pressure::recording`].

mod files;
mod notes;
mod reader;

pub use files::{list, newest};
pub use notes::Notes;
pub use reader::{ReadError, Reader, read};

use crate::writes;
use files::Directory;
use flate2::Compression;
use flate2::write::GzEncoder;
use pressure::recording::{Encoder, Opening};
use pressure::sample::Wall;
use pressure::{Config, Decision, Facts, History, Sample};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Span;

/// Text in one gzip member, at most; a header may be longer.
const MEMBER: usize = 64 * 1024;
/// Time that a member waits for more, at most.
const WAIT: Duration = Duration::from_secs(30);
/// Time after which a directory that could not be written to is tried again. A full disk rarely has room sooner; and each
/// minute of an incident that is not recorded is one that cannot be explained.
const TRY_AGAIN: Duration = Duration::from_secs(60);
/// Time that a member of a recording in a terminal waits for more, which Ctrl-C may end.
const WAIT_WATCHED: Duration = Duration::from_secs(1);

/// A recording that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file or its directory.
    #[error("{}: cannot record: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something that JSON cannot hold.
    #[error("cannot record: {error}")]
    Unwritable {
        /// Why.
        error: serde_json::Error,
    },
}

impl From<serde_json::Error> for RecordError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable { error }
    }
}

fn io_at(path: &Path, error: io::Error) -> RecordError {
    RecordError::Io {
        path: path.to_owned(),
        error,
    }
}

/// Writes samples and decisions to files.
///
/// It keeps a decision core of its own, that takes in what it records: so it can open each file with
/// the state at that point, and the daemon's loop need not stop for it.
#[derive(Debug)]
pub struct RecordingWriter {
    target: Target,
    facts: Facts,
    config: Config,
    state: History,
    encoder: Encoder,
    text: Vec<u8>,
    /// Samples in `text`.
    gathered: u64,
    /// When the member that is being gathered began.
    since: Option<Span>,
    wait: Duration,
    /// Since an error, nothing is written.
    stopped: Option<Stopped>,
}

/// A recording that an error has stopped.
#[derive(Debug, Clone, Copy)]
struct Stopped {
    /// The last sample that was tried.
    tried: Span,
    /// Samples that were not recorded.
    missed: u64,
}

/// Where the members go.
#[derive(Debug)]
enum Target {
    Directory(Directory),
    Stream {
        path: PathBuf,
        out: Stream,
        gzip: bool,
    },
}

#[derive(Debug)]
enum Stream {
    File(File),
    Stdout(io::Stdout),
}

impl RecordingWriter {
    /// Records into `directory`, which is made if it is not there; the first sample makes the first file.
    ///
    /// `state` is the decision core before the first sample that will be pushed.
    pub fn create(
        directory: &Path,
        facts: &Facts,
        config: &Config,
        state: &History,
    ) -> Result<Self, RecordError> {
        let target = Target::Directory(Directory::open(directory, &config.recording)?);
        Ok(Self::to(target, (facts, config, state), WAIT))
    }

    /// Records into one file that must not be there yet, compressed if its name ends in `.gz`; `-` is
    /// standard output. There is no limit to its size.
    pub fn single(
        path: &Path,
        facts: &Facts,
        config: &Config,
        state: &History,
    ) -> Result<Self, RecordError> {
        let out = if path == Path::new("-") {
            Stream::Stdout(io::stdout())
        } else {
            let created = writes::create_new(path, 0o600);
            Stream::File(created.map_err(|error| io_at(path, error))?)
        };
        let gzip = path.extension().is_some_and(|extension| extension == "gz");
        let target = Target::Stream {
            path: path.to_owned(),
            out,
            gzip,
        };
        Ok(Self::to(target, (facts, config, state), WAIT_WATCHED))
    }

    fn to(
        target: Target,
        (facts, config, state): (&Facts, &Config, &History),
        wait: Duration,
    ) -> Self {
        Self {
            target,
            facts: facts.clone(),
            config: config.clone(),
            state: state.clone(),
            encoder: Encoder::new(),
            text: Vec::with_capacity(2 * MEMBER),
            gathered: 0,
            since: None,
            wait,
            stopped: None,
        }
    }

    /// Records a sample and what was decided after it.
    ///
    /// An error stops the recording. A directory is tried again every minute, as the disk may have room again: the first
    /// sample that succeeds begins a new file. Until then no other error is returned.
    pub fn push(
        &mut self,
        sample: &Sample,
        decision: Option<&Decision>,
    ) -> Result<(), RecordError> {
        let Some(stopped) = self.stopped else {
            return self.push_or_stop(sample, decision);
        };
        let waited = sample.at.get().saturating_sub(stopped.tried.get());
        let Target::Directory(directory) = &mut self.target else {
            return Ok(());
        };
        if waited < TRY_AGAIN {
            self.state.push(sample);
            self.stop(stopped.tried, 1);
            return Ok(());
        }
        directory.close();
        self.encoder = Encoder::new();
        // The error that stopped it was returned.
        let _ = self.push_or_stop(sample, decision);
        Ok(())
    }

    /// Records that `count` samples are missing here.
    ///
    /// Its own decision core has missed them too: to keep later files exact, [`RecordingWriter::restate`].
    pub fn lost(&mut self, count: u64) {
        match self.stopped {
            Some(stopped) => self.stop(stopped.tried, count),
            None => self.encoder.lost(&mut self.text, count),
        }
    }

    /// Goes on with this configuration and state, as after a reload or lost samples: a new header is
    /// written before the next sample.
    pub fn restate(&mut self, config: &Config, state: &History) {
        self.config = config.clone();
        self.state = state.clone();
        self.encoder = Encoder::new();
    }

    /// Writes out what has been gathered.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.is_stopped() {
            return Ok(());
        }
        let began = self.since.unwrap_or_default();
        let written = self.try_flush();
        if written.is_err() {
            self.stop(began, 0);
        }
        written
    }

    /// The configuration that is recorded.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether an error has stopped the recording.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The file being written, if there is one yet.
    pub fn path(&self) -> Option<PathBuf> {
        match &self.target {
            Target::Directory(directory) => directory.path(),
            Target::Stream { path, .. } => Some(path.clone()),
        }
    }

    /// Records a sample, or stops. Either way the sample is in the state that a later file opens with.
    fn push_or_stop(
        &mut self,
        sample: &Sample,
        decision: Option<&Decision>,
    ) -> Result<(), RecordError> {
        let pushed = self.try_push(sample, decision);
        self.state.push(sample);
        match pushed {
            Ok(()) => self.stopped = None,
            // The sample itself, unless it was gathered already.
            Err(_) if self.gathered == 0 => self.stop(sample.at, 1),
            Err(_) => self.stop(sample.at, 0),
        }
        pushed
    }

    /// Nothing is written from now on; what was gathered is lost, and `more` samples besides.
    fn stop(&mut self, tried: Span, more: u64) {
        let before = self.stopped.map_or(0, |stopped| stopped.missed);
        self.stopped = Some(Stopped {
            tried,
            missed: before + self.gathered + more,
        });
        self.gathered = 0;
        self.text.clear();
        self.since = None;
    }

    fn try_push(
        &mut self,
        sample: &Sample,
        decision: Option<&Decision>,
    ) -> Result<(), RecordError> {
        if self.needs_file() {
            self.next_file(sample.wall)?;
        }
        let opens = !self.encoder.fits(sample);
        if opens {
            let opening = Opening {
                facts: &self.facts,
                config: &self.config,
                state: &self.state,
                sample,
            };
            self.encoder.header(&mut self.text, &opening)?;
        }
        if let Some(stopped) = self.stopped {
            self.encoder.lost(&mut self.text, stopped.missed);
        }
        self.encoder
            .sample(&mut self.text, sample)
            .expect("a header has just made it fit");
        if let Some(decision) = decision {
            self.encoder.decision(&mut self.text, decision)?;
        }
        self.gathered += 1;
        let since = *self.since.get_or_insert(sample.at);
        // A header goes out at once: without it a file that is cut short could not be read at all.
        if opens
            || self.text.len() >= MEMBER
            || sample.at.get().saturating_sub(since.get()) >= self.wait
        {
            self.try_flush()?;
        }
        Ok(())
    }

    fn needs_file(&self) -> bool {
        matches!(&self.target, Target::Directory(directory) if directory.needs_file())
    }

    fn next_file(&mut self, wall: Wall) -> Result<(), RecordError> {
        if let Target::Directory(directory) = &mut self.target {
            directory.next_file(wall)?;
            self.encoder = Encoder::new();
        }
        Ok(())
    }

    fn try_flush(&mut self) -> Result<(), RecordError> {
        if self.text.is_empty() || self.needs_file() {
            return Ok(());
        }
        self.since = None;
        let written = match &mut self.target {
            Target::Directory(directory) => directory.write(&member(&self.text)),
            Target::Stream { path, out, gzip } => {
                let written = if *gzip {
                    out.write(&member(&self.text))
                } else {
                    out.write(&self.text)
                };
                written.map_err(|error| io_at(path, error))
            }
        };
        if written.is_ok() {
            self.gathered = 0;
        }
        self.text.clear();
        written
    }
}

impl Drop for RecordingWriter {
    fn drop(&mut self) {
        // There is no caller to tell of an error; one that wants to know calls `flush` before.
        let _ = self.flush();
    }
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(bytes),
            Self::Stdout(out) => out.write_all(bytes).and_then(|()| out.flush()),
        }
    }
}

/// One gzip member, whole, so that it is written by one call.
fn member(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), Compression::default());
    encoder
        .write_all(text)
        .expect("writing to a Vec does not fail");
    encoder.finish().expect("writing to a Vec does not fail")
}

#[cfg(test)]
mod tests;
