//! The learner: which files refault soon after eviction, and which are in steady use.
//!
//! A file that is read over and over, each time by another process, has no owner with memory that
//! could be protected. It shows only in the page cache: its pages are evicted, and refault a moment later. The
//! pages of a stream are evicted and do not refault, or only after all the others.
//!
//! - Law: of each file, `refaults/s` (pages added that had been evicted at most [`MEMORY`] before), their
//!   mean refault time, and the share of its additions that were refaults; `uses/s` (pages read from
//!   memory again) and the mean time between two uses. All fade with a half-life of 10 s. Reads of one
//!   page less than [`ONE_USE`] apart are one use.
//! - Cost: O(1) for each event, 0.5 MiB for evicted pages and as much for used ones. One page in
//!   [`STRIDE`], by its place in the file, stands for all: spatial sampling as in SHARDS (Waldspurger et
//!   al., FAST 2015), so the kernel's filter can do it.
//! - Source: the refault time is the refault distance of `mm/workingset.c` in time. A page is worth its
//!   memory if it is wanted again soon enough (Gray and Putzolu's five-minute rule, 1987). Uses that
//!   count as one: the correlated references of LRU-K (O'Neil, O'Neil, Weikum, SIGMOD 1993).
//! - Limits: before Linux 6.12 the kernel has no event for reads from memory, so a page that stays shows
//!   nothing, and other signs must release what is held. A refault time is less than the time between
//!   two uses. A new file under an inode's old number looks like the old one.

use super::act::FileId;
use super::ghosts::{Ghosts, name};
use super::ranges::Ranges;
use crate::sketch::faded;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;
use units::{Micros, Percent};

/// One page in this many is looked at. More skips small files; fewer reads more events.
pub const STRIDE: u64 = 8;
/// A page that was evicted longer ago counts as new. Longer needs more places for evicted pages.
const MEMORY: Duration = Duration::from_secs(120);
/// Reads of a page that follow each other sooner are one use: one program reading in small pieces.
const ONE_USE: Duration = Duration::from_millis(100);
/// Half-life of all sums. Longer holds a file that is no longer read; shorter loses a slow loop.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// A sum that fades with this half-life, divided by this, is a rate: `half-life / ln 2`.
const WINDOW: f64 = 14.4;
/// Places of refaults and uses are remembered for one to two of these.
const ROTATION: Duration = Duration::from_secs(30);
/// Files known at once. The coldest makes way.
const MOST_FILES: usize = 512;
/// Four times `2^13` evicted pages are known, each of which stands for [`STRIDE`]: 1 GiB of evictions.
const GHOST_BITS: u32 = 13;

/// Something that happened to pages of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The file.
    pub file: FileId,
    /// Index of its first page in the file.
    pub index: u64,
    /// How many pages: the size of the folio.
    pub pages: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What can happen to a page of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It was added to the page cache.
    Added,
    /// It was evicted from the page cache.
    Evicted,
    /// It was read from memory.
    Used,
}

/// A file with pages that refault, or are in steady use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hot {
    /// The file.
    pub file: FileId,
    /// Refaults per second.
    pub refaults: u64,
    /// Mean time from eviction to refault; unknown without refaults.
    pub refault_time: Option<Micros>,
    /// Share of the added pages that had been evicted before.
    pub again: Percent,
    /// The parts of the file that refaulted.
    pub ranges: Ranges,
    /// Pages used again per second.
    pub uses: u64,
    /// Mean time between two uses; unknown without uses.
    pub every: Option<Micros>,
    /// The parts that were used again, in segments as large as those of `ranges`.
    pub used: Ranges,
}

/// What is known of all files.
#[derive(Debug, Clone)]
pub struct Learner {
    evicted: Ghosts,
    used: Ghosts,
    files: Vec<Heat>,
    places: HashMap<FileId, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Heat {
    file: FileId,
    at: Duration,
    added: f64,
    refaulted: Repeats,
    used: Repeats,
    rotated: Duration,
}

/// Repeated events: how many pages, the sum of their times, and where, in this rotation and the last.
#[derive(Debug, Default, Clone, Copy)]
struct Repeats {
    pages: f64,
    seconds: f64,
    ranges: [Ranges; 2],
}

impl Default for Learner {
    fn default() -> Self {
        Self {
            evicted: Ghosts::new(GHOST_BITS),
            used: Ghosts::new(GHOST_BITS),
            files: Vec::with_capacity(MOST_FILES),
            places: HashMap::new(),
        }
    }
}

impl Learner {
    /// Takes in one event at `at`, a time that never goes back. Events of pages that the sampling
    /// leaves out change nothing.
    pub fn take(&mut self, at: Duration, event: &Event) {
        if event.index % STRIDE != 0 {
            return;
        }
        let page = name(event.file.device, event.file.inode, event.index);
        match event.kind {
            EventKind::Evicted => self.evicted.put(page, at),
            EventKind::Added => self.added(at, event, page),
            EventKind::Used => self.used(at, event, page),
        }
    }

    fn added(&mut self, at: Duration, event: &Event, page: u64) {
        let weight = weight(event);
        let evicted = self.evicted.take(page);
        if let Some(refault_time) = since_lately(evicted, at) {
            let heat = self.heat(event.file, at);
            heat.added += weight as f64;
            heat.refaulted.add(event.index, weight, refault_time);
        } else if let Some(place) = self.places.get(&event.file) {
            let heat = &mut self.files[*place];
            heat.fade(at);
            heat.added += weight as f64;
        }
    }

    fn used(&mut self, at: Duration, event: &Event, page: u64) {
        let last = self.used.take(page);
        let since = since_lately(last, at);
        let is_same_use = since.is_some_and(|since| since < ONE_USE);
        // A use begins with its first read, so later reads of it do not move its time.
        let began = last.filter(|_| is_same_use).unwrap_or(at);
        self.used.put(page, began);
        if let Some(since) = since.filter(|_| !is_same_use) {
            let heat = self.heat(event.file, at);
            heat.used.add(event.index, weight(event), since);
        }
    }

    /// The `most` hottest files: by refaults, then by uses, the hottest first.
    pub fn hottest(&self, at: Duration, most: usize) -> Vec<Hot> {
        let mut hot: Vec<Hot> = self
            .files
            .iter()
            .filter_map(|heat| heat.report(at))
            .collect();
        hot.sort_by_key(|hot| (Reverse((hot.refaults, hot.uses)), hot.file));
        hot.truncate(most);
        hot
    }

    /// Mean refault time and mean time between uses of a file, however long ago that was.
    pub fn means(&self, file: FileId) -> (Option<Micros>, Option<Micros>) {
        let heat = self.places.get(&file).map(|place| &self.files[*place]);
        (
            heat.and_then(|heat| heat.refaulted.mean()),
            heat.and_then(|heat| heat.used.mean()),
        )
    }

    /// Forgets a file, because its inode names another one now.
    pub fn forget(&mut self, file: FileId) {
        if let Some(place) = self.places.remove(&file) {
            self.files.swap_remove(place);
            if let Some(moved) = self.files.get(place) {
                self.places.insert(moved.file, place);
            }
        }
    }

    /// The file's entry, faded to `at`. A new one takes the place of the coldest if all are taken.
    fn heat(&mut self, file: FileId, at: Duration) -> &mut Heat {
        if let Some(place) = self.places.get(&file) {
            let heat = &mut self.files[*place];
            heat.fade(at);
            return heat;
        }
        if self.files.len() == MOST_FILES {
            let coldest = self
                .files
                .iter()
                .min_by(|a, b| a.at(at).total_cmp(&b.at(at)));
            if let Some(coldest) = coldest.map(|heat| heat.file) {
                self.forget(coldest);
            }
        }
        let place = self.files.len();
        self.places.insert(file, place);
        self.files.push(Heat::new(file, at));
        &mut self.files[place]
    }
}

impl Heat {
    fn new(file: FileId, at: Duration) -> Self {
        Self {
            file,
            at,
            added: 0.0,
            refaulted: Repeats::default(),
            used: Repeats::default(),
            rotated: at,
        }
    }

    /// All repeats, faded to `at`.
    fn at(&self, at: Duration) -> f64 {
        (self.refaulted.pages + self.used.pages) * faded(at.saturating_sub(self.at), HALF_LIFE)
    }

    fn fade(&mut self, at: Duration) {
        let kept = faded(at.saturating_sub(self.at), HALF_LIFE);
        let rotates = at.saturating_sub(self.rotated) >= ROTATION;
        self.added *= kept;
        for repeats in [&mut self.refaulted, &mut self.used] {
            repeats.pages *= kept;
            repeats.seconds *= kept;
            if rotates {
                repeats.ranges = [Ranges::default(), repeats.ranges[0]];
            }
        }
        self.at = at;
        if rotates {
            self.rotated = at;
        }
    }

    /// The public view; `None` once less than a page per second refaults or is used.
    fn report(&self, at: Duration) -> Option<Hot> {
        let kept = faded(at.saturating_sub(self.at), HALF_LIFE);
        let refaults = self.refaulted.rate(kept);
        let uses = self.used.rate(kept);
        if refaults == 0 && uses == 0 {
            return None;
        }
        let ranges = self.refaulted.ranges();
        let used = self.used.ranges();
        Some(Hot {
            file: self.file,
            refaults,
            refault_time: self.refaulted.mean(),
            again: Percent::hundredths((self.refaulted.pages / self.added * 10_000.0) as u64),
            ranges: ranges.measured_as(used),
            uses,
            every: self.used.mean(),
            used: used.measured_as(ranges),
        })
    }
}

impl Repeats {
    fn add(&mut self, index: u64, pages: u64, after: Duration) {
        self.pages += pages as f64;
        self.seconds += pages as f64 * after.as_secs_f64();
        self.ranges[0].put(index, pages);
    }

    /// Pages per second, of which the share `kept` has not faded yet.
    fn rate(&self, kept: f64) -> u64 {
        (self.pages * kept / WINDOW) as u64
    }

    /// The mean time. Both sums fade alike, so it stays.
    fn mean(&self) -> Option<Micros> {
        let mean = self.seconds / self.pages;
        if mean.is_finite() {
            Some(Micros::new((mean * 1e6) as u64))
        } else {
            None
        }
    }

    fn ranges(&self) -> Ranges {
        self.ranges[0].with(self.ranges[1])
    }
}

/// Pages that an event stands for: a large folio for itself, a small one for the pages left out.
fn weight(event: &Event) -> u64 {
    event.pages.max(STRIDE)
}

/// Time since `then`, if that is not too long ago.
fn since_lately(then: Option<Duration>, at: Duration) -> Option<Duration> {
    let since = at.saturating_sub(then?);
    if since <= MEMORY { Some(since) } else { None }
}

#[cfg(test)]
mod tests;
