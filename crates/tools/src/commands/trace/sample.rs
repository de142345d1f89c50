//! `--engine sample`: the pages of a running process, by their accessed bits.

use super::arguments::Args;
use super::engine::Engine;
use super::live::{
    LiveRecording, NAP, PAGE, Regions, Summary, Until, about, program, region_name, without_overlap,
};
use super::watch::{PART, explained, interval, no_process};
use anyhow::Result;
use inspect::tracee::{Pages, Touched};
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use traces::{BATCH, Error, Source};
use workingset::{About, Batch};

/// CPU time to pack one reference. The writer packs a million at once, so the cost of the last ones is not measured yet.
/// Larger makes intervals longer than they need to be; smaller lets observing take more than its share.
const PACKING: Duration = Duration::from_nanos(400);

struct Sample {
    pages: Pages,
    until: Until,
    about: About,
    every: Duration,
    /// Uses that were seen and not yet passed on: first page, number of pages, time in ns.
    queue: VecDeque<(u64, u64, u64)>,
    regions: Regions,
    looks: u64,
    /// When the last look was, and the longest time between two, in ns.
    last_look: u64,
    longest: u64,
    references: u64,
    /// CPU time of this program when the recording began.
    cpu_at_start: Duration,
    /// CPU time of this program when the last look began.
    cpu_at_look: Duration,
    /// Why the recording has ended, if it has.
    end: Option<String>,
}

pub(super) fn start(args: &Args, root: &Path, until: Until) -> Result<Box<dyn LiveRecording>> {
    let pid = args.process(Engine::Sample)?;
    let mut pages = Pages::of(root, pid).map_err(|error| no_process(error, pid))?;
    let mut about = about(Engine::Sample, program(root, pid));
    let before = cpu_time();
    // The first look is not recorded: it shows what a look costs.
    let has_memory = pages.begin().map_err(explained)? && pages.end().map_err(explained)?.is_some();
    anyhow::ensure!(
        has_memory,
        "{pid}: the process has ended, or is a kernel thread, which has no memory of its own"
    );
    let which = if pages.are_exact() {
        "exact"
    } else {
        "how many of a mapping; its first stand for them"
    };
    about
        .parameters
        .push(("pages".to_owned(), which.to_owned()));
    let sample = Sample {
        pages,
        until,
        about,
        every: interval(args),
        queue: VecDeque::new(),
        regions: Regions::new(),
        looks: 0,
        last_look: 0,
        longest: 0,
        references: 0,
        cpu_at_start: before,
        cpu_at_look: before,
        end: None,
    };
    Ok(Box::new(sample))
}

impl Sample {
    /// One look: clears the accessed bits, waits, and reads them.
    fn look(&mut self) -> Result<(), Error> {
        let broken = |error| Error::Format(format!("{:#}", explained(error)));
        let began = Instant::now();
        let due = self.due();
        if !self.pages.begin().map_err(broken)? {
            self.end = Some("with the process".to_owned());
            return Ok(());
        }
        while self.until.reached(self.references).is_none()
            && (began.elapsed() < self.every || self.until.elapsed() < due)
        {
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

    /// When this look may end, from the start of the recording, so that observing stays within its share of one CPU. This
    /// look is taken to cost as much as the last.
    fn due(&mut self) -> Duration {
        let now = cpu_time();
        let all = now.saturating_sub(self.cpu_at_start);
        let last = now.saturating_sub(self.cpu_at_look);
        self.cpu_at_look = now;
        let references = self.references + self.references / self.looks.max(1);
        let packing = PACKING.saturating_mul(u32::try_from(references).unwrap_or(u32::MAX));
        (all + last + packing) * PART
    }

    fn note(&mut self, touched: Vec<Touched>) {
        let at = u64::try_from(self.until.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.looks += 1;
        self.longest = self.longest.max(at - self.last_look);
        self.last_look = at;
        for Touched { mapping, pages } in touched {
            let seen = self
                .regions
                .entry(mapping.from / PAGE)
                .or_insert((0, region_name(mapping.name)));
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
            *first += now;
            *count -= now;
            if *count == 0 {
                self.queue.pop_front();
            }
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut about = self.about.clone();
        about.resolution = Some(self.longest);
        let end = self.end.clone().unwrap_or_default();
        about
            .parameters
            .push(("looks".to_owned(), self.looks.to_string()));
        about.parameters.push(("ended".to_owned(), end));
        about.regions = without_overlap(&self.regions);
        about
    }
}

impl LiveRecording for Sample {
    fn source(&mut self) -> &mut dyn Source {
        self
    }

    fn summary(&mut self) -> Summary {
        let lasted = self.until.elapsed();
        let cpu = cpu_time().saturating_sub(self.cpu_at_start);
        let interval = lasted.as_secs_f64() / self.looks.max(1) as f64;
        let which = if self.pages.are_exact() {
            "single pages"
        } else {
            "mappings: how many pages of each"
        };
        Summary {
            resolution: format!("{interval:.2} s on average, {which}"),
            looking: Some(cpu.as_secs_f64() / lasted.as_secs_f64()),
            lasted,
            end: self.end.clone().unwrap_or_default(),
        }
    }
}

/// CPU time of all threads of this program.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
