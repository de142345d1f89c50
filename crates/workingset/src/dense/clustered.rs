//! Pages in few neighbourhoods, as a program's address space or a disk has them: a table of two levels, as the hardware's
//! page table.
//!
//! The upper part of a page's number names its group of 512, and each group has a row of 512 dense numbers. What is
//! looked up is a sixth of what a hash table of the pages would be, and nothing in it must be compared.
//!
//! Cost: 4 B for each page of a group, used or not, so at most 16 B for each page used, and 4 MiB.

use super::scattered::Scattered;
use crate::{Error, NONE, Page};

/// Pages of a group, as a power of two.
const GROUP: u32 = 9;
/// Numbers are looked up so many at a time.
const BLOCK: usize = 256;
/// Groups that are found without a hash, as a power of two: 128 GiB of addresses.
const NEAR: u32 = 16;
/// Pages of groups for each page that is used, at most; and how many more at any time: a trace may touch all of its
/// groups first.
const WASTE: usize = 4;
const START: usize = 1 << 20;

/// The dense numbers given so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Clustered {
    groups: Scattered,
    /// The rows of the first groups; [`NONE`] of one that has not been used.
    near: Vec<Page>,
    /// A row for each group; [`NONE`] where a page has not been used.
    rows: Vec<Page>,
    names: Vec<u64>,
    upper: Vec<u64>,
    row: Vec<Page>,
}

impl Clustered {
    /// Appends the dense numbers of pages to `out`, as long as their groups are used enough: says how many it took.
    pub(super) fn extend(&mut self, pages: &[u64], out: &mut Vec<Page>) -> Result<usize, Error> {
        let mut taken = 0;
        for block in pages.chunks(BLOCK) {
            if !self.is_dense() {
                break;
            }
            self.find_rows(block)?;
            self.rows.resize(self.groups.names().len() << GROUP, NONE);
            let place = |(page, row): (&u64, &Page)| (*row as usize) << GROUP | (page & ((1 << GROUP) - 1)) as usize;
            let begin = out.len();
            out.extend(block.iter().zip(&self.row).map(place).map(|place| self.rows[place]));
            // First uses are few: most blocks have none.
            if out[begin..].contains(&NONE) {
                for (at, page) in block.iter().enumerate() {
                    let number = &mut self.rows[place((page, &self.row[at]))];
                    if *number == NONE {
                        *number = super::next(&self.names)?;
                        self.names.push(*page);
                    }
                    out[begin + at] = *number;
                }
            }
            taken += block.len();
        }
        Ok(taken)
    }

    /// The row of each page's group, a new one if it has none.
    fn find_rows(&mut self, block: &[u64]) -> Result<(), Error> {
        self.row.clear();
        if block.iter().fold(0, |all, page| all | page) >> (GROUP + NEAR) == 0 {
            self.near.resize(1 << NEAR, NONE);
            self.row.extend(block.iter().map(|page| self.near[(page >> GROUP) as usize]));
            if !self.row.contains(&NONE) {
                return Ok(());
            }
            self.row.clear();
        }
        self.upper.clear();
        self.upper.extend(block.iter().map(|page| page >> GROUP));
        self.groups.extend(&self.upper, &mut self.row)?;
        for (group, row) in self.upper.iter().zip(&self.row) {
            if let Some(near) = self.near.get_mut(*group as usize) {
                *near = *row;
            }
        }
        Ok(())
    }

    /// Whether enough of the groups' pages are used.
    pub(super) fn is_dense(&self) -> bool {
        self.rows.len() <= START + WASTE * self.names.len()
    }

    /// The page that each dense number stands for.
    pub(super) fn names(&self) -> &[u64] {
        &self.names
    }

    /// Forgets the rows, keeps the pages.
    pub(super) fn into_names(self) -> Vec<u64> {
        self.names
    }
}
