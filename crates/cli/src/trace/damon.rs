//! `--engine damon` and `damon-physical`: what the kernel's own monitor tells, through the reader of its records.

use super::living::{
    Living, NAP, PAGE, Regions, Said, Until, about, apart, process, program, region,
};
use super::{Args, Engine};
use crate::hinted::Hinted;
use anyhow::Result;
use inspect::tracee::{Damon, NoDamon, Space, mappings};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use traces::{Error, Format, Reading, Source};
use workingset::{About, Batch};

/// What DAMON adds up before it tells, unless asked otherwise.
const EVERY: Duration = Duration::from_millis(100);

/// The kdamond, and what is known of it: for the reader and for who ends the recording.
struct Session {
    damon: Damon,
    until: Until,
    cost: Duration,
    lasted: Duration,
    /// What it ends with if nobody stops it.
    gone: &'static str,
    end: Option<String>,
}

impl Session {
    /// Stops looking, once.
    fn stop(&mut self, why: String) {
        if self.end.is_none() {
            self.cost = self.damon.cost().unwrap_or(self.cost);
            self.lasted = self.until.elapsed();
            self.damon.stop();
            self.end = Some(why);
        }
    }
}

/// The lines as they come, until it is time to stop.
struct Lines(Arc<Mutex<Session>>);

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut session = held(&self.0);
        loop {
            if let Some(why) = session.until.reached(0) {
                session.stop(why);
            }
            // What it said before it stopped is still read.
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
                let gone = session.gone.to_owned();
                session.stop(gone);
            }
        }
    }
}

fn held(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Recording {
    source: Box<dyn Source>,
    session: Arc<Mutex<Session>>,
    about: About,
    mapped: Mapped,
    every: Duration,
    references: u64,
    most: Option<u64>,
}

pub(super) fn start(
    args: &Args,
    engine: Engine,
    root: &Path,
    until: Until,
) -> Result<Box<dyn Living>> {
    let physical = engine == Engine::DamonPhysical;
    let pid = if physical {
        None
    } else {
        Some(process(args, engine)?)
    };
    let space = pid.as_ref().map_or(Space::Physical, |pid| {
        Space::Virtual(std::slice::from_ref(pid))
    });
    let every = args
        .every
        .map_or(EVERY, units::Span::get)
        .max(Duration::from_millis(5));
    let damon = Damon::start(root, space, every)
        .map_err(|no| explained(no, "--engine sample needs no DAMON"))?;
    let name = pid.map_or_else(
        || "all memory, by physical address".to_owned(),
        |pid| program(root, pid),
    );
    let mapped = Mapped {
        root: root.to_owned(),
        pid,
        first: pid.map(|pid| known(root, pid)).unwrap_or_default(),
    };
    let gone = if physical {
        "with the kdamond, which someone else ended"
    } else {
        "with the process"
    };
    let session = Session {
        damon,
        until,
        cost: Duration::ZERO,
        lasted: Duration::ZERO,
        gone,
        end: None,
    };
    let session = Arc::new(Mutex::new(session));
    let lines = Box::new(Lines(Arc::clone(&session)));
    let format = Some(Format::named("damon-text")?);
    let source = traces::open(lines, engine.name(), format, Reading::default())?;
    let about = about(engine, name);
    Ok(Box::new(Recording {
        source,
        session,
        about,
        mapped,
        every,
        references: 0,
        most: args.references,
    }))
}

/// Mappings of the process at the beginning; those at the end are added while it is there.
struct Mapped {
    root: PathBuf,
    pid: Option<u32>,
    first: Regions,
}

impl Mapped {
    fn all(&self) -> Regions {
        let mut all = self
            .pid
            .map(|pid| known(&self.root, pid))
            .unwrap_or_default();
        for (first, region) in &self.first {
            all.entry(*first).or_insert_with(|| region.clone());
        }
        all
    }
}

fn known(root: &Path, pid: u32) -> Regions {
    let mapped = mappings(root, pid).unwrap_or_default();
    mapped
        .into_iter()
        .map(|it| (it.from / PAGE, (it.to / PAGE - 1, region(it.name))))
        .collect()
}

/// What is missing, and what to do about it, or instead.
pub(crate) fn explained(no: NoDamon, instead: &str) -> anyhow::Error {
    let hint = match &no {
        NoDamon::Absent | NoDamon::Without(..) => {
            format!("a kernel with that option, such as Debian 13's; {instead}")
        }
        NoDamon::InUse => format!("who it is: ls /sys/kernel/mm/damon/admin/kdamonds; {instead}"),
        NoDamon::Untold(place) => format!("mount -t tracefs nodev {}", place.display()),
        NoDamon::Nobody(_) => "its number, as ps prints it".to_owned(),
        NoDamon::Refused(_, error) if error.kind() == ErrorKind::PermissionDenied => {
            "only root may ask it".to_owned()
        }
        NoDamon::Refused(..) => format!("nothing is left of it; {instead}"),
    };
    Hinted::new(no, hint).into()
}

impl Source for Recording {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        if self.most.is_some_and(|most| self.references >= most) {
            batch.clear();
            held(&self.session).stop(format!("after {} references, as asked", self.references));
            return Ok(false);
        }
        let any = self.source.fill(batch)?;
        self.references += batch.len() as u64;
        Ok(any)
    }

    fn about(&self) -> About {
        let regions = apart(&self.mapped.all());
        let mut about = About {
            tasks: self.source.about().tasks,
            regions,
            ..self.about.clone()
        };
        let end = held(&self.session).end.clone();
        about
            .parameters
            .push(("ended".to_owned(), end.unwrap_or_default()));
        about
    }
}

impl Living for Recording {
    fn source(&mut self) -> &mut dyn Source {
        self
    }

    fn said(&mut self) -> Said {
        let session = held(&self.session);
        let lasted = session.lasted;
        Said {
            resolution: format!("{:.3} s, regions", self.every.as_secs_f64()),
            looking: Some(session.cost.as_secs_f64() / lasted.as_secs_f64()),
            lasted,
            end: session.end.clone().unwrap_or_default(),
        }
    }
}
