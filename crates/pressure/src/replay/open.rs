//! The open loop: recorded samples, decided again.

use super::ReplayError;
use crate::config::{Config, Guard};
use crate::decide;
use crate::decision::Decision;
use crate::history::History;
use crate::recording::Entry;
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
    /// Where the new decision is not the recorded one.
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
/// By the recorded configuration, every header's state is taken over, so that a lost sample tells only
/// until there. By another configuration the state of the first header is of no use: it starts from
/// nothing and goes on through later headers.
pub fn decide_again<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    config: Option<&Config>,
) -> Result<Again, ReplayError> {
    let mut again = Again::default();
    let mut core: Option<(History, Config)> = None;
    let mut last: Option<(Span, Wall)> = None;
    // The rules that the scans were made by.
    let mut asked: Option<&Guard> = None;
    for entry in entries {
        match entry {
            Entry::Header(header) => {
                asked = header.config.as_ref().map(|config| &config.guard);
                let by = config
                    .or(header.config.as_ref())
                    .ok_or(ReplayError::NoConfig)?;
                let state = header.state.as_ref().filter(|_| config.is_none());
                if header.state.is_none() {
                    again.without_state += 1;
                }
                let history = match (state, core.take()) {
                    (Some(state), _) => state.clone(),
                    (None, Some((history, _))) if config.is_some() => history,
                    (None, _) => History::new(&header.facts, by),
                };
                core = Some((history, by.clone()));
            }
            Entry::Sample(sample) => {
                if let Some((history, by)) = &mut core {
                    match asked {
                        Some(asked) if config.is_some() => {
                            history.push(&asked_by(&by.guard, asked, sample));
                        }
                        _ => history.push(sample),
                    }
                }
                last = Some((sample.at, sample.wall));
                again.samples += 1;
            }
            Entry::Decision(recorded) => {
                let Some((history, by)) = &core else { continue };
                if let Some(when) = last {
                    again.compare(recorded, decide(by, history), when);
                }
            }
            Entry::Lost(count) => again.lost += count,
        }
    }
    if again.samples == 0 {
        Err(ReplayError::TooShort)
    } else {
        Ok(again)
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
    fn compare(&mut self, recorded: &Decision, again: Decision, when: (Span, Wall)) {
        self.decisions += 1;
        if *recorded == again {
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
