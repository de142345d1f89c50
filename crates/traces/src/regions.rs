//! The mappings in which a recorded program used pages.

use std::collections::BTreeMap;

/// Mappings by their first page; no page is in the list twice, whatever was mapped over it.
#[derive(Debug, Clone, Default)]
pub struct Regions {
    /// The last page and the name, by first page.
    used: BTreeMap<u64, (u64, String)>,
}

impl Regions {
    /// Returns true if a mapping with this page is known.
    pub fn has(&self, page: u64) -> bool {
        let before = self.used.range(..=page).next_back();
        before.is_some_and(|(_, (last, _))| *last >= page)
    }

    /// Adds a mapping, or makes the one that begins there longer.
    pub fn insert(&mut self, first: u64, last: u64, name: String) {
        self.used.insert(first, (last, name));
    }

    /// First page, last page and name; no two have a page in common. Memory that grew meanwhile is one region.
    pub fn list(&self) -> Vec<(u64, u64, String)> {
        let mut list: Vec<(u64, u64, String)> = Vec::new();
        for (first, (last, name)) in &self.used {
            match list.last_mut() {
                Some(before)
                    if before.1 + 1 >= *first && before.2 == *name && name.starts_with('[') =>
                {
                    before.1 = before.1.max(*last);
                }
                Some(before) => {
                    before.1 = before.1.min(first - 1);
                    list.push((*first, *last, name.clone()));
                }
                None => list.push((*first, *last, name.clone())),
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_do_not_overlap() {
        let mut regions = Regions::default();
        for (first, last, name) in [
            (1, 9, "/a"),
            (5, 20, "/b"),
            (30, 30, "[s]"),
            (31, 35, "[s]"),
        ] {
            regions.insert(first, last, name.to_owned());
        }
        assert!(regions.has(9) && regions.has(20) && !regions.has(21));
        let list = regions.list();
        let list: Vec<(u64, u64, &str)> = list
            .iter()
            .map(|(first, last, name)| (*first, *last, name.as_str()))
            .collect();
        assert_eq!(list, [(1, 4, "/a"), (5, 20, "/b"), (30, 35, "[s]")]);
    }
}
