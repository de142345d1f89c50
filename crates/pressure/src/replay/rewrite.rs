//! A recording, written anew as this build makes it.
//!
//! A recording keeps the decisions of the build that made it. When a decision changes on purpose,
//! old recordings can no longer tell whether a later change was one. Written anew, they can: the
//! samples are the same, and decisions, states and format are those of this build.

use super::ReplayError;
use crate::config::Config;
use crate::decide;
use crate::history::History;
use crate::recording::{Encoder, Entry, Header, Opening};
use crate::sample::{Facts, Sample};

/// The text of a recording with the same samples. A decision is written where there was one.
///
/// The same as [`Rewriting`] over all entries. Errors: no samples, a header without a configuration, or a state that
/// JSON cannot hold.
pub fn rewrite<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Result<Vec<u8>, ReplayError> {
    let mut rewriting = Rewriting::default();
    let mut text = Vec::new();
    for entry in entries {
        rewriting.take(entry, &mut text)?;
    }
    rewriting.end()?;
    Ok(text)
}

/// Writes a recording anew, entry by entry, in constant memory.
#[derive(Default)]
pub struct Rewriting {
    core: Option<Core>,
    encoder: Encoder,
    samples: u64,
}

/// What decisions are made by.
struct Core {
    facts: Facts,
    config: Config,
    history: History,
}

impl Rewriting {
    /// Takes the next entry, and appends its text to `text`.
    pub fn take(&mut self, entry: &Entry, text: &mut Vec<u8>) -> Result<(), ReplayError> {
        match entry {
            Entry::Header(header) => self.open(header),
            Entry::Sample(sample) => self.sample(sample, text),
            Entry::Decision(_) => self.decide(text),
            Entry::Lost(count) => {
                self.encoder.lost(text, *count);
                Ok(())
            }
        }
    }

    /// Errors: there was no sample.
    pub fn end(self) -> Result<(), ReplayError> {
        if self.samples == 0 {
            return Err(ReplayError::TooShort);
        }
        Ok(())
    }

    /// A header comes before the next sample.
    ///
    /// The history goes on from the samples so far, unless this is another boot: then it is the
    /// recorded one, or empty where that cannot be read.
    fn open(&mut self, header: &Header) -> Result<(), ReplayError> {
        let config = header.config.clone().ok_or(ReplayError::NoConfig)?;
        let same_boot = |core: &Core| core.facts.boot_id == header.facts.boot_id;
        let history = match self.core.take().filter(same_boot) {
            Some(mut core) => {
                if core.config != config {
                    core.history.go_on_by(&config);
                }
                core.history
            }
            None => match &header.state {
                Some(state) => state.clone(),
                None => History::new(&header.facts, &config),
            },
        };
        let facts = header.facts.clone();
        self.core = Some(Core {
            facts,
            config,
            history,
        });
        self.encoder = Encoder::new();
        Ok(())
    }

    fn sample(&mut self, sample: &Sample, text: &mut Vec<u8>) -> Result<(), ReplayError> {
        let Some(core) = &mut self.core else {
            return Ok(());
        };
        if !self.encoder.fits(sample) {
            let opening = Opening {
                facts: &core.facts,
                config: &core.config,
                state: &core.history,
                sample,
            };
            self.encoder.header(text, &opening).map_err(unwritable)?;
        }
        self.encoder.sample(text, sample).map_err(unwritable)?;
        core.history.push(sample);
        self.samples += 1;
        Ok(())
    }

    fn decide(&mut self, text: &mut Vec<u8>) -> Result<(), ReplayError> {
        let Some(core) = &self.core else {
            return Ok(());
        };
        let decision = decide(&core.config, &core.history);
        self.encoder.decision(text, &decision).map_err(unwritable)
    }
}

fn unwritable(error: impl ToString) -> ReplayError {
    ReplayError::Unwritable(error.to_string())
}
