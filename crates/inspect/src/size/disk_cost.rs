//! What it costs to read a page again, by what this machine's disks took so far.

use host::parse::lines::{lines, number, words};
use std::path::Path;
use units::{Bytes, Micros};

/// Half of a random read from a cloud disk (about 100 µs), since readahead brings several pages at once. Less takes memory
/// faster, and too fast where disks have read little yet.
const LEAST: Micros = Micros::new(50);
/// Pages that must have been read for an average to mean something: 4 MiB.
const ENOUGH: u64 = 1024;
/// Bytes of a sector, whatever the disk's own are.
const SECTOR: u64 = 512;

/// The time of a read for each page, on average over all disks since boot, and never less than 50 µs.
///
/// It is an assumption: a disk that has streamed files takes longer for single pages. Source:
/// Documentation/admin-guide/iostats.rst.
pub fn cost_of_a_page(root: &Path, page: Bytes) -> Micros {
    let text = std::fs::read(root.join("proc/diskstats")).unwrap_or_default();
    by(&text, page).unwrap_or(LEAST).max(LEAST)
}

/// `None` if too little was read.
fn by(text: &[u8], page: Bytes) -> Option<Micros> {
    let mut sectors: u64 = 0;
    let mut milliseconds: u64 = 0;
    for line in lines(text) {
        // Major and minor number, name, reads, reads merged, sectors, milliseconds. A partition counts beside its disk.
        let mut fields = words(line).skip(5).map(number);
        if let (Some(Some(read)), Some(Some(took))) = (fields.next(), fields.next()) {
            sectors = sectors.saturating_add(read);
            milliseconds = milliseconds.saturating_add(took);
        }
    }
    let pages = sectors.saturating_mul(SECTOR) / page.get().max(1);
    let micros = milliseconds.saturating_mul(1000).checked_div(pages)?;
    (pages >= ENOUGH).then(|| Micros::new(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_disk_is_told_by_what_it_took() {
        let slow = b"   8       0 sda 1000 0 80000 50000 10 0 80 0 0 0 0 0 0 0 0\n";
        assert_eq!(by(slow, Bytes::kib(4)), Some(Micros::new(5000)));
        let fresh = b"   8       0 sda 10 0 800 50000 10 0 80 0\n";
        assert_eq!(by(fresh, Bytes::kib(4)), None);
        assert_eq!(by(b"nonsense\n", Bytes::kib(4)), None);
        assert_eq!(by(b"", Bytes::ZERO), None);
    }
}
