//! Texts of the kernel to numbers.
//!
//! Each parser takes bytes and fills a part of a sample. Absent fields stay `None`; a field that is
//! there and is no number is a [`Malformed`](crate::error::Malformed) that names the field and
//! borrows the line. No parser panics on any bytes, and none allocates when the text has the lines
//! it had before.

pub(crate) mod arcstats;
pub(crate) mod buddyinfo;
pub(crate) mod keyed;
pub mod lines;
pub mod mounts;
pub(crate) mod numbers;
pub(crate) mod pressure;
pub mod process;
pub(crate) mod swaps;
pub(crate) mod zoneinfo;

#[cfg(test)]
mod tests;
