//! Pages in few neighbourhoods, as in a program's address space or on a disk: a table of two
//! levels, like the hardware's page table.
//!
//! The upper part of a page's number names its group of 512 pages, and each group has a row of 512
//! dense numbers. So what is looked up is a sixth of a hash table of the pages, and nothing in it
//! must be compared.
//!
//! Cost: 4 B for each page of a group, used or not, so at most 16 B for each page used, and 4 MiB.

use super::number::next;
use super::scattered::Scattered;
use crate::{Error, NONE, Page};

/// Pages of a group, as a power of two: those of one page of a page table, which programs use
/// together.
const GROUP: u32 = 9;
/// Pages that are looked up at a time: enough to hide memory's latency, few enough for the first
/// cache.
const BLOCK: usize = 256;
/// Groups that are found without a hash, as a power of two: 128 GiB of addresses, for 256 KiB of
/// memory.
const NEAR: u32 = 16;
/// The most numbers in rows for each page that is used: 16 B, as a hash table would need.
const WASTE: usize = 4;
/// Numbers in rows that are allowed beside that, 4 MiB: a trace may touch all of its groups before
/// it uses their pages.
const START: usize = 1 << 20;

/// The dense numbers that pages have so far.
#[derive(Debug, Clone)]
pub(super) struct Clustered {
    groups: Scattered,
    /// The row of each of the first groups; 0 if the group has not been used.
    near: Vec<Page>,
    /// One row that stays empty, then a row for each group. [`NONE`] stands for a page that has not
    /// been used.
    rows: Vec<Page>,
    names: Vec<u64>,
    /// The groups and rows of a block: kept so that their memory is used again.
    upper: Vec<u64>,
    row: Vec<Page>,
}

impl Default for Clustered {
    fn default() -> Self {
        Self {
            groups: Scattered::default(),
            near: vec![0; 1 << NEAR],
            rows: vec![NONE; 1 << GROUP],
            names: Vec::new(),
            upper: Vec::new(),
            row: Vec::new(),
        }
    }
}

impl Clustered {
    /// Appends the dense numbers of pages to `out`, as long as enough of the groups' pages are
    /// used.
    ///
    /// Returns how many pages it has numbered.
    pub(super) fn extend(&mut self, pages: &[u64], out: &mut Vec<Page>) -> Result<usize, Error> {
        let mut taken = 0;
        for block in pages.chunks(BLOCK) {
            if !self.is_dense() {
                break;
            }
            let begin = out.len();
            // One test for the whole block: its pages are near if no bit of any is above.
            let bits = block.iter().fold(0, |bits, page| bits | page);
            if bits >> (GROUP + NEAR) == 0 {
                let near = &self.near[..1 << NEAR];
                let rows = &self.rows;
                out.extend(block.iter().map(|page| {
                    let row = near[(page >> GROUP) as usize];
                    rows[place(row, *page)]
                }));
            } else {
                self.find_rows(block)?;
                let pages = block.iter().zip(&self.row);
                out.extend(pages.map(|(page, row)| self.rows[place(*row, *page)]));
            }
            for (number, page) in out[begin..].iter_mut().zip(block) {
                if *number == NONE {
                    *number = self.number(*page)?;
                }
            }
            taken += block.len();
        }
        Ok(taken)
    }

    /// Numbers a page that had no number when its block began.
    fn number(&mut self, page: u64) -> Result<Page, Error> {
        let row = match self.near.get((page >> GROUP) as usize) {
            Some(row) if *row != 0 => *row,
            _ => {
                self.find_rows(&[page])?;
                self.row[0]
            }
        };
        let number = &mut self.rows[place(row, page)];
        if *number == NONE {
            *number = next(&self.names)?;
            self.names.push(page);
        }
        Ok(*number)
    }

    /// Finds the row of each page's group, and makes new rows.
    fn find_rows(&mut self, block: &[u64]) -> Result<(), Error> {
        self.upper.clear();
        self.upper.extend(block.iter().map(|page| page >> GROUP));
        self.row.clear();
        self.groups.extend(&self.upper, &mut self.row)?;
        for (group, row) in self.upper.iter().zip(&mut self.row) {
            *row += 1;
            if let Some(near) = self.near.get_mut(*group as usize) {
                *near = *row;
            }
        }
        let rows = self.groups.names().len() + 1;
        self.rows.resize(rows << GROUP, NONE);
        Ok(())
    }

    /// Returns true if enough of the groups' pages are used.
    pub(super) fn is_dense(&self) -> bool {
        self.rows.len() <= START + WASTE * self.names.len()
    }

    /// The page that each dense number stands for.
    pub(super) fn names(&self) -> &[u64] {
        &self.names
    }

    /// Drops the rows, and keeps the pages.
    pub(super) fn into_names(self) -> Vec<u64> {
        self.names
    }
}

/// The place of a page's number in the rows.
#[inline]
fn place(row: Page, page: u64) -> usize {
    let within = (page & ((1 << GROUP) - 1)) as usize;
    (row as usize) << GROUP | within
}
