//! What the holder reports of files: a part of the sample.

use super::act::FileId;
use super::ranges::Ranges;
use super::stalls::OrderStalls;
use crate::section::{Section, section};
use serde::{Deserialize, Serialize};
use units::{Bytes, Micros, Percent};

/// Where a file refaults, or is used again, within this time, its readers would wait for it all the time.
/// A longer time keeps more files when a process fills memory, and kills sooner.
pub(crate) const SOON: Micros = Micros::new(5_000_000);

/// Files reported at once: those held, and the hottest of the others. More make each sample longer.
pub const MAX_FILES: usize = 16;

section! {
    /// The holder as a whole. All unknown while there is none.
    pub struct WarmSums {
        /// 1 while it reads the events of the page cache; unknown where the kernel has none.
        watching: u64 = "watching",
        /// Memory that it has locked.
        held: Bytes = "held",
        /// Additions and evictions that it has read since it started.
        events: u64 = "events",
        /// Events that were overwritten before it read them.
        lost: u64 = "lost",
        /// 1 if `memory.min` was seen to protect a cgroup, 0 if it did not; unknown if it could not be tried.
        floors: u64 = "floors",
        /// Size of the files that were named by hand and can be held, in whole pages; unknown until they were looked for.
        named: Bytes = "named",
        /// The most that the holder was told to lock of them.
        named_asked: Bytes = "named_asked",
        /// Memory that it has locked of them: a part of `held`.
        named_held: Bytes = "named_held",
    }
}

section! {
    /// A file that is held or hot.
    pub struct WarmFile {
        /// The device it is on.
        device: u64 = "device",
        /// Its inode.
        inode: u64 = "inode",
        /// Its length; unknown if the file could not be found.
        size: Bytes = "size",
        /// How much of it is locked.
        held: Bytes = "held",
        /// Segments that are to be locked; unknown if none. As large as those of `hot`, so that they may hold more than
        /// `amount`.
        asked: u64 = "asked",
        /// How much is to be locked. Older recordings have only the segments.
        amount: Bytes = "amount",
        /// The power of two of pages in a segment.
        shift: u64 = "shift",
        /// Segments with pages that refaulted.
        hot: u64 = "hot",
        /// Refaults per second.
        #[serde(rename = "returns")]
        refaults: u64 = "returns",
        /// Mean time from eviction to refault; of a held file, as it was before.
        #[serde(rename = "away")]
        refault_time: Micros = "away",
        /// Share of the added pages that had been evicted before.
        again: Percent = "again",
        /// Pages used again per second; unknown if none was seen, as where the kernel has no such event.
        uses: u64 = "uses",
        /// Mean time between two uses.
        every: Micros = "every",
        /// Segments with pages that were used again.
        used: u64 = "used",
        /// Time since it was last opened or read, while it is held.
        idle: Micros = "idle",
        /// 1 if a program that must answer runs from it.
        program: u64 = "program",
    }
}

/// All that the holder reports.
///
/// Without a holder it takes no memory: a missing place equals an empty one.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Warm {
    /// The holder as a whole.
    pub sums: WarmSums,
    /// Direct compactions by order. Older recordings have none.
    #[serde(default)]
    pub stalls: OrderStalls,
    /// File by file, at most [`MAX_FILES`]; a place without a device is empty.
    pub files: Vec<WarmFile>,
}

static EMPTY: WarmFile = WarmFile::EMPTY;

impl PartialEq for Warm {
    fn eq(&self, other: &Self) -> bool {
        self.sums == other.sums && self.stalls == other.stalls && self.places().eq(other.places())
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
        self.stalls = source.stalls;
        self.files.clone_from(&source.files);
    }

    /// Memory that is locked, but released before a process is killed for it.
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
        let whole: [&dyn Section; 2] = [&self.sums, &self.stalls];
        whole.into_iter().chain(files)
    }

    /// The same sections, to be filled.
    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut dyn Section> {
        self.places_mut();
        let files = self.files.iter_mut().map(|file| file as &mut dyn Section);
        let whole: [&mut dyn Section; 2] = [&mut self.sums, &mut self.stalls];
        whole.into_iter().chain(files)
    }

    /// What each section is called in a recording.
    pub fn labels() -> impl Iterator<Item = String> {
        let files = (0..MAX_FILES).map(|index| format!("warm.{index}"));
        let whole = ["warm", "compaction"].map(str::to_owned);
        whole.into_iter().chain(files)
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
        amount: None,
        shift: None,
        hot: None,
        refaults: None,
        refault_time: None,
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

    /// Whether it is locked, or is to be.
    pub fn is_held(&self) -> bool {
        self.asked.is_some_and(|asked| asked != 0)
    }

    /// Whether it is held although its pages are wanted late, or it is unknown when. Running programs have
    /// more right to such memory.
    pub(crate) fn is_lent(&self) -> bool {
        let is_wanted_soon = [self.refault_time, self.every]
            .into_iter()
            .flatten()
            .any(|after| after <= SOON);
        self.is_held() && self.program != Some(1) && !is_wanted_soon
    }

    /// The parts that are to be locked.
    pub fn asked_ranges(&self) -> Ranges {
        self.ranges(self.asked)
    }

    /// The parts that refaulted.
    pub fn hot_ranges(&self) -> Ranges {
        self.ranges(self.hot)
    }

    /// The parts that were used again.
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
