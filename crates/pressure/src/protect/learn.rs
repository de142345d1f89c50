//! The learner: which files' pages are evicted and soon wanted again.
//!
//! A file that is read over and over, each time by another process, has no owner whose memory could be
//! protected. It shows only in the page cache: its pages leave, and come back a moment later. A stream's
//! pages leave and do not come back, or come back after all the others.
//!
//! - Law: of each file, `returns/s` (pages added that had been evicted at most [`MEMORY`] before), their mean
//!   time away, and the share of its additions that were returns; all fading with a half-life of 10 s.
//! - Cost: O(1) for each event, 0.5 MiB. One page in [`STRIDE`] by its place in the file stands for all: spatial
//!   sampling as in SHARDS (Waldspurger et al., FAST 2015), so the kernel's filter can do it.
//! - Source: the time away is the refault distance of `mm/workingset.c` in time; a page is worth its memory if
//!   it comes back soon enough (Gray and Putzolu's five-minute rule, 1987).
//! - Limits: a page that stays shows nothing, so what is held must be let go by other signs. Time away is less
//!   than the time between two uses. A file that was made anew under an inode's old number looks like the old.

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
const HALF_LIFE: Duration = Duration::from_secs(10);
/// A sum that fades so, divided by this, is a rate: `half-life / ln 2`.
const WINDOW: f64 = 14.4;
/// Returns are remembered by place for one to two of these.
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
}

/// A file whose pages come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hot {
    /// The file.
    pub file: FileId,
    /// Pages that came back, per second.
    pub returns: u64,
    /// How long they were away, the mean.
    pub away: Micros,
    /// Share of the pages that came in that had been there before.
    pub again: Percent,
    /// Where in the file.
    pub ranges: Ranges,
}

/// What is known of all files.
#[derive(Debug, Clone)]
pub struct Learner {
    ghosts: Ghosts,
    files: Vec<Heat>,
    places: HashMap<FileId, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Heat {
    file: FileId,
    at: Duration,
    returns: f64,
    added: f64,
    away_seconds: f64,
    /// This turn and the one before.
    ranges: [Ranges; 2],
    turned: Duration,
}

impl Default for Learner {
    fn default() -> Self {
        Self { ghosts: Ghosts::new(GHOST_BITS), files: Vec::with_capacity(MOST_FILES), places: HashMap::new() }
    }
}

impl Learner {
    /// Takes in one event at `at`, a time that does not go back. Events of pages that the sampling leaves out change
    /// nothing.
    pub fn take(&mut self, at: Duration, event: &Event) {
        let Event { file, index, pages, kind } = *event;
        if index % STRIDE != 0 {
            return;
        }
        let page = name(file.device, file.inode, index);
        // A larger piece stands for itself, a smaller one for the pages that are not looked at.
        let weight = pages.max(STRIDE) as f64;
        match kind {
            EventKind::Evicted => self.ghosts.put(page, at),
            EventKind::Added => {
                let left = self.ghosts.take(page).map(|left| at.saturating_sub(left));
                match left.filter(|away| *away <= MEMORY) {
                    Some(away) => {
                        let heat = self.heat(file, at);
                        heat.fade(at);
                        heat.added += weight;
                        heat.returns += weight;
                        heat.away_seconds += weight * away.as_secs_f64();
                        heat.ranges[0].put(index, pages.max(STRIDE));
                    }
                    None => {
                        if let Some(place) = self.places.get(&file) {
                            self.files[*place].fade(at);
                            self.files[*place].added += weight;
                        }
                    }
                }
            }
        }
    }

    /// The `most` files with the most returns, the first the most.
    pub fn hottest(&self, at: Duration, most: usize) -> Vec<Hot> {
        let mut hot: Vec<Hot> = self.files.iter().filter_map(|heat| heat.told(at)).collect();
        hot.sort_by_key(|hot| (std::cmp::Reverse(hot.returns), hot.file));
        hot.truncate(most);
        hot
    }

    /// How long pages of a file were away, the mean, however long ago that was.
    pub fn away(&self, file: FileId) -> Option<Micros> {
        self.places.get(&file).and_then(|place| self.files[*place].away())
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

    /// The file's entry; a new one takes the place of the coldest when there is no room.
    fn heat(&mut self, file: FileId, at: Duration) -> &mut Heat {
        if let Some(place) = self.places.get(&file) {
            return &mut self.files[*place];
        }
        if self.files.len() == MOST_FILES {
            let coldest = self.files.iter().min_by(|a, b| a.returns_at(at).total_cmp(&b.returns_at(at)));
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
        let ranges = [Ranges::default(); 2];
        Self { file, at, returns: 0.0, added: 0.0, away_seconds: 0.0, ranges, turned: at }
    }

    fn returns_at(&self, at: Duration) -> f64 {
        self.returns * faded(at.saturating_sub(self.at), HALF_LIFE)
    }

    fn fade(&mut self, at: Duration) {
        let kept = faded(at.saturating_sub(self.at), HALF_LIFE);
        [&mut self.returns, &mut self.added, &mut self.away_seconds].into_iter().for_each(|sum| *sum *= kept);
        self.at = at;
        if at.saturating_sub(self.turned) >= TURN {
            self.ranges = [Ranges::default(), self.ranges[0]];
            self.turned = at;
        }
    }

    /// Both sums fade alike, so the mean stays.
    fn away(&self) -> Option<Micros> {
        let mean = self.away_seconds / self.returns;
        mean.is_finite().then(|| Micros::new((mean * 1e6) as u64))
    }

    /// As others see it; `None` once less than a page a second comes back.
    fn told(&self, at: Duration) -> Option<Hot> {
        let returns = (self.returns_at(at) / WINDOW) as u64;
        let hot = Hot {
            file: self.file,
            returns,
            away: self.away()?,
            again: Percent::hundredths((self.returns / self.added * 10_000.0) as u64),
            ranges: self.ranges[0].with(self.ranges[1]),
        };
        (returns > 0).then_some(hot)
    }
}

#[cfg(test)]
mod tests;
