//! A program's code, as the kernel sees it: a file that is mapped and executed, so that its pages can be evicted and read again.

use super::Dice;
use super::memory::PAGE;
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
