//! The file cache of a play: blocks of the data disk.
//!
//! What is in use is mapped and touched at random, as the code of programs is. The Multi-Gen LRU takes such pages for in use,
//! so a wait for one of them is a stall for memory. Pages that are touched in order, or read by `read(2)`, it does not.

#![allow(unsafe_code)]

use crate::clock::now;
use anyhow::{Context, Result};
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;
use warmset_vmlab::decisions::play::FileCache;
use warmset_vmlab::dice::Dice;

/// How much is read at once.
const BLOCK: u64 = 128 << 10;
const PAGE: usize = 4096;
/// The thread needs next to nothing, and all that it has is locked in memory.
const STACK: usize = 64 << 10;
/// Time between two looks at the clock.
const STEP: Duration = Duration::from_millis(20);
/// A machine that stood still for longer is not made to catch up.
const LONGEST_STEP_S: f64 = 0.5;

/// Reads all of it once.
pub(super) fn fill(cache: &FileCache) -> Result<()> {
    let file = open(cache)?;
    let mut buffer = vec![0; BLOCK as usize];
    for at in (0..cache.size).step_by(BLOCK as usize) {
        // A disk that cannot be read is slower than one that can; that is all it is used for.
        let _ = file.read_at(&mut buffer, at);
    }
    Ok(())
}

/// Touches what is in use until the machine ends, by a thread of its own: a wait for the disk must not keep the play from
/// being looked at.
pub(super) fn use_it(cache: &FileCache) -> Result<()> {
    if cache.touches == 0 || cache.in_use == 0 {
        return Ok(());
    }
    let file = open(cache)?;
    // SAFETY: nothing shrinks the disk, and what is read there is not used.
    let mapped = unsafe { MmapOptions::new().len(cache.in_use as usize).map(&file)? };
    // All memory of this process is locked, and this must not be.
    mapped.unlock()?;
    let rate = cache.touches as f64 / PAGE as f64;
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || touch(&mapped, rate))?;
    Ok(())
}

/// Touches so many pages a second.
fn touch(mapped: &Mmap, rate: f64) {
    let pages = mapped.len().div_ceil(PAGE) as u64;
    let mut dice = Dice::seeded(pages);
    let mut last = now();
    let mut due = 0.0;
    loop {
        thread::sleep(STEP);
        let time = now();
        due += rate * ((time - last) / 1e3).min(LONGEST_STEP_S);
        last = time;
        while due >= 1.0 {
            due -= 1.0;
            let page = dice.below(pages) as usize;
            std::hint::black_box(mapped.get(page * PAGE).copied());
        }
    }
}

fn open(cache: &FileCache) -> Result<File> {
    File::open(&cache.device).with_context(|| format!("cannot open {}", cache.device))
}
