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
/// Errors: no samples, a header without a configuration, or a state that JSON cannot hold.
pub fn rewrite<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Result<Vec<u8>, ReplayError> {
    let mut rewriter = Rewriter::default();
    for entry in entries {
        match entry {
            Entry::Header(header) => rewriter.open(header)?,
            Entry::Sample(sample) => rewriter.sample(sample)?,
            Entry::Decision(_) => rewriter.decide()?,
            Entry::Lost(count) => rewriter.encoder.lost(&mut rewriter.text, *count),
        }
    }
    if rewriter.samples == 0 {
        return Err(ReplayError::TooShort);
    }
    Ok(rewriter.text)
}

#[derive(Default)]
struct Rewriter {
    core: Option<Core>,
    encoder: Encoder,
    text: Vec<u8>,
    samples: u64,
}

/// What decisions are made by.
struct Core {
    facts: Facts,
    config: Config,
    history: History,
}

impl Rewriter {
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

    fn sample(&mut self, sample: &Sample) -> Result<(), ReplayError> {
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
            self.encoder
                .header(&mut self.text, &opening)
                .map_err(unwritable)?;
        }
        self.encoder
            .sample(&mut self.text, sample)
            .map_err(unwritable)?;
        core.history.push(sample);
        self.samples += 1;
        Ok(())
    }

    fn decide(&mut self) -> Result<(), ReplayError> {
        let Some(core) = &self.core else {
            return Ok(());
        };
        let decision = decide(&core.config, &core.history);
        self.encoder
            .decision(&mut self.text, &decision)
            .map_err(unwritable)
    }
}

fn unwritable(error: impl ToString) -> ReplayError {
    ReplayError::Unwritable(error.to_string())
}
