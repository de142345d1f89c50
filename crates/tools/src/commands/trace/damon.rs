//! `--engine damon` and `damon-physical`: the kernel's own monitor, through the reader of its records.

use super::arguments::Args;
use super::engine::Engine;
use super::live::{
    LiveRecording, NAP, PAGE, Regions, Summary, Until, about, program, region_name, without_overlap,
};
use crate::ui::hinted::Hinted;
use anyhow::Result;
use inspect::tracee::{Damon, Space, mappings};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use traces::{Error, Format, Reading, Source};
use workingset::{About, Batch};

/// DAMON's aggregation interval by default: 100 ms, as in its own documentation (mm/damon/design).
const EVERY: Duration = Duration::from_millis(100);
/// The shortest aggregation interval: 5 ms is DAMON's default sampling interval.
const SHORTEST: Duration = Duration::from_millis(5);

/// The kdamond and its state, shared by the reader of its records and the recording.
struct Session {
    damon: Damon,
    until: Until,
    /// CPU time of the kdamond so far.
    cost: Duration,
    lasted: Duration,
    /// What it ends with if we do not stop it, to follow "ended".
    without_us: &'static str,
    /// Why it has ended, if it has.
    end: Option<String>,
}

impl Session {
    /// Stops the kdamond; the first reason stands.
    fn stop(&mut self, why: String) {
        if self.end.is_none() {
            self.cost = self.damon.cost().unwrap_or(self.cost);
            self.lasted = self.until.elapsed();
            self.damon.stop();
            self.end = Some(why);
        }
    }
}

/// DAMON's lines as they come, until it is time to stop.
struct Lines(Arc<Mutex<Session>>);

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut session = locked(&self.0);
        loop {
            if let Some(why) = session.until.reached(0) {
                session.stop(why);
            }
            // What it wrote before it stopped is still read.
            if let Some(size) = session.damon.read(buffer)? {
                return Ok(size);
            }
            if session.end.is_some() {
                return Ok(0);
            }
            session.cost = session.damon.cost().unwrap_or(session.cost);
            if session.damon.is_on() {
                std::thread::sleep(NAP);
            } else {
                let why = session.without_us.to_owned();
                session.stop(why);
            }
        }
    }
}

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

struct DamonRecording {
    source: Box<dyn Source>,
    session: Arc<Mutex<Session>>,
    about: About,
    mapped: Mapped,
    /// Aggregation interval.
    every: Duration,
    references: u64,
    /// Stop after this many.
    most: Option<u64>,
}

pub(super) fn start(
    args: &Args,
    engine: Engine,
    root: &Path,
    until: Until,
) -> Result<Box<dyn LiveRecording>> {
    let physical = engine == Engine::DamonPhysical;
    let pid = if physical {
        None
    } else {
        Some(args.process(engine)?)
    };
    let space = pid.as_ref().map_or(Space::Physical, |pid| {
        Space::Virtual(std::slice::from_ref(pid))
    });
    let every = args.every.map_or(EVERY, units::Span::get).max(SHORTEST);
    let damon = Damon::start(root, space, every)
        .map_err(|no| Hinted::new(&no, no.remedy("--engine sample needs no DAMON")))?;
    let name = pid.map_or_else(
        || "all memory, by physical address".to_owned(),
        |pid| program(root, pid),
    );
    let mapped = Mapped {
        root: root.to_owned(),
        pid,
        first: pid.map(|pid| read_regions(root, pid)).unwrap_or_default(),
    };
    let without_us = if physical {
        "with the kdamond, which another program ended"
    } else {
        "with the process"
    };
    let session = Session {
        damon,
        until,
        cost: Duration::ZERO,
        lasted: Duration::ZERO,
        without_us,
        end: None,
    };
    let session = Arc::new(Mutex::new(session));
    let lines = Box::new(Lines(Arc::clone(&session)));
    let format = Some(Format::named("damon-text")?);
    let source = traces::open(lines, engine.name(), format, Reading::default())?;
    let about = about(engine, name);
    Ok(Box::new(DamonRecording {
        source,
        session,
        about,
        mapped,
        every,
        references: 0,
        most: args.limits().references,
    }))
}

/// The process's mappings at the beginning; those at the end are added if it still runs.
struct Mapped {
    root: PathBuf,
    pid: Option<u32>,
    first: Regions,
}

impl Mapped {
    fn all(&self) -> Regions {
        let mut all = self
            .pid
            .map(|pid| read_regions(&self.root, pid))
            .unwrap_or_default();
        for (first, region) in &self.first {
            all.entry(*first).or_insert_with(|| region.clone());
        }
        all
    }
}

fn read_regions(root: &Path, pid: u32) -> Regions {
    let mut regions = Regions::new();
    for mapping in mappings(root, pid).unwrap_or_default() {
        let last = mapping.to / PAGE - 1;
        regions.insert(mapping.from / PAGE, (last, region_name(mapping.name)));
    }
    regions
}

impl Source for DamonRecording {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        if self.most.is_some_and(|most| self.references >= most) {
            batch.clear();
            locked(&self.session).stop(format!("after {} references, as asked", self.references));
            return Ok(false);
        }
        let any = self.source.fill(batch)?;
        self.references += batch.len() as u64;
        Ok(any)
    }

    fn about(&self) -> About {
        let regions = without_overlap(&self.mapped.all());
        let mut about = About {
            tasks: self.source.about().tasks,
            resolution: u64::try_from(self.every.as_nanos()).ok(),
            regions,
            ..self.about.clone()
        };
        let end = locked(&self.session).end.clone();
        about
            .parameters
            .push(("ended".to_owned(), end.unwrap_or_default()));
        about
    }
}

impl LiveRecording for DamonRecording {
    fn source(&mut self) -> &mut dyn Source {
        self
    }

    fn summary(&mut self) -> Summary {
        let session = locked(&self.session);
        let lasted = session.lasted;
        Summary {
            resolution: format!("{:.3} s, regions", self.every.as_secs_f64()),
            looking: Some(session.cost.as_secs_f64() / lasted.as_secs_f64()),
            lasted,
            end: session.end.clone().unwrap_or_default(),
        }
    }
}
