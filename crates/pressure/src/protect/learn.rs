//! The learner: which files' pages are evicted and soon wanted again, and which are read again and again.
//!
//! A file that is read over and over, each time by another process, has no owner whose memory could be
//! protected. It shows only in the page cache: its pages leave, and come back a moment later. A stream's
//! pages leave and do not come back, or come back after all the others.
//!
//! - Law: of each file, `returns/s` (pages added that had been evicted at most [`MEMORY`] before), their mean
//!   time away, and the share of its additions that were returns; `uses/s` (pages read again from memory) and the mean time
//!   between two; all fading with a half-life of 10 s. Reads of one page less than [`ONE_USE`] apart are one.
//! - Cost: O(1) for each event, 0.5 MiB for what left and as much for what is used. One page in [`STRIDE`] by its place in the
//!   file stands for all: spatial sampling as in SHARDS (Waldspurger et al., FAST 2015), so the kernel's filter can do it.
//! - Source: the time away is the refault distance of `mm/workingset.c` in time; a page is worth its memory if
//!   it comes back soon enough (Gray and Putzolu's five-minute rule, 1987). Uses that are one: the correlated references
//!   of LRU-K (O'Neil, O'Neil, Weikum, SIGMOD 1993).
//! - Limits: where the kernel does not tell reads from memory (before 6.12), a page that stays shows nothing, so what is held
//!   must be let go by other signs. Time away is less than the time between two uses. A file that was made anew under an inode's old number looks like the old.

use super::act::FileId;
use super::ghosts::{Ghosts, name};
use super::ranges::Ranges;
use crate::sketch::faded;
use std::collections::HashMap;
use std::time::Duration;
use units::{Micros, Percent};

/// One page in so many is looked at.
pub const STRIDE: u64 = 8;
/// A page that was away for longer is a new one.
const MEMORY: Duration = Duration::from_secs(120);
/// Reads of a page that follow each other sooner are one use of it.
const ONE_USE: Duration = Duration::from_millis(100);
const HALF_LIFE: Duration = Duration::from_secs(10);
/// A sum that fades so, divided by this, is a rate: `half-life / ln 2`.
const WINDOW: f64 = 14.4;
/// Returns and uses are remembered by place for one to two of these.
const TURN: Duration = Duration::from_secs(30);
/// Files known at once.
const MOST_FILES: usize = 512;
/// Four times this many evicted pages are known, each of which stands for `STRIDE`: 1 GiB of evictions.
const GHOST_BITS: u32 = 13;

/// Something that happened to pages of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The file.
    pub file: FileId,
    /// Its first page, counted from the file's begin.
    pub index: u64,
    /// How many pages, in one piece of memory.
    pub pages: u64,
    /// What.
    pub kind: EventKind,
}

/// What can happen to a page of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It came into the page cache.
    Added,
    /// It left the page cache.
    Evicted,
    /// It was read, from where in memory it was.
    Used,
}

/// A file whose pages come back, or are used again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hot {
    /// The file.
    pub file: FileId,
    /// Pages that came back, per second.
    pub returns: u64,
    /// How long they were away, the mean; unknown if none came back.
    pub away: Option<Micros>,
    /// Share of the pages that came in that had been there before.
    pub again: Percent,
    /// Where in the file.
    pub ranges: Ranges,
    /// Pages that were used again, per second.
    pub uses: u64,
    /// How long after, the mean; unknown if none were.
    pub every: Option<Micros>,
    /// Where in the file, in segments as large as those of `ranges`.
    pub used: Ranges,
}

/// What is known of all files.
#[derive(Debug, Clone)]
pub struct Learner {
    gone: Ghosts,
    used: Ghosts,
    files: Vec<Heat>,
    places: HashMap<FileId, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Heat {
    file: FileId,
    at: Duration,
    added: f64,
    back: Repeats,
    used: Repeats,
    turned: Duration,
}

/// What happened to pages once more: how many, after how long in all, and where, in this turn and the one before.
#[derive(Debug, Default, Clone, Copy)]
struct Repeats {
    pages: f64,
    seconds: f64,
    ranges: [Ranges; 2],
}

impl Default for Learner {
    fn default() -> Self {
        let [gone, used] = [(), ()].map(|()| Ghosts::new(GHOST_BITS));
        Self {
            gone,
            used,
            files: Vec::with_capacity(MOST_FILES),
            places: HashMap::new(),
        }
    }
}

impl Learner {
    /// Takes in one event at `at`, a time that does not go back. Events of pages that the sampling leaves out change
    /// nothing.
    pub fn take(&mut self, at: Duration, event: &Event) {
        let Event {
            file,
            index,
            pages,
            kind,
        } = *event;
        if index % STRIDE != 0 {
            return;
        }
        let page = name(file.device, file.inode, index);
        // A larger piece stands for itself, a smaller one for the pages that are not looked at.
        let weight = pages.max(STRIDE);
        let lately = |then: Option<Duration>| {
            then.map(|then| at.saturating_sub(then))
                .filter(|since| *since <= MEMORY)
        };
        match kind {
            EventKind::Evicted => self.gone.put(page, at),
            EventKind::Added => match lately(self.gone.take(page)) {
                Some(away) => {
                    let heat = self.heat(file, at);
                    heat.added += weight as f64;
                    heat.back.add(index, weight, away);
                }
                None => {
                    if let Some(place) = self.places.get(&file) {
                        self.files[*place].fade(at);
                        self.files[*place].added += weight as f64;
                    }
                }
            },
            EventKind::Used => {
                let last = self.used.take(page);
                let since = lately(last);
                let is_one = since.is_some_and(|since| since < ONE_USE);
                self.used.put(page, last.filter(|_| is_one).unwrap_or(at));
                if let Some(since) = since.filter(|_| !is_one) {
                    self.heat(file, at).used.add(index, weight, since);
                }
            }
        }
    }

    /// The `most` files with the most returns, the first the most, and after them those with the most uses.
    pub fn hottest(&self, at: Duration, most: usize) -> Vec<Hot> {
        let mut hot: Vec<Hot> = self.files.iter().filter_map(|heat| heat.told(at)).collect();
        hot.sort_by_key(|hot| (std::cmp::Reverse((hot.returns, hot.uses)), hot.file));
        hot.truncate(most);
        hot
    }

    /// How long pages of a file were away, and how long after they were used again, the means, however long ago that was.
    pub fn means(&self, file: FileId) -> (Option<Micros>, Option<Micros>) {
        let heat = self.places.get(&file).map(|place| &self.files[*place]);
        (
            heat.and_then(|heat| heat.back.after()),
            heat.and_then(|heat| heat.used.after()),
        )
    }

    /// Forgets a file: it is another now.
    pub fn forget(&mut self, file: FileId) {
        if let Some(place) = self.places.remove(&file) {
            self.files.swap_remove(place);
            if let Some(moved) = self.files.get(place) {
                self.places.insert(moved.file, place);
            }
        }
    }

    /// The file's entry, of now; a new one takes the place of the coldest when there is no room.
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
            back: Repeats::default(),
            used: Repeats::default(),
            turned: at,
        }
    }

    /// All of it, less what has faded since.
    fn at(&self, at: Duration) -> f64 {
        (self.back.pages + self.used.pages) * faded(at.saturating_sub(self.at), HALF_LIFE)
    }

    fn fade(&mut self, at: Duration) {
        let kept = faded(at.saturating_sub(self.at), HALF_LIFE);
        let turns = at.saturating_sub(self.turned) >= TURN;
        self.added *= kept;
        for repeats in [&mut self.back, &mut self.used] {
            repeats.pages *= kept;
            repeats.seconds *= kept;
            if turns {
                repeats.ranges = [Ranges::default(), repeats.ranges[0]];
            }
        }
        self.at = at;
        if turns {
            self.turned = at;
        }
    }

    /// As others see it; `None` once less than a page a second comes back or is used.
    fn told(&self, at: Duration) -> Option<Hot> {
        let kept = faded(at.saturating_sub(self.at), HALF_LIFE);
        let [returns, uses] =
            [self.back, self.used].map(|repeats| (repeats.pages * kept / WINDOW) as u64);
        let (ranges, used) = (self.back.ranges(), self.used.ranges());
        let hot = Hot {
            file: self.file,
            returns,
            away: self.back.after(),
            again: Percent::hundredths((self.back.pages / self.added * 10_000.0) as u64),
            ranges: ranges.measured_as(used),
            uses,
            every: self.used.after(),
            used: used.measured_as(ranges),
        };
        (returns > 0 || uses > 0).then_some(hot)
    }
}

impl Repeats {
    fn add(&mut self, index: u64, pages: u64, after: Duration) {
        self.pages += pages as f64;
        self.seconds += pages as f64 * after.as_secs_f64();
        self.ranges[0].put(index, pages);
    }

    /// Both sums fade alike, so the mean stays.
    fn after(&self) -> Option<Micros> {
        let mean = self.seconds / self.pages;
        mean.is_finite().then(|| Micros::new((mean * 1e6) as u64))
    }

    fn ranges(&self) -> Ranges {
        self.ranges[0].with(self.ranges[1])
    }
}

#[cfg(test)]
mod tests;
