//! What the recordings of one host tell.

use super::Source;
use super::bought::Bought;
use super::course::Course;
use crate::last_decisions::LastDecisions;
use anyhow::{Result, bail};
use host::recordings::{ReadError, Reader};
use pressure::Sample;
use pressure::config::Mode;
use pressure::decision::{Action, Notice};
use pressure::rates::Rates;
use pressure::recording::{Entry, Header};
use pressure::replay::{Calibration, calibrate};
use pressure::sample::{Facts, Wall};
use pressure::scan::{Identity, Signal};
use pressure::status::Past;
use serde::Serialize;
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use units::{Bytes, Micros, Span};

/// Events that are kept of a host: the last.
const MOST_EVENTS: usize = 20;
/// Notes that are kept of a host: the first.
const MOST_NOTES: usize = 10;

/// A host.
#[derive(Debug, Default, Serialize)]
pub(super) struct Host {
    /// As it was called on the command line, or its file is.
    pub(super) name: String,
    /// Release of the kernel.
    pub(super) kernel: Option<String>,
    /// Usable memory.
    pub(super) memory: Option<Bytes>,
    /// What the guard might do, at the end.
    pub(super) mode: Option<Mode>,
    pub(super) cost: Cost,
    /// How often forecasts came true; `None` if none could be made again.
    pub(super) forecasts: Option<Calibration>,
    /// `None` where the model had too little to go by.
    pub(super) bought: Option<Bought>,
    /// The last things that a person would want to know, oldest first.
    pub(super) events: VecDeque<Event>,
    pub(super) course: Course,
    /// What should be known of the files.
    pub(super) notes: Vec<String>,
}

/// What was counted.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct Cost {
    pub(super) samples: u64,
    /// Samples that the recordings miss.
    pub(super) lost_samples: u64,
    /// Time between samples that follow on each other.
    pub(super) watched: Span,
    /// Time in which some task waited for memory.
    pub(super) stalled: Option<Micros>,
    /// Time in which it is known whether one did.
    pub(super) pressure_known: Span,
    pub(super) allocation_stalls: Option<u64>,
    pub(super) compaction_stalls: Option<u64>,
    /// Pages read again after eviction.
    pub(super) refaults: Option<u64>,
    /// Processes that the kernel killed.
    pub(super) kernel_kills: Option<u64>,
    /// Processes that the guard asked to end.
    pub(super) asked: u64,
    /// Processes that it killed.
    pub(super) killed: u64,
    /// Withheld memory, summed over time.
    pub(super) withheld_byte_seconds: f64,
}

/// Something that a person would want to know.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    pub(super) wall: Wall,
    /// False if it was only proposed.
    pub(super) done: bool,
    pub(super) text: String,
}

impl Host {
    /// Reads all files of `source`. A line that cannot be read is a note; a file that cannot be is an error, and a host without
    /// a sample is one.
    pub(super) fn of(source: &Source) -> Result<Self> {
        let mut reading = Reading {
            host: Self {
                name: source.name.clone(),
                ..Self::default()
            },
            ..Reading::default()
        };
        for file in &source.files {
            reading.file(file)?;
        }
        if reading.host.cost.samples == 0 {
            bail!("{}: no recording in it", source.name);
        }
        Ok(reading.host)
    }

    /// Share of time in which some task waited for memory; `None` where the kernel does not tell.
    pub(super) fn lost(&self) -> Option<f64> {
        let known = self.cost.pressure_known.get().as_secs_f64();
        (known > 0.0).then(|| {
            self.cost
                .stalled
                .unwrap_or_default()
                .span()
                .get()
                .as_secs_f64()
                / known
        })
    }

    /// Memory withheld by the guard, the mean over time.
    pub(super) fn withheld(&self) -> Bytes {
        super::mean(
            self.cost.withheld_byte_seconds,
            self.cost.watched.get().as_secs_f64(),
        )
    }

    fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A host that is being read.
#[derive(Debug, Default)]
struct Reading {
    host: Host,
    facts: Option<Facts>,
    /// The sample before, of the same boot.
    before: Option<Sample>,
    /// Who was signalled, and whether by SIGKILL.
    signalled: HashSet<(Identity, bool)>,
}

impl Reading {
    fn file(&mut self, path: &Path) -> Result<()> {
        let mut reader = Reader::open(path)?;
        let (mut entries, mut remembered) = (Vec::new(), LastDecisions::new(usize::MAX));
        for entry in &mut reader {
            match entry {
                Ok(entry) => {
                    self.entry(&entry);
                    remembered.take(entry.clone());
                    entries.push(entry);
                }
                // Its text quotes a line, not the path, which is the reader's own affair.
                Err(ReadError::Line { .. }) => self
                    .host
                    .note("a line cannot be read, and is left out".to_owned()),
                Err(error) => return Err(error.into()),
            }
        }
        let name = format!("{}: ", path.display());
        for note in reader.notes() {
            self.host
                .note(redacted(note.strip_prefix(&name).unwrap_or(note)));
        }
        remembered.end().iter().for_each(|past| self.remember(past));
        self.model(&entries);
        Ok(())
    }

    fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.header(header),
            Entry::Sample(sample) => self.sample(sample),
            Entry::Decision(decision) => {
                let Some(sample) = &self.before else { return };
                self.host.course.forecast(sample.wall, &decision.forecast);
            }
            Entry::Lost(count) => self.host.cost.lost_samples += count,
        }
    }

    fn header(&mut self, header: &Header) {
        if self
            .facts
            .as_ref()
            .is_some_and(|facts| facts.boot_id != header.facts.boot_id)
        {
            self.before = None;
        }
        self.host.kernel = Some(header.facts.kernel.clone());
        self.host.mode = header
            .config
            .as_ref()
            .map(|config| config.mode)
            .or(self.host.mode);
        self.facts = Some(header.facts.clone());
    }

    fn sample(&mut self, sample: &Sample) {
        let Some(facts) = &self.facts else { return };
        let rates = self
            .before
            .as_ref()
            .and_then(|before| Rates::between(before, sample, facts.page_size));
        self.host.memory = sample.memory.total.or(self.host.memory);
        self.host.cost.samples += 1;
        self.host
            .course
            .sample(sample.wall, &sample.memory, rates.as_ref());
        if let Some(rates) = &rates {
            self.host.cost.add(rates);
        }
        for victim in &sample.scan.victims {
            if self
                .signalled
                .insert((victim.identity, victim.signal == Signal::Kill))
            {
                match victim.signal {
                    Signal::Term => self.host.cost.asked += 1,
                    Signal::Kill => self.host.cost.killed += 1,
                }
            }
        }
        match &mut self.before {
            Some(before) => before.clone_from(sample),
            None => self.before = Some(sample.clone()),
        }
    }

    /// Keeps what a person would want to know: who ended, who would have, and what was foretold.
    fn remember(&mut self, past: &Past) {
        let ends = past
            .steps
            .iter()
            .filter(|step| matches!(step.action, Action::Kill { .. }))
            .map(ToString::to_string);
        let told = past
            .notices
            .iter()
            .filter(|notice| is_news(notice))
            .map(ToString::to_string);
        let events = ends
            .map(|text| (past.done, text))
            .chain(told.map(|text| (true, text)));
        for (done, text) in events {
            if self.host.events.len() == MOST_EVENTS {
                self.host.events.pop_front();
            }
            self.host.events.push_back(Event {
                wall: past.wall,
                done,
                text: redacted(&text),
            });
        }
    }

    /// Decides again, and lets the model meet the demand.
    fn model(&mut self, entries: &[Entry]) {
        let mut bought = self.host.bought.unwrap_or_default();
        match bought.add(entries) {
            Ok(()) => self.host.bought = Some(bought),
            Err(error) => self.host.note(format!("not modelled: {error}")),
        }
        if let Ok(calibration) = calibrate(entries) {
            let before = self.host.forecasts.unwrap_or_default();
            let (growth, demand) = (
                before.growth.and(calibration.growth),
                before.demand.and(calibration.demand),
            );
            self.host.forecasts = Some(Calibration { growth, demand });
        }
        let withheld = entries.windows(3).filter_map(|three| match three {
            [
                Entry::Sample(from),
                Entry::Decision(decision),
                Entry::Sample(to),
            ] => {
                let withheld = decision.forecast.withheld?.get() as f64;
                Some(withheld * to.at.get().saturating_sub(from.at.get()).as_secs_f64())
            }
            _ => None,
        });
        self.host.cost.withheld_byte_seconds += withheld.sum::<f64>();
    }
}

impl Cost {
    fn add(&mut self, rates: &Rates) {
        let count = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        self.watched = Span::new(self.watched.get() + rates.elapsed);
        if let Some(stalled) = rates.stalled {
            self.stalled = Some(Micros::new(
                self.stalled.unwrap_or_default().get() + stalled.get(),
            ));
            self.pressure_known = Span::new(self.pressure_known.get() + rates.elapsed);
        }
        count(&mut self.allocation_stalls, rates.allocation_stalls);
        count(&mut self.compaction_stalls, rates.compaction_stalls);
        count(&mut self.refaults, rates.refaults);
        count(&mut self.kernel_kills, rates.oom_kills);
    }
}

/// What is more than a number of the moment.
fn is_news(notice: &Notice) -> bool {
    matches!(
        notice,
        Notice::OomKill { .. }
            | Notice::Leak { .. }
            | Notice::Exhaustion { .. }
            | Notice::Distress { .. }
            | Notice::Otherwise { .. }
            | Notice::Gone { .. }
            | Notice::NoCulprit { .. }
            | Notice::LeftToRival
    )
}

/// Without paths: a process may call itself by one. `5 MiB/s` is none.
pub(super) fn redacted(text: &str) -> String {
    let begins =
        |word: &str, at: usize| !word[..at].ends_with(|before: char| before.is_alphanumeric());
    let word = |word: &str| match word.find('/') {
        Some(at) if begins(word, at) || word.matches('/').count() > 1 => {
            format!("{}…", &word[..at])
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
