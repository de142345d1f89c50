//! What memory is made of, added up from what a sample says.

use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Sizes of the machine that may change while it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sizes {
    pub(crate) managed: Bytes,
    pub(crate) huge: Bytes,
    pub(crate) swap: Bytes,
}

impl Sizes {
    pub(crate) fn of(sample: &Sample, page_size: Bytes) -> Self {
        let pool =
            |pool: &crate::sample::Pool| pool.size.scaled(pool.amounts.pages.unwrap_or(0), 1);
        Self {
            managed: sample.managed().unwrap_or_default().to_bytes(page_size),
            huge: sample.pools.iter().map(pool).sum(),
            swap: sample.memory.swap_total.unwrap_or_default(),
        }
    }
}

/// Directory entries and inodes together.
pub(crate) fn objects(sample: &Sample) -> Option<u64> {
    Some(
        sample
            .caches
            .dentries?
            .saturating_add(sample.caches.inodes?),
    )
}

/// Memory of the kernel that reclaim cannot free and that belongs to no process.
pub(crate) fn kernels_own(sample: &Sample) -> Bytes {
    let m = &sample.memory;
    let kernel = [
        m.slab_unreclaimable,
        m.kernel_stack,
        m.secondary_page_tables,
        m.percpu,
    ];
    kernel.into_iter().flatten().sum()
}

/// Memory that reclaim cannot free without swapping: anonymous, shared, and the kernel's own.
pub(crate) fn unreclaimable(sample: &Sample) -> Option<Bytes> {
    let m = &sample.memory;
    let tables = m.page_tables.unwrap_or_default();
    Some(m.anon? + m.shmem? + tables + kernels_own(sample))
}

/// Memory that nothing accounts for: managed, less free, less everything the kernel can name.
///
/// Only its growth means anything: a few kinds are never named, and stay constant.
pub(crate) fn unaccounted(sample: &Sample, page_size: Bytes) -> Option<Bytes> {
    let m = &sample.memory;
    let named = [
        m.kernel_reclaimable.or(m.slab_reclaimable),
        m.slab_unreclaimable,
        m.kernel_stack,
        m.page_tables,
        m.secondary_page_tables,
        m.percpu,
        m.hugetlb,
        m.zswap,
        m.balloon,
        m.swap_cached,
    ];
    let used = m.anon? + m.buffers? + m.cached? + named.into_iter().flatten().sum();
    let free = sample.counters.nr_free_pages?.to_bytes(page_size);
    Some(sample.managed()?.to_bytes(page_size).less(free).less(used))
}
