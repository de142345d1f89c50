//! The open loop: recorded samples, decided again.

use super::ReplayError;
use crate::config::{Config, Guard};
use crate::decide;
use crate::decision::Decision;
use crate::history::History;
use crate::recording::{Entry, Header};
use crate::sample::{Sample, Wall};
use serde::Serialize;
use units::Span;

/// What came of deciding again.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct Again {
    /// Samples taken in.
    pub samples: u64,
    /// Decisions in the recording that were compared.
    pub decisions: u64,
    /// Samples missing in the recording: decisions after them may differ until the next header.
    pub lost: u64,
    /// Headers without a state that can be read: decisions after them start from nothing.
    pub without_state: u64,
    /// Decisions that are not the recorded ones.
    pub differ: u64,
    /// The first of them, at most [`Again::MOST`].
    pub differing: Vec<Difference>,
}

/// A decision that comes out differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Time since boot.
    pub at: Span,
    /// The wall clock.
    pub wall: Wall,
    /// What was decided.
    pub recorded: Box<Decision>,
    /// What is decided now.
    pub again: Box<Decision>,
}

/// Decides again over the recorded samples: by `config`, or by what was recorded.
///
/// The same as [`Deciding`] over all entries.
pub fn decide_again<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    config: Option<&Config>,
) -> Result<Again, ReplayError> {
    let mut deciding = Deciding::by(config.cloned());
    for entry in entries {
        deciding.take(entry)?;
    }
    deciding.end()
}

/// Decides again, entry by entry, in constant memory.
///
/// By the recorded configuration, every header's state is taken over, so that a lost sample tells only
/// until there. By another configuration the state of the first header is of no use: it starts from
/// nothing and goes on through later headers.
#[derive(Debug)]
pub struct Deciding {
    /// The other configuration; `None` decides by the recorded one.
    by: Option<Config>,
    core: Option<(History, Config)>,
    last: Option<(Span, Wall)>,
    /// The rules that the scans were made by.
    asked: Option<Guard>,
    again: Again,
}

impl Deciding {
    /// Decides by `config`; `None` takes the recorded one.
    pub fn by(config: Option<Config>) -> Self {
        Self {
            by: config,
            core: None,
            last: None,
            asked: None,
            again: Again::default(),
        }
    }

    /// Takes the next entry.
    ///
    /// Errors: a header without a configuration, where no other was given.
    pub fn take(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        match entry {
            Entry::Header(header) => self.open(header)?,
            Entry::Sample(sample) => self.sample(sample),
            Entry::Decision(recorded) => self.decide(recorded),
            Entry::Lost(count) => self.again.lost = self.again.lost.saturating_add(*count),
        }
        Ok(())
    }

    /// What came of it.
    ///
    /// Errors: there was no sample.
    pub fn end(self) -> Result<Again, ReplayError> {
        if self.again.samples == 0 {
            return Err(ReplayError::TooShort);
        }
        Ok(self.again)
    }

    fn open(&mut self, header: &Header) -> Result<(), ReplayError> {
        self.asked = header.config.as_ref().map(|config| config.guard.clone());
        let by = self
            .by
            .as_ref()
            .or(header.config.as_ref())
            .ok_or(ReplayError::NoConfig)?;
        let state = header.state.as_ref().filter(|_| self.by.is_none());
        if header.state.is_none() {
            self.again.without_state += 1;
        }
        let history = match (state, self.core.take()) {
            (Some(state), _) => state.clone(),
            (None, Some((history, _))) if self.by.is_some() => history,
            (None, _) => History::new(&header.facts, by),
        };
        self.core = Some((history, by.clone()));
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) {
        if let Some((history, by)) = &mut self.core {
            match &self.asked {
                Some(asked) if self.by.is_some() => {
                    history.push(&asked_by(&by.guard, asked, sample));
                }
                _ => history.push(sample),
            }
        }
        self.last = Some((sample.at, sample.wall));
        self.again.samples += 1;
    }

    fn decide(&mut self, recorded: &Decision) {
        let Some((history, by)) = &self.core else {
            return;
        };
        if let Some(when) = self.last {
            self.again.compare(recorded, decide(by, history), when);
        }
    }
}

/// The sample as the rules of another configuration would have it, as far as those were asked.
fn asked_by(rules: &Guard, asked: &Guard, sample: &Sample) -> Sample {
    let mut sample = sample.clone();
    for candidate in &mut sample.scan.candidates {
        candidate.commands = rules.bits_by(asked, candidate.commands);
    }
    sample
}

impl Again {
    /// Differences that are kept: a person reads fewer, and a long recording may have one at every tick.
    pub const MOST: usize = 1000;

    fn compare(&mut self, recorded: &Decision, again: Decision, when: (Span, Wall)) {
        self.decisions += 1;
        if *recorded == again {
            return;
        }
        self.differ += 1;
        if self.differing.len() == Self::MOST {
            return;
        }
        let (at, wall) = when;
        self.differing.push(Difference {
            at,
            wall,
            recorded: Box::new(recorded.clone()),
            again: Box::new(again),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Candidate;

    #[test]
    fn another_configuration_has_the_answers_that_were_asked_for() {
        let guard = |rules: [&str; 2]| Guard {
            prefer: rules.map(|rule| rule.parse().unwrap()).to_vec(),
            ..Guard::default()
        };
        let mut sample = Sample::default();
        sample.scan.candidates.push(Candidate {
            commands: 0b11,
            ..Candidate::default()
        });
        let asked = guard(["command:*a*", "command:*b*"]);
        let other = guard(["command:*c*", "command:*b*"]);
        let seen = asked_by(&other, &asked, &sample);
        assert_eq!(seen.scan.candidates[0].commands, 0b10);
        assert_eq!(seen.scan.candidates.len(), 1);
    }
}
