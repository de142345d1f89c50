//! The recording, a sample at a time: what was read, and what the guard did, as they were.
//!
//! One file of the guard's is kept at a time; at its end the next one is read. What a picture does not show is dropped as it
//! is read, and of a longer file the last [`MOST`] samples are kept: in the worst case 30 MiB.

use super::frame::{Frame, RunsOut, limited};
use super::process_changes::Lines;
use super::view::Scrub;
use crate::last_decisions::{Judge, Judgement};
use crate::ui::clock;
use anyhow::Result;
use host::recordings::{ReadError, Reader, list};
use host::settings::UserNames;
use pressure::decision::{Decision, Phase};
use pressure::recording::{Entry, Header};
use pressure::sample::Wall;
use pressure::{Config, Sample};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Samples kept of one file: at ten a second, as under load, seven minutes; on a calm machine seven hours.
const MOST: usize = 4000;

/// Where recordings are.
#[derive(Debug)]
pub(super) enum Source<'s> {
    /// The guard's own, in its state directory.
    Guard { state: &'s Path, root: &'s Path },
    /// A file, perhaps of another machine.
    File(&'s Path),
}

/// One sample, and what was decided on it.
#[derive(Debug)]
pub(super) struct Moment {
    wall: Wall,
    pub(super) frame: Frame,
    /// What the guard did and said.
    pub(super) acts: Vec<String>,
    judgement: Judgement,
    has_steps: bool,
}

impl Moment {
    /// Local time.
    pub(super) fn time(&self) -> String {
        clock::local(self.wall)
    }

    /// What stands above the acts.
    pub(super) fn said(&self) -> &'static str {
        match (self.acts.is_empty(), self.has_steps, self.judgement.done) {
            (true, _, _) => "the guard did nothing",
            (_, true, true) => "the guard did:",
            (_, true, false) => "the guard would have done, but did not:",
            (_, false, _) => "the guard noted:",
        }
    }
}

/// A place in the recordings.
#[derive(Debug)]
pub(super) struct History {
    files: Vec<PathBuf>,
    users: UserNames,
    /// The file whose samples are kept.
    file: usize,
    moments: VecDeque<Moment>,
    at: usize,
}

impl History {
    /// At the newest sample.
    ///
    /// Errors: there is no recording, or it may not be read.
    pub(super) fn open(source: &Source<'_>) -> Result<Self> {
        let (files, users) = match source {
            Source::File(file) => (vec![file.to_path_buf()], UserNames::default()),
            Source::Guard { state, root } => (of_guard(state)?, UserNames::read(root)),
        };
        let mut history = Self {
            file: files.len().saturating_sub(1),
            files,
            users,
            moments: VecDeque::new(),
            at: 0,
        };
        // The newest file may hold nothing yet.
        loop {
            history.load()?;
            if !history.moments.is_empty() {
                break;
            }
            if history.file == 0 {
                let file = &history.files[0];
                anyhow::bail!("{}: the recording is empty", file.display());
            }
            history.file -= 1;
        }
        history.at = history.moments.len() - 1;
        Ok(history)
    }

    /// Reads the file.
    fn load(&mut self) -> Result<()> {
        let mut loading = Loading::with(&self.users);
        let mut reader = Reader::open(&self.files[self.file])?;
        for entry in &mut reader {
            match entry {
                Ok(entry) => loading.take(entry),
                // What comes after a damaged line can be read.
                Err(ReadError::Line { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        loading.settle(None);
        self.moments = loading.moments;
        Ok(())
    }

    pub(super) fn moment(&self) -> &Moment {
        &self.moments[self.at]
    }

    /// Moves; returns false for a move beyond the newest sample, or back to now.
    ///
    /// Errors: another file cannot be read.
    pub(super) fn go(&mut self, scrub: Scrub) -> Result<bool> {
        match scrub {
            Scrub::Now => return Ok(false),
            Scrub::Earlier if self.at > 0 => self.at -= 1,
            Scrub::Earlier => {
                self.go_to_file_before()?;
            }
            Scrub::Later if self.at + 1 < self.moments.len() => self.at += 1,
            Scrub::Later => return self.go_to_file_after(),
            Scrub::EarlierAct => self.go_to_act_before()?,
            Scrub::LaterAct => return self.go_to_act_after(),
            Scrub::Oldest => {
                while self.go_to_file_before()? {}
                self.at = 0;
            }
            Scrub::Newest => {
                while self.go_to_file_after()? {}
                self.at = self.moments.len() - 1;
            }
        }
        Ok(true)
    }

    fn go_to_act_before(&mut self) -> Result<()> {
        loop {
            let found = (0..self.at).rev().find(|at| self.is_news(*at));
            if let Some(found) = found {
                self.at = found;
                return Ok(());
            }
            if !self.go_to_file_before()? {
                return Ok(());
            }
            if self.is_news(self.at) {
                return Ok(());
            }
        }
    }

    fn go_to_act_after(&mut self) -> Result<bool> {
        loop {
            let found = (self.at + 1..self.moments.len()).find(|at| self.is_news(*at));
            if let Some(found) = found {
                self.at = found;
                return Ok(true);
            }
            if !self.go_to_file_after()? {
                self.at = self.moments.len() - 1;
                return Ok(true);
            }
            if self.is_news(self.at) {
                return Ok(true);
            }
        }
    }

    fn is_news(&self, at: usize) -> bool {
        self.moments[at].judgement.is_news
    }

    /// To the last sample of the file before; returns false, at the oldest sample, if there is none.
    fn go_to_file_before(&mut self) -> Result<bool> {
        if self.file == 0 {
            self.at = 0;
            return Ok(false);
        }
        self.turn_to(self.file - 1)?;
        self.at = self.moments.len() - 1;
        Ok(true)
    }

    fn go_to_file_after(&mut self) -> Result<bool> {
        if self.file + 1 >= self.files.len() {
            return Ok(false);
        }
        self.turn_to(self.file + 1)?;
        self.at = 0;
        Ok(true)
    }

    /// Reads another file. One that cannot be read leaves all as it is.
    fn turn_to(&mut self, file: usize) -> Result<()> {
        let before = self.file;
        self.file = file;
        let moments = std::mem::take(&mut self.moments);
        let loaded = self.load();
        if self.moments.is_empty() {
            self.moments = moments;
            self.file = before;
            loaded?;
            let empty = &self.files[file];
            anyhow::bail!("{}: the recording is empty", empty.display());
        }
        loaded
    }

    /// The place in the file, as a row of so many characters: `02:31:54 ---!--●--- 02:40:10`, with a mark where the guard did
    /// or said something.
    pub(super) fn bar(&self, width: u16) -> String {
        let first = self.moments[0].wall;
        let last = self.moments[self.moments.len() - 1].wall;
        let from = clock::time_of_day(first);
        let to = clock::time_of_day(last);
        let around = from.chars().count() + to.chars().count() + 2;
        let length = usize::from(width).saturating_sub(around).max(1);
        let span = u128::from(last.0.saturating_sub(first.0)).max(1);
        let column = |wall: Wall| {
            let since = u128::from(wall.0.saturating_sub(first.0)).min(span);
            (since * (length as u128 - 1) / span) as usize
        };
        let mut marks = vec![' '; length];
        for moment in &self.moments {
            let mark = &mut marks[column(moment.wall)];
            if moment.judgement.is_news {
                *mark = '!';
            } else if *mark == ' ' {
                *mark = '-';
            }
        }
        marks[column(self.moment().wall)] = '●';
        let marks: String = marks.into_iter().collect();
        format!("{from} {marks} {to}")
    }
}

/// The guard's recordings, oldest first.
fn of_guard(state: &Path) -> Result<Vec<PathBuf>> {
    let directory = state.join("recordings");
    let name = directory.display();
    match list(&directory) {
        Ok(files) if !files.is_empty() => Ok(files),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            anyhow::bail!(
                "{name}: only root and the group warmset may read recordings: sudo warmset top"
            )
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unreadable(&directory, &error)),
        _ => anyhow::bail!("there is no recording in {name}; --recording FILE names another"),
    }
}

fn unreadable(directory: &Path, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!("{}: cannot read: {error}", directory.display())
}

/// A file that is being read.
struct Loading<'h> {
    users: &'h UserNames,
    config: Config,
    judge: Judge,
    lines: Lines,
    runs_out: RunsOut,
    pending: Option<(Box<Sample>, Box<Decision>)>,
    /// The last sample, before its decision.
    sample: Option<Box<Sample>>,
    moments: VecDeque<Moment>,
}

impl<'h> Loading<'h> {
    fn with(users: &'h UserNames) -> Self {
        Self {
            users,
            config: Config::default(),
            judge: Judge::new(),
            lines: Lines::default(),
            runs_out: RunsOut::default(),
            pending: None,
            sample: None,
            moments: VecDeque::new(),
        }
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Header(header) => self.begin(*header),
            Entry::Sample(sample) => {
                self.settle(Some(&sample));
                self.sample = Some(sample);
            }
            Entry::Decision(decision) => {
                if let Some(sample) = self.sample.take() {
                    self.pending = Some((sample, decision));
                }
            }
            Entry::Lost(_) => self.settle(None),
        }
    }

    fn begin(&mut self, header: Header) {
        self.judge.begin(&header);
        if let Some(config) = header.config {
            self.config = config;
        }
    }

    /// Keeps the sample whose decision has come; `next` is the one after it.
    fn settle(&mut self, next: Option<&Sample>) {
        let Some((sample, decision)) = self.pending.take() else {
            return;
        };
        let judgement = self.judge.judge(&decision, &sample, next);
        if self.moments.len() == MOST {
            self.moments.pop_front();
        }
        let moment = self.moment(&sample, &decision, judgement);
        self.moments.push_back(moment);
    }

    fn moment(&mut self, sample: &Sample, decision: &Decision, judgement: Judgement) -> Moment {
        let mut acts = Vec::new();
        if judgement.is_news {
            acts.extend(decision.steps.iter().map(ToString::to_string));
            acts.extend(decision.notices.iter().map(ToString::to_string));
        }
        let runs_out_for = self.runs_out.look(&decision.forecast, sample.at);
        let frame = Frame {
            state: state(&self.config, decision.phase),
            memory: sample.memory,
            pressure: sample.memory_pressure,
            forecast: decision.forecast.clone(),
            holdings: Vec::new(),
            lines: self
                .lines
                .read(&sample.scan, &self.config.guard, self.users),
            floors: sample.groups.kept(),
            limited: limited(&sample.groups),
            last: None,
            runs_out_for,
        };
        Moment {
            wall: sample.wall,
            frame,
            acts,
            judgement,
            has_steps: !decision.steps.is_empty(),
        }
    }
}

fn state(config: &Config, phase: Phase) -> String {
    format!("{} · {phase}", config.mode)
}
