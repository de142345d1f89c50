//! What the process that locks tells: a part of the sample.

use super::act::FileId;
use super::ranges::Ranges;
use crate::section::{Section, section};
use serde::{Deserialize, Serialize};
use units::{Bytes, Micros, Percent};

/// Who reads a file whose pages come back, or are used again, sooner than this waits for it all the time.
pub(crate) const SOON: Micros = Micros::new(5_000_000);

/// Files told of at once: those held, and the hottest of the others.
pub const MAX_FILES: usize = 16;

section! {
    /// The process that locks, as a whole. All unknown while there is none.
    pub struct WarmSums {
        /// 1 while it reads what enters and leaves the page cache; unknown where the kernel does not tell it.
        watching: u64 = "watching",
        /// Locked by it now.
        held: Bytes = "held",
        /// Additions and evictions that it has heard of, since it started.
        events: u64 = "events",
        /// Events that it came too late for.
        lost: u64 = "lost",
        /// 1 if a unit's `memory.min` was seen to keep what is in it, 0 if it does not; unknown if that could not be tried.
        floors: u64 = "floors",
    }
}

section! {
    /// A file that is held or hot.
    pub struct WarmFile {
        /// The device it is on.
        device: u64 = "device",
        /// Its number there.
        inode: u64 = "inode",
        /// Its length; unknown if it could not be found to be held.
        size: Bytes = "size",
        /// Locked of it now.
        held: Bytes = "held",
        /// Segments of it that are asked to be locked; unknown if none.
        asked: u64 = "asked",
        /// The power of two of pages in a segment.
        shift: u64 = "shift",
        /// Segments whose pages came back.
        hot: u64 = "hot",
        /// Pages that came back, per second.
        returns: u64 = "returns",
        /// How long they were away, the mean; of what is held, before it was.
        away: Micros = "away",
        /// Share of the pages that came in that had been there before.
        again: Percent = "again",
        /// Pages that were used again, per second; unknown if none was seen, as where the kernel does not tell of them.
        uses: u64 = "uses",
        /// How long after, the mean.
        every: Micros = "every",
        /// Segments in which they were.
        used: u64 = "used",
        /// Since it was last opened or read, while it is held.
        idle: Micros = "idle",
        /// 1 if a program that must answer runs from it.
        program: u64 = "program",
    }
}

/// All that the process that locks tells.
///
/// Without such a process it takes no memory: a place that is not there is an empty one.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Warm {
    /// As a whole.
    pub sums: WarmSums,
    /// File by file, at most [`MAX_FILES`]; a place without a device is empty.
    pub files: Vec<WarmFile>,
}

static EMPTY: WarmFile = WarmFile::EMPTY;

impl PartialEq for Warm {
    fn eq(&self, other: &Self) -> bool {
        self.sums == other.sums && self.places().eq(other.places())
    }
}

impl Eq for Warm {}

impl Warm {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All places, to be filled. Allocates the first time.
    pub fn places_mut(&mut self) -> &mut [WarmFile] {
        self.files.resize(MAX_FILES, WarmFile::EMPTY);
        &mut self.files
    }

    /// Copies `source`; keeps the storage.
    pub fn copy(&mut self, source: &Self) {
        self.sums = source.sums;
        self.files.clone_from(&source.files);
    }

    /// Locked, but let go before anyone ends for want of memory.
    pub(crate) fn lent(&self) -> Bytes {
        self.files
            .iter()
            .filter(|file| file.is_lent())
            .filter_map(|file| file.held)
            .sum()
    }

    /// The sections, in order.
    pub fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        let files = self.places().map(|file| file as &dyn Section);
        std::iter::once(&self.sums as &dyn Section).chain(files)
    }

    /// The same sections, to be filled.
    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut dyn Section> {
        self.places_mut();
        let files = self.files.iter_mut().map(|file| file as &mut dyn Section);
        std::iter::once(&mut self.sums as &mut dyn Section).chain(files)
    }

    /// What each section is called in a recording.
    pub fn labels() -> impl Iterator<Item = String> {
        let files = (0..MAX_FILES).map(|index| format!("warm.{index}"));
        std::iter::once("warm".to_owned()).chain(files)
    }

    fn places(&self) -> impl Iterator<Item = &WarmFile> {
        (0..MAX_FILES).map(|index| self.files.get(index).unwrap_or(&EMPTY))
    }
}

impl WarmFile {
    /// A place of no file.
    pub const EMPTY: Self = Self {
        device: None,
        inode: None,
        size: None,
        held: None,
        asked: None,
        shift: None,
        hot: None,
        returns: None,
        away: None,
        again: None,
        uses: None,
        every: None,
        used: None,
        idle: None,
        program: None,
    };

    /// Which file it is; `None` for an empty place.
    pub fn id(&self) -> Option<FileId> {
        Some(FileId {
            device: self.device?,
            inode: self.inode?,
        })
    }

    /// Whether it is, or is asked to be, locked.
    pub fn is_held(&self) -> bool {
        self.asked.is_some_and(|asked| asked != 0)
    }

    /// Whether it is held for what is wanted again late, or nobody knows when: that has less right to memory than who runs.
    pub(crate) fn is_lent(&self) -> bool {
        let soon = [self.away, self.every]
            .into_iter()
            .flatten()
            .any(|after| after <= SOON);
        self.is_held() && self.program != Some(1) && !soon
    }

    /// The parts that are asked to be locked.
    pub fn asked_ranges(&self) -> Ranges {
        self.ranges(self.asked)
    }

    /// The parts whose pages came back.
    pub fn hot_ranges(&self) -> Ranges {
        self.ranges(self.hot)
    }

    /// The parts whose pages were used again.
    pub fn used_ranges(&self) -> Ranges {
        self.ranges(self.used)
    }

    fn ranges(&self, segments: Option<u64>) -> Ranges {
        Ranges {
            shift: self.shift.unwrap_or(0).min(63) as u32,
            segments: segments.unwrap_or(0),
        }
    }
}
