//! How old the pages of each control group are, by Multi-Gen LRU: `/sys/kernel/debug/lru_gen`, for root where debugfs is.
//!
//! Source: Documentation/admin-guide/mm/multigen_lru.rst of Linux, since 6.1.

use host::parse::lines::{lines, number, words};
use std::collections::BTreeMap;
use std::path::Path;
use units::Bytes;

/// Pages used within this time are warm: a minute, as long as `warmset top` is usually watched.
const WARM_MS: u64 = 60_000;
/// The youngest generations, which the kernel calls active.
const ACTIVE: usize = 2;

/// Warm memory of each control group, by its path.
#[derive(Debug, Default)]
pub(super) struct Ages {
    warm: BTreeMap<Vec<u8>, Bytes>,
}

impl Ages {
    /// Empty where the kernel does not tell.
    pub(super) fn read(root: &Path, page_size: Bytes) -> Self {
        std::fs::read(root.join("sys/kernel/debug/lru_gen"))
            .map(|text| Self::of(&text, page_size))
            .unwrap_or_default()
    }

    /// ```text
    /// memcg    12 /system.slice/a.service
    ///  node     0
    ///           0     93460          0          8         generation, age in ms, anonymous pages, file pages
    /// ```
    fn of(text: &[u8], page_size: Bytes) -> Self {
        let mut ages = Self::default();
        let mut group: Vec<u8> = Vec::new();
        // Of one node: the oldest comes first.
        let mut generations: Vec<(u64, u64)> = Vec::new();
        for line in lines(text) {
            if let Some(rest) = line.strip_prefix(b"memcg") {
                ages.put(&group, &mut generations, page_size);
                let path = rest
                    .iter()
                    .position(|byte| *byte == b'/')
                    .map_or(&b"/"[..], |from| &rest[from..]);
                group = path.to_vec();
            } else if line.trim_ascii_start().starts_with(b"node") {
                ages.put(&group, &mut generations, page_size);
            } else {
                generations.extend(generation(line));
            }
        }
        ages.put(&group, &mut generations, page_size);
        ages
    }

    /// Adds the warm ones of a node's generations to a group.
    fn put(&mut self, group: &[u8], generations: &mut Vec<(u64, u64)>, page_size: Bytes) {
        let from = generations.len().saturating_sub(ACTIVE);
        let young = generations
            .iter()
            .enumerate()
            .filter(|(index, (age, _))| *index >= from || *age <= WARM_MS);
        let pages: u64 = young.map(|(_, (_, pages))| *pages).sum();
        if !generations.is_empty() {
            *self.warm.entry(group.to_vec()).or_default() += page_size.scaled(pages, 1);
        }
        generations.clear();
    }

    /// Warm memory of the group at this path and of all below it; `None` where it is not told.
    pub(super) fn of_group(&self, path: &[u8]) -> Option<Bytes> {
        let is_in = |of: &[u8]| {
            of.strip_prefix(path)
                .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
        };
        let below = self
            .warm
            .range(path.to_vec()..)
            .take_while(|(of, _)| of.starts_with(path));
        let mut found = below
            .filter(|(of, _)| is_in(of))
            .map(|(_, warm)| *warm)
            .peekable();
        found.peek()?;
        Some(found.sum())
    }
}

/// The age in milliseconds and the pages of a generation: its number, age, anonymous pages, file pages.
fn generation(line: &[u8]) -> Option<(u64, u64)> {
    // A count that has just changed has a mark behind it.
    let mut numbers = words(line).map(|word| number(word.strip_suffix(b"x").unwrap_or(word)));
    numbers.next()??;
    let age = numbers.next()??;
    let anon = numbers.next()??;
    let file = numbers.next()??;
    Some((age, anon.saturating_add(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"memcg     1 /\n node     0\n          0       1000         10          20 \n\
memcg    12 /a.service\n node     0\n          3     900000        100         200 \n          4      50000          1          2 \n\
          5      40000          3          4 \n          6       1000          5          6 \n node     1\n          0     900000        700          0 \n\
memcg    13 /a.service/b\n node     0\n          0       1000          0          9x\n";

    #[test]
    fn the_youngest_and_what_was_used_of_late_are_warm() {
        let ages = Ages::of(TEXT, Bytes::new(1));
        assert_eq!(ages.of_group(b"/a.service/b"), Some(Bytes::new(9)));
        // On its second node the only generation is the youngest.
        assert_eq!(ages.of_group(b"/a.service"), Some(Bytes::new(21 + 700 + 9)));
        assert_eq!(ages.of_group(b"/a.serv"), None);
        assert_eq!(
            Ages::of(b"memcg 1 /x\nnonsense 1\n", Bytes::new(1)).of_group(b"/x"),
            None
        );
    }
}
