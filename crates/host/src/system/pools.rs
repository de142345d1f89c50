//! The pools of huge pages.

use super::clock::Pace;
use super::source::{Length, Source};
use pressure::sample::{Pool, PoolAmounts};
use pressure::section::Section;
use std::fs;
use std::path::Path;
use std::time::Duration;
use units::Bytes;

/// All pools, by the size of their pages.
#[derive(Debug)]
pub(super) struct Pools {
    list: Vec<PoolFiles>,
    last: Vec<Pool>,
    pace: Pace,
}

/// One file for each field of [`PoolAmounts`].
#[derive(Debug)]
struct PoolFiles {
    size: Bytes,
    files: Vec<Source>,
}

impl Pools {
    /// Looks for pools under `root`, and opens their files. The kernel makes them at boot.
    pub(super) fn scan(root: &Path) -> Self {
        let directory = root.join("sys/kernel/mm/hugepages");
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut list: Vec<PoolFiles> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let kib: u64 = name
                    .to_str()?
                    .strip_prefix("hugepages-")?
                    .strip_suffix("kB")?
                    .parse()
                    .ok()?;
                let file = |name| Source::open(entry.path().join(name), Length::One, 64);
                let files = PoolAmounts::FIELDS
                    .iter()
                    .map(|field| file(field.name))
                    .collect();
                Some(PoolFiles {
                    size: Bytes::kib(kib),
                    files,
                })
            })
            .collect();
        list.sort_by_key(|pool| pool.size);
        Self {
            last: Vec::with_capacity(list.len()),
            list,
            pace: Pace::every(1),
        }
    }

    pub(super) fn read(&mut self, at: Duration, pools: &mut Vec<Pool>) {
        if self.pace.is_due(at) {
            self.last.clear();
            self.last.extend(self.list.iter_mut().map(PoolFiles::read));
        }
        pools.clone_from(&self.last);
    }

    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.list.iter().flat_map(|pool| &pool.files)
    }
}

impl PoolFiles {
    fn read(&mut self) -> Pool {
        let mut amounts = PoolAmounts::default();
        for (index, source) in self.files.iter_mut().enumerate() {
            amounts.set(index, source.number());
        }
        Pool {
            size: self.size,
            amounts,
        }
    }
}
