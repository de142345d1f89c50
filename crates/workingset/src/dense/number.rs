//! The dense number of a new page.

use crate::{Error, Page};

/// Dense numbers that are not given to a page. [`NONE`](crate::NONE) is one, and lists put their
/// sentinels behind the pages.
const RESERVED: u32 = 64;

/// The number of the next new page, after those that have these names.
///
/// Errors: there are as many pages as dense numbers.
pub(super) fn next(names: &[u64]) -> Result<Page, Error> {
    match u32::try_from(names.len()) {
        Ok(number) if number < u32::MAX - RESERVED => Ok(number),
        _ => Err(Error::TooMany("2^32 pages")),
    }
}
