//! What the page cache has of files, and of units.
//!
//! ```text
//! paths ──────► tree:   walked by descriptors, no link followed ─┐
//! processes ──► in_use: what they have open and mapped ──────────┼─► ask: cachestat, else mincore ─► collector ─► Report
//! units ──────► charged: memory.stat of their control groups
//! ```
//!
//! File data is never read and nothing is brought in: files are opened, asked and closed. Directories are read. What is not
//! told is `None`, and each thing that was left out is counted and named.
//!
//! The kernel counts refaults, which are misses, but no hits. So there is no hit ratio here.
//!
//! Cost: five system calls a file, and 20 ns for each of its pages in the cache. Memory: the rows that are asked for, 40
//! bytes for each file with several names, and as much for each resident file if changes are wanted; both at most for
//! [`REMEMBERED`] files.

mod ask;
mod charged;
mod collector;
mod in_use;
mod left_out;
mod local;
mod tree;
mod unit;

pub use charged::{Charged, charged, charged_to};
pub use left_out::{LeftOut, Why};
pub use unit::{Unit, unit};

use crate::pinned::FileId;
use collector::Collector;
use host::Error;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Files that are remembered, at most: with more, names of one file are told apart no longer, nor is every change known.
pub const REMEMBERED: usize = 1 << 20;

/// What the rows of a report are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Files.
    File,
    /// Of a path, what is directly below it; of processes, the directories of their files.
    Directory,
    /// Mounted file systems.
    Mount,
}

/// Whether a walk enters other file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crossing {
    /// It stays on that of the path it was given.
    Never,
    /// It enters those that answer by themselves: on local disks, in memory, overlays.
    Local,
}

/// Whether looks are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// What each file had is remembered until the next look.
    Wanted,
    /// Nothing is remembered.
    NotWanted,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What the rows are.
    pub by: By,
    /// Rows, at most.
    pub limit: usize,
    /// Of a walk.
    pub crossing: Crossing,
    /// Between looks.
    pub changes: Changes,
}

/// Files, and what the page cache has of them. A file that is told in part adds what is told of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Files.
    pub files: u64,
    /// Of them, those of which not even the residency is told.
    pub untold: u64,
    /// Of them, those of which only the residency is told.
    pub by_residency: u64,
    /// Their sizes.
    pub size: Bytes,
    /// The pages of those that are told, all of them in memory.
    pub whole: Bytes,
    /// In the page cache.
    pub resident: Option<Bytes>,
    /// Of it, changed and not written yet.
    pub dirty: Option<Bytes>,
    /// Of it, being written.
    pub writeback: Option<Bytes>,
    /// Reclaimed, so that the kernel still has a mark of it; of a tmpfs, swapped out.
    pub evicted: Option<Bytes>,
    /// Of it, so recently that it would count as in use if it came back now.
    pub recently_evicted: Option<Bytes>,
    /// What is resident more than at the look before, file by file.
    pub came: Option<Bytes>,
    /// What is resident less than at the look before, file by file.
    pub went: Option<Bytes>,
}

impl Totals {
    /// Adds the other's.
    pub fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.untold += other.untold;
        self.by_residency += other.by_residency;
        self.size += other.size;
        self.whole += other.whole;
        for (sum, part) in [
            (&mut self.resident, other.resident),
            (&mut self.dirty, other.dirty),
            (&mut self.writeback, other.writeback),
            (&mut self.evicted, other.evicted),
            (&mut self.recently_evicted, other.recently_evicted),
            (&mut self.came, other.came),
            (&mut self.went, other.went),
        ] {
            if let Some(part) = part {
                *sum = Some(sum.unwrap_or_default() + part);
            }
        }
    }
}

/// A file, a directory or a mount, with what the page cache has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its path.
    pub path: PathBuf,
    /// Of the file, or of all files below it that were looked at.
    pub totals: Totals,
}

/// One look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The rows with the most resident, that one first.
    pub rows: Vec<Row>,
    /// Rows that the limit left out.
    pub more: u64,
    /// Of all files that were looked at, each once.
    pub total: Totals,
    /// What was not looked at, or is not told.
    pub left_out: LeftOut,
}

/// Files that are looked at once or again and again.
#[derive(Debug)]
pub struct Watched {
    root: PathBuf,
    options: Options,
    page_size: Bytes,
    /// What each file had at the look before; `None` at the first.
    before: Option<HashMap<FileId, Bytes>>,
}

impl Watched {
    /// Of the machine at `root`, which is for processes; paths are those of this process. Looks at nothing yet.
    pub fn of(root: &Path, options: Options) -> Self {
        Self {
            root: root.to_owned(),
            options,
            page_size: Bytes::new(rustix::param::page_size() as u64),
            before: None,
        }
    }

    /// The files at these paths, and below those that are directories. `progress` is told now and then how many there were.
    ///
    /// Errors: a path is not there, cannot be looked at, or is neither a regular file nor a directory.
    pub fn paths(
        &mut self,
        paths: &[PathBuf],
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, Error> {
        let mut collector = self.collector(progress);
        tree::walk(paths, self.options.crossing, &mut collector)?;
        Ok(self.report(collector))
    }

    /// The files that these processes have open or mapped.
    ///
    /// Errors: there is one process, and nothing of it can be looked at.
    pub fn processes(
        &mut self,
        pids: &[u32],
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, Error> {
        let mut collector = self.collector(progress);
        in_use::of_processes(&self.root.join("proc"), pids, &mut collector)?;
        Ok(self.report(collector))
    }

    fn collector<'a>(&mut self, progress: &'a mut dyn FnMut(u64)) -> Collector<'a> {
        Collector::new(self.options, self.page_size, self.before.take(), progress)
    }

    fn report(&mut self, collector: Collector<'_>) -> Report {
        let (report, seen) = collector.end();
        if self.options.changes == Changes::Wanted {
            self.before = Some(seen);
        }
        report
    }
}

#[cfg(test)]
mod tests;
