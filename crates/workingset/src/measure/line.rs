//! Stack distances by a line of bits: a slot for each use in order, with a bit at the last use of each page.
//!
//! The distance of a use is the number of bits from its page's last use on. That bit is cleared then, and one is set at the end of
//! the line. Counts of the bits before each part of the line are kept at four levels, so that neither takes more than a few cache
//! lines. When the line is full, its bits are moved together.
//!
//! ```text
//!   word, 64 slots ─7→ block, a cache line with its own counts ─64→ row ─64→ shelf
//! ```
//!
//! - Early exit: a bit in the block that is being filled has no count after it. So what a program used a moment ago costs one
//!   cache line, and a loop over a few hundred pages stays in the first-level cache.
//! - Cost: O(1) for near uses, for others up to 64 subtractions at each level, in a row; 4 B for each page, and half a byte for its
//!   share of the line.
//! - Source: Bennett, Kruskal, IBM J. Res. Dev. 19(4), 1975 (counts over a line of last uses); Almási, Cașcaval, Padua, MSP 2002
//!   (moving together); Zhou, Andersen, Kaminsky, SEA 2013 (counts in the cache line of their bits).

use crate::{NONE, Page, ahead};

/// Words of bits in a block; the eighth word of its cache line has their counts.
const WORDS: u32 = 7;
/// Slots of a block.
const SLOTS: u32 = WORDS * 64;
/// Bits of a slot's number that are its place in the block. It has the shape of a cache line's 512 bits, of which the last 64 are
/// no slots.
const PLACE: u32 = 9;
/// Blocks of a row, and rows of a shelf: the counts of a row of blocks fit in 16 bits, and in two cache lines.
const ROW: usize = 64;
/// Slots for each page when the bits have been moved together. With more, the line leaves the cache; with fewer, moving them
/// together takes longer than the uses between. 3 and 6 are as fast.
const ROOM: usize = 4;
/// The most blocks: a slot's number has 32 bits. With the pages that this leaves no room for, 3.7·10^9, the last uses alone take
/// 15 GB.
const MOST: usize = (1 << (32 - PLACE)) - 1;
/// Blocks of the shortest line: 2 KiB, which leaves the first-level cache to the rest.
const LEAST: usize = 32;
/// For how many uses a count is put off while it is fetched: the least that hides a miss of the caches.
const LATE: usize = 8;

/// A cache line: seven words of bits, and in the eighth, for each word and for the whole, the number of bits before, in 9 bits each.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Block([u64; 8]);

/// What a bit in each word adds to the counts of its block: one to those of all words after it. The eighth word has no bits.
const COUNTED: [u64; 8] = {
    let mut counted = [0; 8];
    let mut word = 0;
    while word < WORDS {
        let mut later = word;
        while later < WORDS {
            counted[word as usize] |= 1 << (PLACE * later);
            later += 1;
        }
        word += 1;
    }
    counted
};
/// A block with a bit in every slot.
const FULL: Block = {
    let mut words = [u64::MAX; 8];
    words[7] = 0;
    let mut word = 0;
    while word < 7 {
        words[7] += 64 * COUNTED[word];
        word += 1;
    }
    Block(words)
};

impl Block {
    /// Bits in the block.
    #[inline]
    fn all(&self) -> u32 {
        (self.0[7] >> (PLACE * (WORDS - 1))) as u32
    }

    /// Bits before a slot of the block.
    #[inline]
    fn before(&self, slot: u32) -> u32 {
        let word = slot >> 6 & 7;
        let earlier = (self.0[7] << PLACE) >> (PLACE * word) & ((1 << PLACE) - 1);
        let below = self.0[word as usize] & ((1 << (slot & 63)) - 1);
        earlier as u32 + below.count_ones()
    }

    #[inline]
    fn set(&mut self, slot: u32) {
        let word = (slot >> 6 & 7) as usize;
        self.0[word] |= 1 << (slot & 63);
        self.0[7] += COUNTED[word];
    }

    #[inline]
    fn clear(&mut self, slot: u32) {
        let word = (slot >> 6 & 7) as usize;
        self.0[word] &= !(1 << (slot & 63));
        self.0[7] -= COUNTED[word];
    }
}

/// The last use of each page on a line of uses.
#[derive(Debug, Default)]
pub(super) struct Line {
    blocks: Vec<Block>,
    /// Bits of the same row before each block. Here and below, only what has been begun is right.
    in_row: Vec<[u16; ROW]>,
    /// Bits of the same shelf before each row.
    in_shelf: Vec<[u32; ROW]>,
    /// Bits before each shelf.
    shelves: Vec<u32>,
    /// One more than the slot of each page's last use; 0 for a page that has none.
    last: Vec<u32>,
    /// Pages with a last use: bits on the line.
    pages: u32,
    /// The next slot.
    next: u32,
}

impl Line {
    /// Makes room for pages numbered `0..pages`.
    pub(super) fn grow(&mut self, pages: usize) {
        if self.last.is_empty() {
            // Zeros that need not be written.
            self.last = vec![0; pages];
        } else {
            self.last.resize(pages.max(self.last.len()), 0);
        }
    }

    /// Uses pages in order: adds to `hits` at the depth of each, and appends those that had not been used to `firsts`.
    pub(super) fn run(&mut self, refs: &[Page], hits: &mut [u64], firsts: &mut Vec<Page>) {
        // A page's last use and a count at some depth.
        let bytes = self.last.len() * 12;
        if ahead::pays(bytes) {
            self.run_ahead::<true>(refs, hits, firsts);
        } else {
            self.run_ahead::<false>(refs, hits, firsts);
        }
    }

    fn run_ahead<const FAR: bool>(
        &mut self,
        refs: &[Page],
        hits: &mut [u64],
        firsts: &mut Vec<Page>,
    ) {
        let mut before = NONE;
        let mut late = [0; LATE];
        for (at, page) in refs.iter().enumerate() {
            if FAR {
                if let Some(page) = refs.get(at + ahead::STEPS) {
                    ahead::fetch(&self.last, *page as usize);
                }
                if let Some(page) = refs.get(at + ahead::STEPS / 2) {
                    let slot = self.last[*page as usize].saturating_sub(1);
                    ahead::fetch(&self.blocks, (slot >> PLACE) as usize);
                }
            }
            // A page right after itself is at depth 1, and changes no other depth.
            if *page == before {
                hits[1] += 1;
                continue;
            }
            before = *page;
            let depth = self.put(*page);
            if depth == 0 {
                firsts.push(*page);
            } else if FAR {
                ahead::fetch(hits, depth as usize);
                let due = std::mem::replace(&mut late[at % LATE], depth);
                hits[due as usize] += 1;
            } else {
                hits[depth as usize] += 1;
            }
        }
        for depth in late {
            hits[depth as usize] += 1;
        }
        hits[0] = 0;
    }

    /// Uses a page. Returns its depth on the stack, 1 for the page used last; 0 for one that has not been used.
    #[inline]
    pub(super) fn put(&mut self, page: Page) -> u32 {
        if self.next & ((1 << PLACE) - 1) == SLOTS || self.blocks.is_empty() {
            self.begin_next();
        }
        let end = (self.next >> PLACE) as usize;
        let last = std::mem::replace(&mut self.last[page as usize], self.next + 1);
        let mut depth = 0;
        if last == 0 {
            self.pages += 1;
        } else {
            let slot = last - 1;
            let at = (slot >> PLACE) as usize;
            let block = &mut self.blocks[at];
            let before = block.before(slot);
            let all = block.all();
            block.clear(slot);
            depth = if at == end {
                all - before
            } else {
                self.pages - self.take(at, end) - before
            };
        }
        self.blocks[end].set(self.next);
        self.next += 1;
        depth
    }

    /// Takes a bit out of the counts after a block. Returns the number of bits before the block.
    #[inline]
    fn take(&mut self, at: usize, end: usize) -> u32 {
        let row = at / ROW;
        let last_row = end / ROW;
        let shelf = row / ROW;
        let before = self.before(at);
        if row == last_row {
            for later in &mut self.in_row[row][at % ROW + 1..=end % ROW] {
                *later -= 1;
            }
            return before;
        }
        // Whole rows, without a branch that depends on the place. What has not been begun is counted anew when it is.
        let own = (at % ROW) as u16;
        for (place, count) in (0..).zip(&mut self.in_row[row]) {
            *count = count.wrapping_sub(u16::from(place > own));
        }
        let own = (row % ROW) as u32;
        for (place, count) in (0..).zip(&mut self.in_shelf[shelf]) {
            *count = count.wrapping_sub(u32::from(place > own));
        }
        for later in &mut self.shelves[shelf + 1..=last_row / ROW] {
            *later -= 1;
        }
        before
    }

    /// Goes on to the next block; at the end of the line, moves its bits together first.
    #[cold]
    fn begin_next(&mut self) {
        let at = if self.blocks.is_empty() {
            0
        } else {
            (self.next >> PLACE) as usize + 1
        };
        if at == self.blocks.len() {
            self.move_together();
        } else {
            self.begin(at);
            self.next = (at << PLACE) as u32;
        }
    }

    /// Counts the bits before a block, of which all is known up to the one before it.
    fn begin(&mut self, at: usize) {
        let Some(earlier) = at.checked_sub(1) else {
            return;
        };
        let all = self.before(earlier) + self.blocks[earlier].all();
        let row = at / ROW;
        let shelf = row / ROW;
        if row % ROW == 0 && at % ROW == 0 {
            self.shelves[shelf] = all;
        }
        if at % ROW == 0 {
            self.in_shelf[shelf][row % ROW] = all - self.shelves[shelf];
        }
        let before_row = self.shelves[shelf] + self.in_shelf[shelf][row % ROW];
        self.in_row[row][at % ROW] = (all - before_row) as u16;
    }

    /// Bits before a block.
    #[inline]
    fn before(&self, at: usize) -> u32 {
        let row = at / ROW;
        let shelf = row / ROW;
        u32::from(self.in_row[row][at % ROW])
            + self.in_shelf[shelf][row % ROW]
            + self.shelves[shelf]
    }

    /// Gives the last uses the first slots, in their order, on a line with room for what comes.
    fn move_together(&mut self) {
        for page in 0..self.last.len() {
            let last = self.last[page];
            if last != 0 {
                let slot = last - 1;
                let at = (slot >> PLACE) as usize;
                let order = self.before(at) + self.blocks[at].before(slot);
                self.last[page] = ((order / SLOTS) << PLACE) + order % SLOTS + 1;
            }
        }
        let wanted = (self.pages as usize * ROOM).div_ceil(SLOTS as usize);
        let blocks = wanted.min(MOST);
        if blocks > self.blocks.len() || self.blocks.is_empty() {
            let blocks = blocks.max(LEAST);
            // The old line is dropped first, so that there is never more than one.
            self.blocks = Vec::new();
            self.blocks = vec![Block::default(); blocks];
            self.in_row = vec![[0; ROW]; blocks.div_ceil(ROW)];
            self.in_shelf = vec![[0; ROW]; self.in_row.len().div_ceil(ROW)];
            self.shelves = vec![0; self.in_shelf.len()];
        } else {
            self.blocks.fill(Block::default());
        }
        let mut left = self.pages;
        let mut at = 0;
        self.begin(at);
        while left >= SLOTS {
            self.blocks[at] = FULL;
            left -= SLOTS;
            at += 1;
            self.begin(at);
        }
        self.next = (at << PLACE) as u32;
        for _ in 0..left {
            self.blocks[at].set(self.next);
            self.next += 1;
        }
    }

    /// Pages that have been used, from the one used first to the one used last.
    pub(super) fn in_order(&self) -> Vec<Page> {
        let mut order: Vec<Page> = (0..self.last.len() as Page)
            .filter(|page| self.last[*page as usize] != 0)
            .collect();
        order.sort_unstable_by_key(|page| self.last[*page as usize]);
        order
    }
}
