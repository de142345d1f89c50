//! What the pages of a running program are: looked up in its mappings when they are first used.

use inspect::tracee::{Mapping, mappings};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};
use traces::live::{Fresh, SPACE};

/// A process's mappings are read no oftener: some programs map without end.
const BETWEEN: Duration = Duration::from_millis(2);
/// Where Valgrind lays the stack of what it runs: the last 64 GiB below 2^37, 8 MiB of which are used by default.
const STACK: std::ops::Range<u64> = 0x1f_f000_0000..0x1f_ff00_2000;

#[derive(Debug, Default)]
struct Known {
    mappings: Vec<Mapping>,
    read: Option<Instant>,
}

/// Mappings in which pages were used.
#[derive(Debug)]
pub(crate) struct Regions {
    page_size: u64,
    of: HashMap<u32, Known>,
    /// By first page, the address space's number included: last page and name.
    used: BTreeMap<u64, (u64, String)>,
    unknown: u64,
}

impl Regions {
    pub(crate) fn new(page_size: u64) -> Self {
        Self {
            page_size,
            of: HashMap::new(),
            used: BTreeMap::new(),
            unknown: 0,
        }
    }

    /// Looks up pages that were used for the first time.
    pub(crate) fn note(&mut self, fresh: &[Fresh]) {
        for Fresh { pid, page } in fresh {
            let (space, number) = (page >> SPACE << SPACE, page & ((1 << SPACE) - 1));
            let before = self.used.range(..=page).next_back();
            if before.is_some_and(|(_, (last, _))| *last >= *page) {
                continue;
            }
            let known = self.of.entry(*pid).or_default();
            let Some(at) = known.find(*pid, number * self.page_size) else {
                self.unknown += 1;
                continue;
            };
            let mapping = &known.mappings[at];
            let [first, behind] =
                [mapping.from, mapping.to].map(|address| space | (address / self.page_size));
            let entry = (behind - 1, known.name(mapping));
            self.used.insert(first, entry);
        }
    }

    /// First page, last page, name; no two have a page in common. A stack that grew while we looked is one.
    pub(crate) fn told(&self) -> Vec<(u64, u64, String)> {
        let mut told: Vec<(u64, u64, String)> = Vec::new();
        for (first, (last, name)) in &self.used {
            match told.last_mut() {
                Some(before)
                    if before.1 + 1 >= *first && before.2 == *name && name.starts_with('[') =>
                {
                    before.1 = before.1.max(*last);
                }
                Some(before) => {
                    before.1 = before.1.min(first - 1);
                    told.push((*first, *last, name.clone()));
                }
                None => told.push((*first, *last, name.clone())),
            }
        }
        told
    }

    /// Pages whose process was gone, or had unmapped them, before we looked.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }
}

impl Known {
    /// The place of an address's mapping; all are read anew if it is not among those known.
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
            // A process that is gone has no mappings: those of its pages that are not known stay so.
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

    /// Whether a mapping begins where the dynamic loader's end: there Valgrind lays the heap.
    fn is_after_loader(&self, mapping: &Mapping) -> bool {
        let before = self.mappings.iter().find(|other| other.to == mapping.from);
        before.is_some_and(|before| {
            before
                .name
                .rsplit('/')
                .next()
                .is_some_and(|file| file.starts_with("ld-"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_our_own_are_known_and_those_of_nobody_are_not() {
        let mut regions = Regions::new(4096);
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
        let told = regions.told();
        assert!(
            told.len() == 1 && told[0].0 <= space | page && told[0].1 >= space | page,
            "{told:?}"
        );
        assert_eq!(regions.unknown(), 1);
    }

    #[test]
    fn regions_do_not_overlap() {
        let mut regions = Regions::new(4096);
        let entry = |last: u64, name: &str| (last, name.to_owned());
        regions.used = [
            (1, entry(9, "/a")),
            (5, entry(20, "/b")),
            (30, entry(30, "[s]")),
            (31, entry(35, "[s]")),
        ]
        .into();
        let told = regions.told();
        let told: Vec<(u64, u64, &str)> = told
            .iter()
            .map(|(first, last, name)| (*first, *last, name.as_str()))
            .collect();
        assert_eq!(told, [(1, 4, "/a"), (5, 20, "/b"), (30, 35, "[s]")]);
    }
}
