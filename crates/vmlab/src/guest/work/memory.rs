//! Anonymous memory, touched at random or in order.

use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::{Advice, MmapMut, UncheckedAdvice};

/// A page.
pub(super) const PAGE: usize = 4096;
/// A MiB.
pub(super) const MIB: usize = 1 << 20;
/// Pages that are touched between two readings of the clock, so that reading it adds little.
const BATCH: u64 = 64;

/// Maps memory of this many MiB, in small pages or in huge ones.
pub(super) fn take(mib: usize, advice: Advice) -> Result<MmapMut> {
    let memory = MmapMut::map_anon((mib * MIB).max(PAGE))?;
    // A kernel without huge pages has no such advice, and needs none.
    let _ = memory.advise(advice);
    Ok(memory)
}

/// Writes the first byte of a page, which faults the first time. It must not be read before: the kernel would map its
/// page of zeros, and split a huge page at the write.
pub(super) fn touch_page(memory: &mut MmapMut, page: usize) {
    if let Some(byte) = memory.get_mut(page * PAGE) {
        *byte = 1;
    }
}

/// Touches each page of one MiB once.
pub(super) fn touch_mib(memory: &mut MmapMut, mib: usize) {
    const PAGES: usize = MIB / PAGE;
    for page in 0..PAGES {
        touch_page(memory, mib * PAGES + page);
    }
}

/// A set that is used all the time: touches batches of pages at random, and times each.
pub(super) fn touch(words: &Words<'_>) -> Result<()> {
    const PAUSE_MS: f64 = 20.0;
    let out = Out::new();
    let mut memory = take(words.number(0)?, Advice::NoHugePage)?;
    // Bytes that zram cannot compress.
    let mut dice = Dice::seeded(words.own());
    dice.fill(&mut memory);
    let pages = (memory.len() / PAGE) as u64;
    while out.goes_on() {
        let began = now();
        for _ in 0..BATCH {
            touch_page(&mut memory, dice.below(pages) as usize);
        }
        out.op("touch", began);
        sleep_until(now() + PAUSE_MS, out.window.until);
    }
    Ok(())
}

/// What a long life of a machine leaves behind: memory in which every second page is in use. The kernel may move these
/// pages, and has no block of two beside them until it does.
pub(super) fn holes(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mib: usize = words.number(0)?;
    let mut memory = take(mib, Advice::NoHugePage)?;
    for begin in (0..mib).map(|mib| mib * MIB) {
        touch_mib(&mut memory, begin / MIB);
        for at in (begin..begin + MIB).step_by(2 * PAGE) {
            give_back(&mut memory, at as u64, (at + PAGE) as u64)?;
        }
    }
    sleep_until(out.window.until, out.window.until);
    Ok(())
}

/// Gives back the pages from `from` on.
#[allow(unsafe_code)]
pub(super) fn give_back(memory: &mut MmapMut, from: u64, to: u64) -> Result<()> {
    let start = (from as usize).next_multiple_of(PAGE);
    let end = (to as usize).next_multiple_of(PAGE).min(memory.len());
    if start >= end {
        return Ok(());
    }
    // SAFETY: no reference into this range is held, and what was in it is not read again.
    unsafe {
        memory.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start)?;
        // The same for shared memory, of which DONTNEED frees nothing. Anonymous memory has no such advice.
        let _ = memory.unchecked_advise_range(UncheckedAdvice::Remove, start, end - start);
    }
    Ok(())
}

/// A cyclic scan: LRU's worst case when it does not fit.
pub(super) fn sweep(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mib: usize = words.number(0)?;
    let mut memory = take(mib, Advice::NoHugePage)?;
    while pass(&out, &mut memory) {}
    Ok(())
}

/// A use-once scan.
pub(super) fn sweep_once(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let mut memory = take(words.number(0)?, Advice::NoHugePage)?;
    pass(&out, &mut memory);
    Ok(())
}

/// Touches all of it once. Returns false if the load ended.
fn pass(out: &Out, memory: &mut MmapMut) -> bool {
    for mib in 0..memory.len() / MIB {
        touch_mib(memory, mib);
        out.sum("swept_mib", 1.0);
        if !out.goes_on() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_touched() {
        let mut memory = take(2, Advice::NoHugePage).unwrap();
        let pages = memory.len() / PAGE;
        for page in 0..pages {
            touch_page(&mut memory, page);
        }
        assert!(memory.chunks(PAGE).all(|page| page[0] == 1));
        touch_page(&mut memory, pages);
    }
}
