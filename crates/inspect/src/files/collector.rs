//! What was found, summed up and ranked: the rows with the most resident, and totals of all.

use super::ask::Told;
use super::left_out::{LeftOut, Why};
use super::{By, Changes, Options, REMEMBERED, Report, Row, Totals};
use crate::pinned::FileId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use units::{Bytes, Pages};

/// Entries between two calls of `progress`: some milliseconds.
const PACE: u64 = 1024;

/// A file that was looked at.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) path: &'a Path,
    pub(super) id: FileId,
    pub(super) size: u64,
    pub(super) told: Told,
    /// The directory or mount that it counts for.
    pub(super) group: &'a Path,
}

/// Takes what is found one by one.
pub(super) struct Collector<'a> {
    options: Options,
    page_size: Bytes,
    /// Of files that were seen at the look before and not yet now.
    before: Option<HashMap<FileId, Bytes>>,
    after: HashMap<FileId, Bytes>,
    total: Totals,
    groups: HashMap<PathBuf, Totals>,
    ranking: Ranking,
    left_out: LeftOut,
    entries: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl std::fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector")
            .field("total", &self.total)
            .finish_non_exhaustive()
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        options: Options,
        page_size: Bytes,
        before: Option<HashMap<FileId, Bytes>>,
        progress: &'a mut dyn FnMut(u64),
    ) -> Self {
        Self {
            options,
            page_size,
            before,
            after: HashMap::new(),
            total: Totals::default(),
            groups: HashMap::new(),
            ranking: Ranking::new(options.limit),
            left_out: LeftOut::default(),
            entries: 0,
            progress,
        }
    }

    pub(super) const fn by(&self) -> By {
        self.options.by
    }

    pub(super) fn found(&mut self, found: &Found<'_>) {
        match found.told {
            Told::NotOurs => self.left_out(Why::NotOurs, found.path, None),
            Told::Nothing(why) => self.left_out(Why::Untold, found.path, Some(why.to_owned())),
            Told::All(_) | Told::Residency(_) => self.step(),
        }
        let mut totals = self.totals(found);
        self.compare(found.id, &mut totals);
        self.total.add(&totals);
        if self.options.by == By::File {
            self.ranking.offer(found.path, totals);
            return;
        }
        if let Some(group) = self.groups.get_mut(found.group) {
            group.add(&totals);
        } else {
            self.groups.insert(found.group.to_owned(), totals);
        }
    }

    pub(super) fn left_out(&mut self, why: Why, path: &Path, detail: Option<String>) {
        self.step();
        self.left_out.add(why, path, detail);
    }

    /// Nothing more will count for this group: so a path with a million directories needs no memory for each.
    pub(super) fn close(&mut self, group: &Path) {
        if let Some(totals) = self.groups.remove(group) {
            self.ranking.offer(group, totals);
        }
    }

    /// The report, and what each file has now.
    pub(super) fn end(mut self) -> (Report, HashMap<FileId, Bytes>) {
        // What was there before and was not found again.
        if let Some(before) = &self.before {
            let gone: Bytes = before.values().copied().sum();
            let went = self.total.went.unwrap_or_default();
            self.total.went = Some(went + gone);
            self.total.came = Some(self.total.came.unwrap_or_default());
        }
        for (path, totals) in self.groups {
            self.ranking.offer(&path, totals);
        }
        let (rows, more) = self.ranking.end();
        let report = Report {
            rows,
            more,
            total: self.total,
            left_out: self.left_out,
        };
        (report, self.after)
    }

    fn step(&mut self) {
        self.entries += 1;
        if self.entries % PACE == 0 {
            (self.progress)(self.total.files);
        }
    }

    fn totals(&self, found: &Found<'_>) -> Totals {
        let mut totals = Totals {
            files: 1,
            size: Bytes::new(found.size),
            ..Totals::default()
        };
        let bytes = |pages: u64| Some(Pages::new(pages).to_bytes(self.page_size));
        match found.told {
            Told::All(stat) => {
                totals.resident = bytes(stat.cached);
                totals.dirty = bytes(stat.dirty);
                totals.writeback = bytes(stat.writeback);
                totals.evicted = bytes(stat.evicted);
                totals.recently_evicted = bytes(stat.recently_evicted);
            }
            Told::Residency(pages) => {
                totals.by_residency = 1;
                totals.resident = bytes(pages);
            }
            Told::NotOurs | Told::Nothing(_) => totals.untold = 1,
        }
        if totals.untold == 0 {
            let pages = found.size.div_ceil(self.page_size.get());
            totals.whole = Pages::new(pages).to_bytes(self.page_size);
        }
        totals
    }

    /// What changed since the look before, and what the next one needs.
    fn compare(&mut self, id: FileId, totals: &mut Totals) {
        if self.options.changes == Changes::NotWanted {
            return;
        }
        let before = self.before.as_mut().map(|before| before.remove(&id));
        let Some(now) = totals.resident else {
            return;
        };
        // A file without resident pages need not be remembered: it is as one that was not there.
        if now > Bytes::ZERO && self.after.len() < REMEMBERED {
            self.after.insert(id, now);
        }
        if let Some(before) = before {
            let before = before.unwrap_or_default();
            totals.came = Some(now.less(before));
            totals.went = Some(before.less(now));
        }
    }
}

/// The largest rows.
#[derive(Debug)]
struct Ranking {
    limit: usize,
    /// The smallest of them on top.
    rows: BinaryHeap<Reverse<Ranked>>,
    more: u64,
}

/// By what is resident, then by what was in use, then by size; of equals the first name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    key: (Bytes, Bytes, Bytes),
    path: Reverse<PathBuf>,
    totals: Ordered,
}

/// Totals, which have no order of their own.
#[derive(Debug, PartialEq, Eq)]
struct Ordered(Totals);

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Ranking {
    const fn new(limit: usize) -> Self {
        Self {
            limit,
            rows: BinaryHeap::new(),
            more: 0,
        }
    }

    fn offer(&mut self, path: &Path, totals: Totals) {
        let key = (
            totals.resident.unwrap_or_default(),
            totals.recently_evicted.unwrap_or_default(),
            totals.size,
        );
        if self.rows.len() >= self.limit {
            self.more += 1;
            let is_less = self.rows.peek().is_none_or(|Reverse(least)| {
                (key, Reverse(path)) <= (least.key, Reverse(&*least.path.0))
            });
            if is_less {
                return;
            }
            self.rows.pop();
        }
        self.rows.push(Reverse(Ranked {
            key,
            path: Reverse(path.to_owned()),
            totals: Ordered(totals),
        }));
    }

    fn end(self) -> (Vec<Row>, u64) {
        let sorted = self.rows.into_sorted_vec();
        let rows = sorted.into_iter().map(|Reverse(ranked)| Row {
            path: ranked.path.0,
            totals: ranked.totals.0,
        });
        (rows.collect(), self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::system_calls::CacheStat;

    fn found(path: &Path, inode: u64, cached: u64) -> Found<'_> {
        Found {
            path,
            id: (1, inode),
            size: 8192,
            told: Told::All(CacheStat {
                cached,
                ..CacheStat::default()
            }),
            group: Path::new("/"),
        }
    }

    fn options(limit: usize) -> Options {
        Options {
            by: By::File,
            limit,
            crossing: super::super::Crossing::Never,
            changes: Changes::Wanted,
        }
    }

    #[test]
    fn the_largest_stay_and_of_equals_the_first_names() {
        let mut none = |_| {};
        let mut collector = Collector::new(options(3), Bytes::kib(4), None, &mut none);
        for (index, (name, cached)) in [("e", 1), ("b", 1), ("a", 0), ("d", 2), ("c", 1)]
            .into_iter()
            .enumerate()
        {
            collector.found(&found(Path::new(name), index as u64, cached));
        }
        let (report, _) = collector.end();
        let names: Vec<_> = report.rows.iter().map(|row| row.path.to_str()).collect();
        assert_eq!(names, [Some("d"), Some("b"), Some("c")]);
        assert_eq!((report.more, report.total.files), (2, 5));
        assert_eq!(report.total.resident, Some(Bytes::kib(20)));
    }

    #[test]
    fn what_came_and_went_is_known_from_the_second_look_on() {
        let mut none = |_| {};
        let path = Path::new("x");
        let mut first = Collector::new(options(9), Bytes::kib(4), None, &mut none);
        for (inode, cached) in [(1, 2), (2, 2), (3, 0)] {
            first.found(&found(path, inode, cached));
        }
        let (report, before) = first.end();
        assert_eq!((report.total.came, report.total.went), (None, None));
        let mut second = Collector::new(options(9), Bytes::kib(4), Some(before), &mut none);
        // One stays, one has vanished, one came in.
        for (inode, cached) in [(1, 1), (3, 2)] {
            second.found(&found(path, inode, cached));
        }
        let (report, _) = second.end();
        assert_eq!(report.total.came, Some(Bytes::kib(8)));
        assert_eq!(report.total.went, Some(Bytes::kib(12)));
    }

    #[test]
    fn what_is_not_told_is_not_zero() {
        let mut none = |_| {};
        let mut collector = Collector::new(options(9), Bytes::kib(4), None, &mut none);
        let mut untold = found(Path::new("x"), 1, 0);
        untold.told = Told::NotOurs;
        collector.found(&untold);
        let mut by_mincore = found(Path::new("y"), 2, 0);
        by_mincore.told = Told::Residency(1);
        collector.found(&by_mincore);
        let (report, _) = collector.end();
        let total = report.total;
        assert_eq!((total.files, total.untold, total.by_residency), (2, 1, 1));
        assert_eq!(total.resident, Some(Bytes::kib(4)));
        assert_eq!(total.whole, Bytes::kib(8), "only of what is told");
        assert_eq!((total.dirty, total.evicted), (None, None));
        assert_eq!(report.rows[1].totals.resident, None);
        assert_eq!(report.left_out.count(Why::NotOurs), 1);
    }
}
