//! Memory that a loop will need soon, fetched ahead of its use.
//!
//! A trace says what comes. So a loop over references can have a page's entry fetched while it works on those before; several
//! fetches then overlap, where one after the other each waits for memory.
//!
//! On a table that the CPU's caches hold, that is more instructions and nothing gained. So it depends on the table's size, which
//! [`pays`] judges for all.

/// How many references ahead an entry is fetched: enough for a miss of every cache, few enough to be still there when it is used.
/// Twice as many are as fast.
pub(crate) const STEPS: usize = 16;
/// Bytes of tables from which fetching ahead pays: more than the second-level cache of most CPUs. See docs/results/simulator.md.
const BEYOND_CACHE: usize = 1 << 20;

/// Returns true if fetching ahead pays for tables of so many bytes.
pub(crate) fn pays(bytes: usize) -> bool {
    bytes > BEYOND_CACHE
}

/// Has an element of a table fetched. Nothing happens at a place that the table does not have.
#[inline]
pub(crate) fn fetch<T>(table: &[T], at: usize) {
    prefetch_index::prefetch_index(table, at);
}
