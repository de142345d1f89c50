//! A host, from its recordings.

use super::bought::Bought;
use super::course::Course;
use super::numbers::mean;
use super::source::Source;
use crate::last_decisions::News;
use anyhow::{Result, bail};
use host::recordings::{ReadError, Reader};
use pressure::Sample;
use pressure::config::Mode;
use pressure::decision::{Action, Notice};
use pressure::rates::Rates;
use pressure::recording::{Entry, Header};
use pressure::replay::{Calibrating, Calibration, Survey};
use pressure::sample::{Facts, Wall};
use pressure::scan::{Identity, Signal};
use pressure::status::Past;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::Path;
use units::{Bytes, Micros, Span};

/// Most events of a host, the last ones: a reader of many hosts reads no more of each.
const MOST_EVENTS: usize = 20;
/// Signalled processes that are told from others: a sample has few, and one that has ended does not come again.
const MOST_SIGNALLED: usize = 64;
/// Most notes of a host, the first ones: a damaged file can give one for each line.
const MOST_NOTES: usize = 10;

/// A host.
#[derive(Debug, Default, Serialize)]
pub(super) struct Host {
    /// The name on the command line, or of its file.
    pub(super) name: String,
    /// Release of the kernel.
    pub(super) kernel: Option<String>,
    /// Usable memory.
    pub(super) memory: Option<Bytes>,
    /// The guard's mode at the end.
    pub(super) mode: Option<Mode>,
    pub(super) cost: Cost,
    /// How often forecasts came true; `None` if none could be made again.
    pub(super) forecasts: Option<Calibration>,
    /// `None` where the model had too little to go by.
    pub(super) bought: Option<Bought>,
    /// Kills and warnings, oldest first.
    pub(super) events: VecDeque<Event>,
    pub(super) course: Course,
    /// Flaws of the files that a reader should know of.
    pub(super) notes: Vec<String>,
}

/// Sums over the recordings.
#[derive(Debug, Default, Clone, Serialize)]
pub(super) struct Cost {
    pub(super) samples: u64,
    /// Samples that are missing in the recordings.
    pub(super) lost_samples: u64,
    /// Time between consecutive samples.
    pub(super) watched: Span,
    /// Time in which at least one task waited for memory.
    pub(super) stalled: Option<Micros>,
    /// Time for which the kernel counted that.
    pub(super) pressure_known: Span,
    pub(super) allocation_stalls: Option<u64>,
    pub(super) compaction_stalls: Option<u64>,
    /// Number of refaulted pages.
    pub(super) refaults: Option<u64>,
    /// Processes that the kernel killed.
    pub(super) kernel_kills: Option<u64>,
    /// Processes that the guard sent SIGTERM.
    pub(super) asked: u64,
    /// Processes that the guard sent SIGKILL.
    pub(super) killed: u64,
    /// Withheld memory, summed over time, in bytes × seconds.
    pub(super) withheld_byte_seconds: f64,
}

/// A kill or a warning.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    pub(super) wall: Wall,
    /// False if it was only proposed.
    pub(super) done: bool,
    pub(super) text: String,
}

impl Host {
    /// Reads all files of `source`. A line that cannot be read becomes a note.
    ///
    /// Errors: a file cannot be read, or there is no sample.
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

    /// Share of time in which at least one task waited for memory; `None` if the kernel did not count it.
    pub(super) fn lost(&self) -> Option<f64> {
        let known = self.cost.pressure_known.get().as_secs_f64();
        if known <= 0.0 {
            return None;
        }
        let stalled = self.cost.stalled.unwrap_or_default().span();
        Some(stalled.get().as_secs_f64() / known)
    }

    /// Memory withheld by the guard, the mean over time.
    pub(super) fn withheld(&self) -> Bytes {
        let seconds = self.cost.watched.get().as_secs_f64();
        mean(self.cost.withheld_byte_seconds, seconds)
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
    /// The previous sample, if it is of the same boot.
    before: Option<Sample>,
    /// The processes that were signalled last, with true for SIGKILL.
    signalled: VecDeque<(Identity, bool)>,
}

impl Reading {
    /// Reads a file twice: for what happened, and for the model.
    fn file(&mut self, path: &Path) -> Result<()> {
        let mut reader = Reader::open(path)?;
        let mut news = News::new();
        let mut calibrating = Calibrating::default();
        let mut can_calibrate = true;
        let mut survey = Survey::default();
        let mut withheld = WithheldTime::default();
        for entry in &mut reader {
            match entry {
                Ok(entry) => {
                    self.entry(&entry);
                    if calibrating.take(&entry).is_err() {
                        can_calibrate = false;
                    }
                    survey.take(&entry);
                    withheld.take(&entry);
                    self.remember(news.take(entry));
                }
                // The error's own text quotes the line, which may have a path in it.
                Err(ReadError::Line { .. }) => self
                    .host
                    .note("a line cannot be read, and is left out".to_owned()),
                Err(error) => return Err(error.into()),
            }
        }
        let name = format!("{}: ", path.display());
        for note in reader.notes().lines() {
            self.host
                .note(redacted(note.strip_prefix(&name).unwrap_or(&note)));
        }
        self.remember(news.end());
        let calibration = calibrating.end().ok().filter(|_| can_calibrate);
        if let Some(calibration) = calibration {
            let before = self.host.forecasts.unwrap_or_default();
            self.host.forecasts = Some(Calibration {
                growth: before.growth.and(calibration.growth),
                demand: before.demand.and(calibration.demand),
            });
        }
        self.host.cost.withheld_byte_seconds += withheld.byte_seconds;
        self.model(&survey, path)
    }

    /// Runs the model of the machine on the recorded demand.
    fn model(&mut self, survey: &Survey, path: &Path) -> Result<()> {
        let mut bought = self.host.bought.unwrap_or_default();
        match bought.add(survey, path)? {
            Ok(()) => self.host.bought = Some(bought),
            Err(error) => self.host.note(format!("not modelled: {error}")),
        }
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
        if let Some(facts) = &self.facts {
            if facts.boot_id != header.facts.boot_id {
                self.before = None;
            }
        }
        self.host.kernel = Some(header.facts.kernel.clone());
        if let Some(config) = &header.config {
            self.host.mode = Some(config.mode);
        }
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
            let is_kill = victim.signal == Signal::Kill;
            let signalled = (victim.identity, is_kill);
            // A victim is in every sample until it has ended.
            if self.signalled.contains(&signalled) {
                continue;
            }
            if self.signalled.len() == MOST_SIGNALLED {
                self.signalled.pop_front();
            }
            self.signalled.push_back(signalled);
            match victim.signal {
                Signal::Term => self.host.cost.asked += 1,
                Signal::Kill => self.host.cost.killed += 1,
            }
        }
        match &mut self.before {
            Some(before) => before.clone_from(sample),
            None => self.before = Some(sample.clone()),
        }
    }

    /// Keeps kills, proposed kills and warnings as events.
    fn remember(&mut self, past: Option<Past>) {
        let Some(past) = &past else { return };
        for step in &past.steps {
            if matches!(step.action, Action::Kill { .. }) {
                self.event(past, past.done, &step.to_string());
            }
        }
        for notice in &past.notices {
            if is_event(notice) {
                self.event(past, true, &notice.to_string());
            }
        }
    }

    fn event(&mut self, past: &Past, done: bool, text: &str) {
        if self.host.events.len() == MOST_EVENTS {
            self.host.events.pop_front();
        }
        self.host.events.push_back(Event {
            wall: past.wall,
            done,
            text: redacted(text),
        });
    }
}

/// Withheld memory, summed over the time from each decision's sample to the next.
#[derive(Debug, Default)]
struct WithheldTime {
    byte_seconds: f64,
    /// When the last sample was.
    at: Option<Span>,
    /// What is withheld since then.
    withheld: Option<Bytes>,
}

impl WithheldTime {
    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Sample(sample) => {
                if let (Some(at), Some(withheld)) = (self.at, self.withheld) {
                    let elapsed = sample.at.get().saturating_sub(at.get());
                    self.byte_seconds += withheld.get() as f64 * elapsed.as_secs_f64();
                }
                self.at = Some(sample.at);
                self.withheld = None;
            }
            Entry::Decision(decision) => self.withheld = decision.forecast.withheld,
            Entry::Header(_) | Entry::Lost(_) => self.at = None,
        }
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
            let before = self.stalled.unwrap_or_default();
            self.stalled = Some(Micros::new(before.get() + stalled.get()));
            self.pressure_known = Span::new(self.pressure_known.get() + rates.elapsed);
        }
        count(&mut self.allocation_stalls, rates.allocation_stalls);
        count(&mut self.compaction_stalls, rates.compaction_stalls);
        count(&mut self.refaults, rates.refaults);
        count(&mut self.kernel_kills, rates.oom_kills);
    }
}

/// Returns true for notices that a person would want to know of later.
fn is_event(notice: &Notice) -> bool {
    matches!(
        notice,
        Notice::OomKill { .. }
            | Notice::Leak { .. }
            | Notice::Exhaustion { .. }
            | Notice::Distress { .. }
            | Notice::Otherwise { .. }
            | Notice::Gone { .. }
            | Notice::NoCulprit { .. }
            | Notice::Thrashing { .. }
            | Notice::SharedFills { .. }
            | Notice::KernelFills { .. }
            | Notice::LeftToRival
    )
}

/// Leaves out paths, because a process may have one as its name. `5 MiB/s` is not a path.
pub(super) fn redacted(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(redacted_word).collect();
    words.join(" ")
}

/// A word is a path if it has several slashes, or one that no letter or digit stands before.
fn redacted_word(word: &str) -> String {
    let Some(at) = word.find('/') else {
        return word.to_owned();
    };
    let begins_there = !word[..at].ends_with(char::is_alphanumeric);
    if begins_there || word.matches('/').count() > 1 {
        return format!("{}…", &word[..at]);
    }
    word.to_owned()
}
