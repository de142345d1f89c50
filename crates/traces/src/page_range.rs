//! The pages that a request for bytes is about, on one disk or on one of several.

use std::ops::RangeInclusive;

/// The most pages of one request, 4 GiB of 4 KiB pages, and the most uses of a row: a larger number is an error in the trace.
pub(crate) const LONGEST: u64 = 1 << 20;

/// The pages of so many bytes from an address on, at least of one byte; a page has `1 << shift`.
#[inline]
pub(crate) fn pages_of(start: u64, bytes: u64, shift: u32) -> Result<RangeInclusive<u64>, String> {
    let last = start.checked_add(bytes.max(1) - 1);
    let last = last.ok_or("an address above 2^64")?;
    Ok(start >> shift..=last >> shift)
}

/// How many pages these are; more than [`LONGEST`] are an error.
#[inline]
pub(crate) fn count_of(pages: &RangeInclusive<u64>) -> Result<u64, String> {
    let count = (pages.end() - pages.start()).saturating_add(1);
    if count > LONGEST {
        return Err(format!("a reference of {count} pages is above 2^20"));
    }
    Ok(count)
}

/// The same pages on a disk, whose number is in the upper 16 bits.
#[inline]
pub(crate) fn on_disk(
    pages: RangeInclusive<u64>,
    disk: Option<u64>,
) -> Result<RangeInclusive<u64>, String> {
    let Some(disk) = disk else { return Ok(pages) };
    if disk > u64::from(u16::MAX) {
        return Err(format!("disk {disk} is above 65535"));
    }
    if *pages.end() >= 1 << 48 {
        return Err("an address above 2^64".to_owned());
    }
    let space = disk << 48;
    Ok(space | pages.start()..=space | pages.end())
}
