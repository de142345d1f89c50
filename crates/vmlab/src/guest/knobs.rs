//! The kernel's settings that an arm may change, and whether they are as they were found.

use std::fs;

/// Settings that some arm may change.
const KNOBS: &[&str] = &[
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/extfrag_threshold",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/lru_gen/min_ttl_ms",
    "/proc/sys/vm/page-cluster",
    "/proc/sys/vm/workingset_protection",
    "/proc/sys/vm/anon_min_ratio",
    "/proc/sys/vm/clean_low_ratio",
    "/proc/sys/vm/clean_min_ratio",
];

/// The knobs at one moment; `None` for one that this kernel does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Knobs(Vec<Option<String>>);

impl Knobs {
    /// Reads them.
    pub(crate) fn read() -> Self {
        let values = KNOBS.iter().map(|path| fs::read_to_string(path).ok());
        Self(values.collect())
    }

    /// How many differ from `other`.
    pub(crate) fn changes(&self, other: &Self) -> u64 {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(before, after)| before != after).count() as u64
    }

    /// The knobs that now differ, except those that the lab itself wrote for the arm.
    pub(crate) fn not_as_found(&self, written: &[(String, String)]) -> Vec<String> {
        let now = Self::read();
        let mut left = Vec::new();
        for (index, path) in KNOBS.iter().enumerate() {
            let by_the_lab = written.iter().any(|(other, _)| other == path);
            if self.0.get(index) != now.0.get(index) && !by_the_lab {
                left.push((*path).to_owned());
            }
        }
        left
    }
}
