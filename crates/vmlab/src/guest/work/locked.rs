//! A file locked in memory, by `mlock(2)`.

#![allow(unsafe_code)]

use super::{Out, Words};
use anyhow::{Context, Result};
use memmap2::{Advice, Mmap};
use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Locks all of a file until the end of the load: the most that protecting it could achieve.
pub(super) fn lock(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let file = locked(Path::new(words.text(0)?))?;
    while out.goes_on() {
        sleep(Duration::from_millis(200));
        // Compaction unmaps large folios that it splits, locked ones too. Kernels without this advice have no such folios.
        let _ = file.advise(Advice::PopulateRead);
    }
    Ok(())
}

/// The file, read in and locked for as long as the mapping lives.
pub(super) fn locked(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    // SAFETY: a mapping must not change while it is borrowed. The file is on the machine's own disk, and no process of a
    // load writes to it or truncates it.
    let map = unsafe { Mmap::map(&file)? };
    map.lock()
        .with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(map)
}
