//! Pages in few neighbourhoods, as a program's address space or a disk has them: a table of two
//! levels, as the hardware's page table.
//!
//! The upper part of a page's number names its group of 512, and each group has a row of 512 dense
//! numbers. What is looked up is a sixth of what a hash table of the pages would be, and nothing in
//! it must be compared.
//!
//! Cost: 4 B for each page of a group, used or not, so at most 16 B for each page used, and 4 MiB.

use super::number::next;
use super::scattered::Scattered;
use crate::{Error, NONE, Page};

/// Pages of a group, as a power of two.
const GROUP: u32 = 9;
/// Numbers are looked up so many at a time.
const BLOCK: usize = 256;
/// Groups that are found without a hash, as a power of two: 128 GiB of addresses.
const NEAR: u32 = 16;
/// Pages of groups for each page that is used, at most; and how many more at any time: a trace may
/// touch all of its groups first.
const WASTE: usize = 4;
const START: usize = 1 << 20;

/// The dense numbers given so far.
#[derive(Debug, Clone)]
pub(super) struct Clustered {
    groups: Scattered,
    /// The rows of the first groups; 0 of one that has not been used.
    near: Vec<Page>,
    /// A row for each group, after one that stays empty; [`NONE`] where a page has not been used.
    rows: Vec<Page>,
    names: Vec<u64>,
    upper: Vec<u64>,
    row: Vec<Page>,
}

impl Default for Clustered {
    fn default() -> Self {
        let near = vec![0; 1 << NEAR];
        let rows = vec![NONE; 1 << GROUP];
        Self {
            groups: Scattered::default(),
            near,
            rows,
            names: Vec::new(),
            upper: Vec::new(),
            row: Vec::new(),
        }
    }
}

impl Clustered {
    /// Appends the dense numbers of pages to `out`, as long as their groups are used enough: says
    /// how many it took.
    pub(super) fn extend(&mut self, pages: &[u64], out: &mut Vec<Page>) -> Result<usize, Error> {
        let mut taken = 0;
        for block in pages.chunks(BLOCK) {
            if !self.is_dense() {
                break;
            }
            let begin = out.len();
            if block.iter().fold(0, |all, page| all | page) >> (GROUP + NEAR) == 0 {
                let near = &self.near[..1 << NEAR];
                let rows = &self.rows;
                out.extend(
                    block
                        .iter()
                        .map(|page| rows[place(near[(page >> GROUP) as usize], *page)]),
                );
            } else {
                self.find_rows(block)?;
                out.extend(
                    block
                        .iter()
                        .zip(&self.row)
                        .map(|(page, row)| self.rows[place(*row, *page)]),
                );
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

    /// The number of a page that had none when its block began.
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

    /// The row of each page's group, a new one if it has none.
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
        self.rows
            .resize((self.groups.names().len() + 1) << GROUP, NONE);
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

/// Where a page's number stands.
#[inline]
fn place(row: Page, page: u64) -> usize {
    (row as usize) << GROUP | (page & ((1 << GROUP) - 1)) as usize
}
