//! A file locked in memory, by `mlock(2)`.

#![allow(unsafe_code)]

use super::{Out, Words};
use anyhow::{Context, Result};
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Locks all of a file until the end: what protection of it could do at best.
pub(super) fn lock(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let file = locked(Path::new(words.text(0)?))?;
    while out.goes_on() {
        sleep(Duration::from_millis(200));
        // Large folios that compaction splits are unmapped, locked or not. Kernels without this advice have none.
        let _ = file.advise(Advice::PopulateRead);
    }
    Ok(())
}

/// The file, read in and locked for as long as the mapping lives.
pub(super) fn locked(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    // SAFETY: the file is on the machine's own disk and nothing writes to it.
    let map = unsafe { Mmap::map(&file)? };
    map.lock()
        .with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(map)
}
