//! Pages anywhere: a hash table.
//!
//! Open addressing over 8-byte slots: the upper half of a slot is a tag of the page's hash, the
//! lower its dense number. A tag that fits is checked against the page's number. References are
//! looked up sixteen at a time, in two steps that do not wait for each other, so that memory's
//! latency is paid once for many.
//!
//! Cost: 8 B for each page, and 9 to 18 B in the table while loading. When the table grows, it is
//! made anew from the pages: there are never two.

use super::number::next;
use crate::rng::mix;
use crate::{Error, Page};

/// What no slot holds: a tag and the number of no page.
const EMPTY: u64 = u64::MAX;
const AT_ONCE: usize = 16;

/// The dense numbers given so far.
#[derive(Debug, Clone)]
pub(super) struct Scattered {
    slots: Vec<u64>,
    names: Vec<u64>,
    shift: u32,
}

impl Default for Scattered {
    fn default() -> Self {
        Self {
            slots: vec![EMPTY; 1 << 12],
            names: Vec::new(),
            shift: 64 - 12,
        }
    }
}

impl Scattered {
    /// The table of pages that have their numbers already.
    pub(super) fn of(names: Vec<u64>) -> Self {
        let mut table = Self {
            names,
            ..Self::default()
        };
        let size = (table.names.len() * 8 / 5 + 1)
            .next_power_of_two()
            .max(table.slots.len());
        table.fill(size);
        table
    }

    /// Appends the dense numbers of pages to `out`.
    pub(super) fn extend(&mut self, pages: &[u64], out: &mut Vec<Page>) -> Result<(), Error> {
        let mut chunks = pages.chunks_exact(AT_ONCE);
        for chunk in &mut chunks {
            let mut hashes = [0; AT_ONCE];
            let mut found = [0; AT_ONCE];
            let mut names = [0; AT_ONCE];
            for at in 0..AT_ONCE {
                hashes[at] = mix(chunk[at]);
                found[at] = self.slots[(hashes[at] >> self.shift) as usize];
            }
            for at in 0..AT_ONCE {
                names[at] = self
                    .names
                    .get((found[at] as u32) as usize)
                    .copied()
                    .unwrap_or(0);
            }
            let mut numbers = [0; AT_ONCE];
            for at in 0..AT_ONCE {
                let fits = tag(hashes[at]) == found[at] >> 32
                    && names[at] == chunk[at]
                    && found[at] != EMPTY;
                numbers[at] = if fits {
                    found[at] as u32
                } else {
                    self.number(chunk[at])?
                };
            }
            out.extend_from_slice(&numbers);
        }
        for page in chunks.remainder() {
            out.push(self.number(*page)?);
        }
        Ok(())
    }

    /// The dense number of a page, a new one if it has none.
    fn number(&mut self, page: u64) -> Result<Page, Error> {
        let hash = mix(page);
        let mask = self.slots.len() - 1;
        let mut place = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[place];
            if slot == EMPTY {
                break;
            }
            if slot >> 32 == tag(hash) && self.names[(slot as u32) as usize] == page {
                return Ok(slot as u32);
            }
            place = (place + 1) & mask;
        }
        let number = next(&self.names)?;
        self.names.push(page);
        self.slots[place] = tag(hash) << 32 | u64::from(number);
        if self.names.len() * 8 > self.slots.len() * 5 {
            self.fill(self.slots.len() * 2);
        }
        Ok(number)
    }

    /// The page that each dense number stands for.
    pub(super) fn names(&self) -> &[u64] {
        &self.names
    }

    /// Forgets the table, keeps the pages.
    pub(super) fn into_names(self) -> Vec<u64> {
        self.names
    }

    /// A table of this size, from the pages.
    fn fill(&mut self, size: usize) {
        self.slots = Vec::new();
        self.slots = vec![EMPTY; size];
        self.shift = 64 - size.trailing_zeros();
        for (number, page) in self.names.iter().enumerate() {
            let hash = mix(*page);
            let mut place = (hash >> self.shift) as usize;
            while self.slots[place] != EMPTY {
                place = (place + 1) & (size - 1);
            }
            self.slots[place] = tag(hash) << 32 | number as u64;
        }
    }
}

/// The lower half of the hash; its upper bits choose the slot.
#[inline]
fn tag(hash: u64) -> u64 {
    hash & 0xffff_ffff
}
