//! Numbers pages densely, in the order of first use.
//!
//! ```text
//!   page ──► clustered: group of 512 ─► row ─► number
//!                │ too few pages of the groups are used
//!                ▼
//!            scattered: hash ─► slot ─► number
//! ```

mod clustered;
mod number;
mod scattered;

use crate::{Error, Page};
use clustered::Clustered;
use scattered::Scattered;

/// The dense numbers that pages have so far.
///
/// Cost: 8 B for each page. While loading at most 16 B more and 4 MiB if pages are neighbours, 18 B
/// more if they are not.
#[derive(Debug, Clone)]
pub struct Dense(Table);

#[derive(Debug, Clone)]
enum Table {
    Clustered(Clustered),
    Scattered(Scattered),
}

impl Default for Dense {
    fn default() -> Self {
        Self(Table::Clustered(Clustered::default()))
    }
}

impl Dense {
    /// Appends the dense numbers of pages to `out`.
    ///
    /// Errors: more pages than there are numbers.
    pub fn extend(&mut self, pages: &[u64], out: &mut Vec<Page>) -> Result<(), Error> {
        let mut left = pages;
        if let Table::Clustered(table) = &mut self.0 {
            left = &pages[table.extend(pages, out)?..];
            if !table.is_dense() {
                self.0 = Table::Scattered(Scattered::of(std::mem::take(table).into_names()));
            }
        }
        match &mut self.0 {
            Table::Scattered(table) => table.extend(left, out),
            Table::Clustered(_) => Ok(()),
        }
    }

    /// The page that each dense number stands for.
    pub fn names(&self) -> &[u64] {
        match &self.0 {
            Table::Clustered(table) => table.names(),
            Table::Scattered(table) => table.names(),
        }
    }

    /// Drops the tables, and keeps the pages.
    pub fn into_names(self) -> Vec<u64> {
        match self.0 {
            Table::Clustered(table) => table.into_names(),
            Table::Scattered(table) => table.into_names(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_are_those_of_a_map(pages in prop::collection::vec(prop_oneof![0..40_u64, any::<u64>()], 0..300)) {
            let mut dense = Dense::default();
            let mut got = Vec::new();
            let mut map = HashMap::new();
            dense.extend(&pages, &mut got).unwrap();
            let expected: Vec<u32> = pages.iter().map(|page| {
                let next = map.len() as u32;
                *map.entry(*page).or_insert(next)
            }).collect();
            prop_assert_eq!(&got, &expected);
            prop_assert!(got.iter().zip(&pages).all(|(number, page)| dense.names()[*number as usize] == *page));
        }
    }

    #[test]
    fn pages_far_apart_are_numbered_too() {
        let mut dense = Dense::default();
        let mut got = Vec::new();
        let pages: Vec<u64> = (0..100_000).map(|n| n << 12).collect();
        dense.extend(&pages, &mut got).unwrap();
        dense.extend(&pages, &mut got).unwrap();
        assert!(
            got.iter()
                .enumerate()
                .all(|(at, number)| *number as usize == at % 100_000)
        );
    }
}
