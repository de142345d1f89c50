//! What is held: mappings of files, locked, brought in piece by piece.

use crate::finder::{self, Found};
use crate::map::Map;
use crate::usage::Usage;
use pressure::protect::{FileId, Ranges};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// Pages brought in before the guard is heard again, 1 MiB: a slow disk reads that in some 10 ms.
const PIECE: u64 = 256;
/// Pages that are mapped again at each check, 4 MiB: a GiB is gone through in a minute.
const RENEWED: u64 = 1024;
/// Time between two counts of what is locked: a count asks the kernel for every page.
const COUNT: Duration = Duration::from_secs(10);

/// One file that is held.
#[derive(Debug)]
pub(crate) struct Holding {
    pub(crate) id: FileId,
    /// Its length when it was taken.
    pub(crate) size: u64,
    pub(crate) asked: Ranges,
    /// Pages that are locked.
    pub(crate) locked: u64,
    /// When it was last opened or read.
    pub(crate) used: Instant,
    file: File,
    map: Map,
    pages: u64,
    /// Runs still to be brought in, the last first.
    todo: Vec<(u64, u64)>,
    /// Runs still to be mapped again, the last first.
    unsure: Vec<(u64, u64)>,
    watch: Option<i32>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Holdings {
    all: Vec<Holding>,
    usage: Option<Usage>,
    /// Pages that may be held in all, whatever the guard orders.
    budget: u64,
    /// The one to be made sure of next.
    next: usize,
    counted: Instant,
}

impl Holdings {
    /// Nothing yet, and never more than `budget` pages.
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            all: Vec::new(),
            usage: Usage::new().ok(),
            budget,
            next: 0,
            counted: Instant::now(),
        }
    }

    /// The same, for files of which it does not matter when they are used.
    pub(crate) fn unwatched(budget: u64) -> Self {
        Self {
            usage: None,
            ..Self::new(budget)
        }
    }

    /// From now on never takes more than `budget` pages; what is held stays.
    pub(crate) fn limit(&mut self, budget: u64) {
        self.budget = budget;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Holding> {
        self.all.iter()
    }

    pub(crate) fn get(&self, id: FileId) -> Option<&Holding> {
        self.all.iter().find(|holding| holding.id == id)
    }

    /// Takes a file, or these parts of it too if it is held already.
    pub(crate) fn hold(
        &mut self,
        id: FileId,
        found: Option<Found>,
        ranges: Ranges,
    ) -> io::Result<()> {
        let others: u64 = self
            .all
            .iter()
            .filter(|held| held.id != id)
            .map(Holding::amount)
            .sum();
        let fits = |size: u64| {
            if others + size <= self.budget {
                Ok(())
            } else {
                Err(io::Error::other("over budget"))
            }
        };
        if let Some(holding) = self.all.iter_mut().find(|holding| holding.id == id) {
            let asked = holding.asked.with(ranges);
            fits(asked.size(holding.pages).get())?;
            return holding.ask(asked);
        }
        let Found { file, size, .. } = found.ok_or_else(|| io::Error::other("it was not found"))?;
        let pages = size.div_ceil(rustix::param::page_size() as u64);
        fits(ranges.size(pages).get())?;
        let map = Map::of(&file, pages)?;
        let watch = self
            .usage
            .as_ref()
            .and_then(|usage| usage.watch(&file).ok());
        let mut holding = Holding {
            id,
            size,
            asked: Ranges::default(),
            locked: 0,
            used: Instant::now(),
            file,
            map,
            pages,
            todo: Vec::new(),
            unsure: Vec::new(),
            watch,
        };
        holding.ask(ranges)?;
        self.all.push(holding);
        Ok(())
    }

    /// Releases a file.
    pub(crate) fn release(&mut self, id: FileId) {
        let gone = self
            .all
            .iter()
            .position(|holding| holding.id == id)
            .map(|place| self.all.swap_remove(place));
        if let (Some(usage), Some(watch)) = (&self.usage, gone.and_then(|holding| holding.watch)) {
            usage.forget(watch);
        }
    }

    /// Brings one piece in. A file that cannot be read is released, and returned with the error.
    pub(crate) fn bring_in(&mut self) -> Option<(FileId, io::Error)> {
        let holding = self.all.iter_mut().find(|holding| holding.is_busy())?;
        let id = holding.id;
        let error = holding.bring_in().err()?;
        self.release(id);
        Some((id, error))
    }

    /// Notes which files were used, releases those that were replaced or cut short, maps a part of the others again, and
    /// every [`COUNT`] counts what is locked. Returns what it released.
    pub(crate) fn check(&mut self, now: Instant) -> Vec<FileId> {
        for watch in self.usage.as_ref().map(Usage::used).unwrap_or_default() {
            self.all
                .iter_mut()
                .filter(|holding| holding.watch == Some(watch))
                .for_each(|holding| holding.used = now);
        }
        let gone = |holding: &&Holding| finder::is_gone(&holding.file, holding.size);
        let gone: Vec<FileId> = self
            .all
            .iter()
            .filter(gone)
            .map(|holding| holding.id)
            .collect();
        for id in &gone {
            self.release(*id);
        }
        self.make_sure();
        if now.duration_since(self.counted) >= COUNT {
            self.counted = now;
            self.all.iter_mut().for_each(Holding::count);
        }
        gone
    }

    /// Maps pages again, one file after the other.
    fn make_sure(&mut self) {
        let mut left = RENEWED;
        for _ in 0..self.all.len() {
            let place = self.next % self.all.len();
            let holding = &mut self.all[place];
            left -= holding.make_sure(left);
            if !holding.unsure.is_empty() {
                break;
            }
            self.next = place + 1;
        }
    }

    /// Whether something is to be brought in.
    pub(crate) fn is_busy(&self) -> bool {
        self.all.iter().any(Holding::is_busy)
    }
}

impl Holding {
    /// Whether a part of it is to be brought in.
    pub(crate) fn is_busy(&self) -> bool {
        !self.todo.is_empty()
    }

    /// Pages that are locked, or are to be.
    pub(crate) fn amount(&self) -> u64 {
        self.asked.size(self.pages).get()
    }

    /// Takes these parts, which have all that were asked for before: only what is new is to be brought in.
    fn ask(&mut self, ranges: Ranges) -> io::Result<()> {
        let before: Vec<(u64, u64)> = self.asked.runs(self.pages).collect();
        let new: Vec<(u64, u64)> = ranges
            .runs(self.pages)
            .flat_map(|run| without(run, &before))
            .collect();
        for (first, count) in &new {
            self.map.keep(*first, *count)?;
        }
        self.todo.extend(new);
        self.asked = ranges;
        self.unsure.clear();
        Ok(())
    }

    fn bring_in(&mut self) -> io::Result<()> {
        let Some((first, piece)) = take(&mut self.todo, PIECE) else {
            return Ok(());
        };
        // Asks for all of the piece at once; the mapping alone would ask for a few pages at a time.
        let page = rustix::param::page_size() as u64;
        let length = std::num::NonZero::new(piece * page);
        let _ = rustix::fs::fadvise(
            &self.file,
            first * page,
            length,
            rustix::fs::Advice::WillNeed,
        );
        match self.map.bring_in(first, piece) {
            Ok(()) => {
                self.locked += piece;
                Ok(())
            }
            // It is tried again.
            Err(error)
                if matches!(
                    Errno::from_io_error(&error),
                    Some(Errno::INTR | Errno::AGAIN)
                ) =>
            {
                self.todo.push((first, piece));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Maps again what is mapped no more, at most so many pages of one round; how many that took. The kernel splits
    /// a large folio if compaction finds no room to move it in one piece, and unmaps it for that although it is locked:
    /// then nothing keeps it (`unmap_folio` in `mm/huge_memory.c`, Linux 7.3; ext4 has large folios since 6.16).
    fn make_sure(&mut self, most: u64) -> u64 {
        if self.unsure.is_empty() && self.todo.is_empty() {
            self.unsure = self.asked.runs(self.pages).collect();
        }
        let mut left = most;
        while left > 0 {
            let Some((first, part)) = take(&mut self.unsure, left.min(PIECE)) else {
                break;
            };
            let is_there = self
                .map
                .resident(first, part)
                .is_ok_and(|there| there == part);
            // What cannot be had now is tried again in the next round.
            let _ = self.map.bring_in(first, part);
            // A piece that has to be read is enough before the guard is heard again.
            left = if is_there { left - part } else { 0 };
        }
        most - left
    }

    fn count(&mut self) {
        if self.todo.is_empty() {
            let runs = self.asked.runs(self.pages);
            self.locked = runs
                .map(|(first, count)| self.map.resident(first, count).unwrap_or(0))
                .sum();
        }
    }
}

/// What is left of a run without these, which are in order and do not overlap.
fn without((first, count): (u64, u64), others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let end = first + count;
    let mut left = Vec::new();
    let mut from = first;
    for (other, length) in others {
        if *other > from && from < end {
            left.push((from, end.min(*other) - from));
        }
        from = from.max(other + length);
    }
    if from < end {
        left.push((from, end - from));
    }
    left
}

/// The next pages of these runs, so many at most; what is left of the run stays.
fn take(runs: &mut Vec<(u64, u64)>, most: u64) -> Option<(u64, u64)> {
    let (first, count) = runs.pop()?;
    let taken = count.min(most);
    runs.extend((count > taken).then_some((first + taken, count - taken)));
    Some((first, taken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::Path;

    impl Holding {
        /// As the kernel counts it.
        pub(crate) fn locked_kib(&self) -> usize {
            self.map.locked_kib()
        }
    }

    fn found(path: &Path) -> (FileId, Found) {
        let file = File::open(path).unwrap();
        let size = file.metadata().unwrap().len();
        (
            finder::id_of(&file).unwrap(),
            Found {
                file,
                size,
                name: String::new(),
            },
        )
    }

    fn file(directory: &Path, name: &str, mib: usize) -> (FileId, Found) {
        let path = directory.join(name);
        File::create(&path)
            .unwrap()
            .write_all(&vec![1; mib << 20])
            .unwrap();
        found(&path)
    }

    /// Brings all in, and checks it; what was released.
    fn settle(holdings: &mut Holdings) -> Vec<FileId> {
        let mut released = Vec::new();
        while holdings.is_busy() {
            released.extend(holdings.bring_in().map(|(id, _)| id));
        }
        released.extend(holdings.check(Instant::now()));
        released
    }

    #[test]
    fn a_file_is_held_piece_by_piece_widened_and_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let (id, found) = file(directory.path(), "a", 3);
        let mut holdings = Holdings::new(1024);
        let half = Ranges {
            segments: u64::MAX >> 32,
            ..Ranges::whole(768)
        };
        holdings.hold(id, Some(found), half).unwrap();
        assert!(holdings.is_busy());
        assert!(settle(&mut holdings).is_empty());
        assert_eq!(holdings.get(id).unwrap().locked, half.size(768).get());
        holdings.hold(id, None, Ranges::whole(768)).unwrap();
        assert_eq!(
            holdings.get(id).unwrap().todo,
            [(512, 256)],
            "what is locked is not brought in again"
        );
        assert!(settle(&mut holdings).is_empty());
        assert_eq!(holdings.get(id).unwrap().locked, 768);
        holdings.release(id);
        assert!(holdings.get(id).is_none());
    }

    #[test]
    fn what_was_unmapped_is_mapped_and_locked_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut holdings = Holdings::new(4096);
        for (name, mib) in [("a", 3), ("b", 1)] {
            let (id, found) = file(directory.path(), name, mib);
            holdings
                .hold(id, Some(found), Ranges::whole(mib as u64 * 256))
                .unwrap();
        }
        assert!(settle(&mut holdings).is_empty());
        holdings.iter().for_each(|holding| holding.map.split());
        assert!(holdings.iter().all(|holding| holding.map.locked_kib() == 0));
        assert!(holdings.check(Instant::now()).is_empty());
        let mut locked: Vec<usize> = holdings
            .iter()
            .map(|holding| holding.map.locked_kib())
            .collect();
        locked.sort_unstable();
        assert_eq!(locked, [1 << 10, 3 << 10]);
    }

    #[test]
    fn a_file_as_large_as_a_look_does_not_keep_the_others_from_theirs() {
        let directory = tempfile::tempdir().unwrap();
        let mut holdings = Holdings::new(2 * RENEWED);
        for name in ["a", "b"] {
            let (id, found) = file(directory.path(), name, 4);
            holdings
                .hold(id, Some(found), Ranges::whole(RENEWED))
                .unwrap();
        }
        assert!(settle(&mut holdings).is_empty());
        holdings.iter().for_each(|holding| holding.map.split());
        for _ in 0..2 {
            assert!(holdings.check(Instant::now()).is_empty());
        }
        assert!(
            holdings
                .iter()
                .all(|holding| holding.map.locked_kib() == 4 << 10)
        );
    }

    #[test]
    fn nothing_is_held_beyond_the_budget() {
        let directory = tempfile::tempdir().unwrap();
        let mut holdings = Holdings::new(600);
        let (one, first) = file(directory.path(), "a", 2);
        let (other, second) = file(directory.path(), "b", 1);
        holdings.hold(one, Some(first), Ranges::whole(512)).unwrap();
        assert!(
            holdings
                .hold(other, Some(second), Ranges::whole(256))
                .is_err()
        );
        assert!(holdings.get(other).is_none());
        assert!(
            holdings
                .hold(
                    FileId {
                        device: 1,
                        inode: 1
                    },
                    None,
                    Ranges::whole(1)
                )
                .is_err()
        );
    }

    #[test]
    fn a_file_that_is_cut_short_or_replaced_while_it_is_held_is_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let (short, first) = file(directory.path(), "short", 2);
        let (old, second) = file(directory.path(), "old", 1);
        let mut holdings = Holdings::new(4096);
        holdings
            .hold(short, Some(first), Ranges::whole(512))
            .unwrap();
        holdings
            .hold(old, Some(second), Ranges::whole(256))
            .unwrap();
        // One while it is brought in, the other after.
        File::create(directory.path().join("short")).unwrap();
        assert_eq!(settle(&mut holdings), [short]);
        assert!(holdings.get(short).is_none());
        file(directory.path(), "new", 1);
        std::fs::rename(directory.path().join("new"), directory.path().join("old")).unwrap();
        assert_eq!(settle(&mut holdings), [old]);
        assert!(holdings.get(old).is_none());
    }

    #[test]
    fn what_is_new_of_a_run_is_what_no_other_has() {
        let others = [(10, 5), (20, 10), (40, 1)];
        let left = |run| without(run, &others);
        assert_eq!(left((0, 50)), [(0, 10), (15, 5), (30, 10), (41, 9)]);
        assert_eq!(left((12, 10)), [(15, 5)]);
        assert_eq!(left((20, 10)), []);
        assert_eq!(left((60, 3)), [(60, 3)]);
        assert_eq!(without((3, 4), &[]), [(3, 4)]);
    }

    #[test]
    fn a_use_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (id, found) = file(directory.path(), "a", 1);
        let mut holdings = Holdings::new(4096);
        holdings.hold(id, Some(found), Ranges::whole(256)).unwrap();
        settle(&mut holdings);
        let before = holdings.get(id).unwrap().used;
        settle(&mut holdings);
        assert_eq!(
            holdings.get(id).unwrap().used,
            before,
            "bringing it in is no use"
        );
        std::fs::read(directory.path().join("a")).unwrap();
        settle(&mut holdings);
        assert!(holdings.get(id).unwrap().used > before);
    }
}
