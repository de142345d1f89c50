//! What the pages of a program under lackey are: its mappings are read when a page is first used.

use inspect::tracee::{Mapping, mappings};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};
use traces::Regions;
use traces::live::{Fresh, SPACE};

/// Minimum time between two readings of a process's mappings: some programs map all the time, and each reading takes longer
/// the more mappings there are.
const BETWEEN: Duration = Duration::from_millis(2);
/// Where Valgrind puts the program's stack: the last 64 GiB below 2^37, of which 8 MiB are used by default.
const STACK: std::ops::Range<u64> = 0x1f_f000_0000..0x1f_ff00_2000;

/// The mappings of one process.
#[derive(Debug, Default)]
struct Known {
    mappings: Vec<Mapping>,
    /// When they were last read.
    read: Option<Instant>,
}

/// Mappings in which pages were used.
#[derive(Debug)]
pub(crate) struct Mappings {
    page_size: u64,
    of: HashMap<u32, Known>,
    used: Regions,
    unknown: u64,
}

impl Mappings {
    pub(crate) fn new(page_size: u64) -> Self {
        Self {
            page_size,
            of: HashMap::new(),
            used: Regions::default(),
            unknown: 0,
        }
    }

    /// Looks up pages that were used for the first time.
    pub(crate) fn note(&mut self, fresh: &[Fresh]) {
        for Fresh { pid, page } in fresh {
            let space = page >> SPACE << SPACE;
            let number = page & ((1 << SPACE) - 1);
            if self.used.has(*page) {
                continue;
            }
            let known = self.of.entry(*pid).or_default();
            let Some(at) = known.find(*pid, number * self.page_size) else {
                self.unknown += 1;
                continue;
            };
            let mapping = &known.mappings[at];
            let first = space | (mapping.from / self.page_size);
            let end = space | (mapping.to / self.page_size);
            self.used.insert(first, end - 1, known.name(mapping));
        }
    }

    /// First page, last page and name; no two have a page in common.
    pub(crate) fn list(&self) -> Vec<(u64, u64, String)> {
        self.used.list()
    }

    /// Number of pages that were not found: the process had ended, or had unmapped them.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }
}

impl Known {
    /// The index of the mapping of an address; all mappings are read again if it is not among them.
    fn find(&mut self, pid: u32, address: u64) -> Option<usize> {
        let place = |mappings: &[Mapping]| {
            mappings
                .iter()
                .position(|map| (map.from..map.to).contains(&address))
        };
        if let Some(at) = place(&self.mappings) {
            return Some(at);
        }
        if self.read.is_none_or(|read| read.elapsed() > BETWEEN) {
            self.read = Some(Instant::now());
            // A process that has ended has no mappings, so its pages stay unknown.
            self.mappings = mappings(Path::new("/"), pid).unwrap_or_default();
        }
        place(&self.mappings)
    }

    fn name(&self, mapping: &Mapping) -> String {
        let name = match mapping.name.as_str() {
            "" if STACK.contains(&(mapping.to - 1)) => "[stack]",
            "" if self.is_after_loader(mapping) => "[heap]",
            "" => "[anonymous]",
            named => named,
        };
        name.to_owned()
    }

    /// Returns true if a mapping begins where the dynamic loader's end: there Valgrind puts the heap.
    fn is_after_loader(&self, mapping: &Mapping) -> bool {
        let before = self.mappings.iter().find(|other| other.to == mapping.from);
        let Some(before) = before else {
            return false;
        };
        let file = before.name.rsplit('/').next().unwrap_or_default();
        file.starts_with("ld-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_process_are_found_and_those_of_no_process_are_not() {
        let mut regions = Mappings::new(4096);
        let page = std::ptr::from_ref(&regions) as u64 / 4096;
        let space = 3 << SPACE;
        regions.note(&[
            Fresh {
                pid: std::process::id(),
                page: space | page,
            },
            Fresh {
                pid: u32::MAX,
                page,
            },
        ]);
        let list = regions.list();
        assert!(
            list.len() == 1 && list[0].0 <= space | page && list[0].1 >= space | page,
            "{list:?}"
        );
        assert_eq!(regions.unknown(), 1);
    }
}
