//! `/proc/PID/pagemap`: eight bytes for each page of a process.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;

/// In an entry: the page is in memory.
pub const PRESENT: u64 = 1 << 63;
/// It is in swap.
pub const SWAPPED: u64 = 1 << 62;
/// The number of its frame; 0 without CAP_SYS_ADMIN.
pub const FRAME: u64 = (1 << 55) - 1;
/// Entries read at once: 32 KiB, so that a system call is worth its cost.
const ENTRIES: usize = 1 << 12;

/// Tells `each` the entries of these pages, until it has enough.
pub fn entries(
    map: &File,
    pages: Range<u64>,
    mut each: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut page = pages.start;
    let mut bytes = vec![0; ENTRIES * 8];
    while page < pages.end {
        let wanted =
            usize::try_from(pages.end - page).map_or(ENTRIES, |left| left.min(ENTRIES)) * 8;
        let read = map.read_at(&mut bytes[..wanted], page * 8)?;
        if read < 8 {
            break;
        }
        for entry in bytes[..read].chunks_exact(8) {
            let entry = u64::from_ne_bytes(entry.try_into().unwrap_or_default());
            if each(page, entry).is_break() {
                return Ok(());
            }
            page += 1;
        }
    }
    Ok(())
}
