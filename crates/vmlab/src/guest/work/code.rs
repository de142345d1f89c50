//! A program's code, as the kernel sees it: a file that is mapped and executed, so that its pages can be evicted and read again.
//! And a file of which only a part is in use.

use super::memory::{MIB, PAGE};
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::{Context, Result};
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::hint::black_box;

/// The whole of a file, mapped.
pub(super) struct Code(Mmap);

impl Code {
    pub(super) fn of(path: &str) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {path}"))?;
        // SAFETY: a mapping must not change while it is borrowed. The file is on the machine's own disk, and no process of a load
        // writes to it or truncates it.
        #[allow(unsafe_code)]
        let pages = unsafe { MmapOptions::new().map_exec(&file)? };
        Ok(Self(pages))
    }

    /// Reads a byte of one of its pages, each as likely as another.
    pub(super) fn touch(&self, dice: &mut Dice) {
        let pages = (self.0.len() / PAGE) as u64;
        let page = dice.below(pages) as usize;
        black_box(self.0.get(page * PAGE).copied());
    }
}

/// A program with a working set that is known: all pages of a file once, then those of its first part once a second.
pub(super) fn part(words: &Words<'_>) -> Result<()> {
    const PERIOD_MS: f64 = 1000.0;
    let out = Out::new();
    let path = words.text(0)?;
    let part: usize = words.number(1)?;
    let file = File::open(path).with_context(|| format!("cannot read {path}"))?;
    // SAFETY: as in `Code::of`.
    #[allow(unsafe_code)]
    let pages = unsafe { Mmap::map(&file)? };
    let touch = |page: usize| black_box(pages.get(page * PAGE).copied());
    for page in 0..pages.len() / PAGE {
        touch(page);
    }
    while out.goes_on() {
        let began = now();
        for page in 0..part * MIB / PAGE {
            touch(page);
        }
        out.op("pass", began);
        sleep_until(began + PERIOD_MS, out.window.until);
    }
    Ok(())
}
