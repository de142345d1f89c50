//! Pages anywhere: a hash table.
//!
//! It has open addressing over 8-byte slots. The upper half of a slot is a tag of the page's hash,
//! the lower half its dense number. A tag that matches is checked against the page's number.
//! References are looked up sixteen at a time, in two steps that do not wait for each other, so
//! memory's latency is paid once for many.
//!
//! Cost: 8 B for each page, and 9 to 18 B in the table while loading. A table that grows is made
//! anew from the pages, so there are never two.

use super::number::next;
use crate::rng::mix;
use crate::{Error, Page};

/// An empty slot: its dense number is that of no page.
const EMPTY: u64 = u64::MAX;
/// References that are looked up at a time: about as many loads as a core has under way.
const AT_ONCE: usize = 16;
/// A table grows when more than so many of 8 slots are full: probes get long above it.
const FULL: usize = 5;

/// The dense numbers that pages have so far.
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
        let slots = table.names.len() * 8 / FULL + 1;
        let size = slots.next_power_of_two().max(table.slots.len());
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
                let number = (found[at] as u32) as usize;
                names[at] = self.names.get(number).copied().unwrap_or(0);
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

    /// The dense number of a page. A page without one gets the next.
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
        if self.names.len() * 8 > self.slots.len() * FULL {
            self.fill(self.slots.len() * 2);
        }
        Ok(number)
    }

    /// The page that each dense number stands for.
    pub(super) fn names(&self) -> &[u64] {
        &self.names
    }

    /// Drops the table, and keeps the pages.
    pub(super) fn into_names(self) -> Vec<u64> {
        self.names
    }

    /// Makes a table of this size from the pages.
    fn fill(&mut self, size: usize) {
        // The old table is freed first, so that there are never two.
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

/// The tag of a hash: its lower half, since the upper bits choose the slot.
#[inline]
fn tag(hash: u64) -> u64 {
    hash & 0xffff_ffff
}
