//! `--engine sample`: the pages of a process that runs, by their accessed bits.

use super::living::{
    Living, NAP, PAGE, Regions, Said, Until, about, apart, process, program, region,
};
use super::watch::{PART, every, explained, nobody};
use super::{Args, Engine};
use anyhow::Result;
use inspect::tracee::{Pages, Touched};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use traces::{BATCH, Error, Source};
use workingset::{About, Batch};

/// What packing a reference takes: the writer gathers a million before it packs them, so it is not seen at once.
const PACKING: Duration = Duration::from_nanos(400);

struct Sample {
    pages: Pages,
    until: Until,
    about: About,
    every: Duration,
    /// What was seen and not yet told: first page, how many, when.
    queue: VecDeque<(u64, u64, u64)>,
    regions: Regions,
    looks: u64,
    references: u64,
    /// Processor time of this program when the recording and when the last round began.
    cpu: (Duration, Duration),
    end: Option<String>,
}

pub(super) fn start(args: &Args, root: &Path, until: Until) -> Result<Box<dyn Living>> {
    let pid = process(args, Engine::Sample)?;
    let mut pages = Pages::of(root, pid).map_err(|error| nobody(error, pid))?;
    let mut about = about(Engine::Sample, program(root, pid));
    let before = cpu_time();
    // What a look costs is known from the first, which is not recorded.
    let any = pages.begin().map_err(explained)? && pages.end().map_err(explained)?.is_some();
    anyhow::ensure!(
        any,
        "{pid}: it has ended, or has no memory of its own, as the kernel's threads have none"
    );
    let which = if pages.are_exact() {
        "exact"
    } else {
        "how many of a mapping; its first stand for them"
    };
    about
        .parameters
        .push(("pages".to_owned(), which.to_owned()));
    let (queue, regions) = (VecDeque::new(), Regions::new());
    let sample = Sample {
        pages,
        until,
        about,
        every: every(args),
        queue,
        regions,
        looks: 0,
        references: 0,
        cpu: (before, before),
        end: None,
    };
    Ok(Box::new(sample))
}

impl Sample {
    /// One window: forgets, waits, looks.
    fn look(&mut self) -> Result<(), Error> {
        let broken = |error| Error::Format(format!("{:#}", explained(error)));
        // This look will take as much as the last.
        let now = cpu_time();
        let (all, round) = (
            now.saturating_sub(self.cpu.0),
            now.saturating_sub(self.cpu.1),
        );
        self.cpu.1 = now;
        let references = self.references + self.references / self.looks.max(1);
        let packing = PACKING.saturating_mul(u32::try_from(references).unwrap_or(u32::MAX));
        let (began, due) = (Instant::now(), (all + round + packing) * PART);
        if !self.pages.begin().map_err(broken)? {
            self.end = Some("with the process".to_owned());
            return Ok(());
        }
        let is_early = |until: &Until| began.elapsed() < self.every || until.elapsed() < due;
        while self.until.reached(self.references).is_none() && is_early(&self.until) {
            std::thread::sleep(NAP.min(self.every));
        }
        let Some(touched) = self.pages.end().map_err(broken)? else {
            self.end = Some("with the process".to_owned());
            return Ok(());
        };
        self.note(touched);
        self.end = self.until.reached(self.references);
        Ok(())
    }

    fn note(&mut self, touched: Vec<Touched>) {
        let at = u64::try_from(self.until.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.looks += 1;
        for Touched { mapping, pages } in touched {
            let seen = self
                .regions
                .entry(mapping.from / PAGE)
                .or_insert((0, region(mapping.name)));
            seen.0 = seen.0.max(mapping.to / PAGE - 1);
            for (first, count) in pages {
                self.references += count;
                self.queue.push_back((first, count, at));
            }
        }
    }
}

impl Source for Sample {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while self.queue.is_empty() && self.end.is_none() {
            self.look()?;
        }
        while let Some((first, count, at)) = self.queue.front_mut().filter(|_| batch.len() < BATCH)
        {
            let now = (*count).min((BATCH - batch.len()) as u64);
            batch.page.extend(*first..*first + now);
            batch.time.extend(std::iter::repeat_n(*at, now as usize));
            (*first, *count) = (*first + now, *count - now);
            if *count == 0 {
                self.queue.pop_front();
            }
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut about = self.about.clone();
        let said = [
            ("looks", self.looks.to_string()),
            ("ended", self.end.clone().unwrap_or_default()),
        ];
        about
            .parameters
            .extend(said.map(|(name, value)| (name.to_owned(), value)));
        about.regions = apart(&self.regions);
        about
    }
}

impl Living for Sample {
    fn source(&mut self) -> &mut dyn Source {
        self
    }

    fn said(&mut self) -> Said {
        let lasted = self.until.elapsed();
        let which = if self.pages.are_exact() {
            "single pages"
        } else {
            "mappings: how many pages of each"
        };
        Said {
            resolution: format!(
                "{:.2} s on average, {which}",
                lasted.as_secs_f64() / self.looks.max(1) as f64
            ),
            looking: Some(
                cpu_time().saturating_sub(self.cpu.0).as_secs_f64() / lasted.as_secs_f64(),
            ),
            lasted,
            end: self.end.clone().unwrap_or_default(),
        }
    }
}

/// What this program has had of the processors, all of its threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
