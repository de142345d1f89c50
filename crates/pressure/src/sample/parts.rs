//! What a machine may have several of: zones, nodes, pools of huge pages, swap areas.

use super::MAX_ORDERS;
use crate::section::{Field, Section, section};
use serde::{Deserialize, Serialize};
use units::{Bytes, Pages};

/// A populated zone of a node.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// The node it belongs to.
    pub node: u32,
    /// Which zone.
    pub kind: ZoneKind,
    /// `/proc/zoneinfo`; watermarks without the temporary boost.
    pub amounts: ZoneAmounts,
    /// `/proc/buddyinfo`.
    pub blocks: Blocks,
}

/// The kernel's kinds of zones.
#[derive(
    Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[allow(missing_docs, reason = "the kernel's own names")]
pub enum ZoneKind {
    #[serde(rename = "DMA")]
    Dma,
    #[serde(rename = "DMA32")]
    Dma32,
    #[default]
    Normal,
    HighMem,
    Movable,
    Device,
}

impl ZoneKind {
    /// All of them, in the kernel's order.
    pub const ALL: [Self; 6] = [
        Self::Dma,
        Self::Dma32,
        Self::Normal,
        Self::HighMem,
        Self::Movable,
        Self::Device,
    ];

    /// As `/proc/zoneinfo` prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dma => "DMA",
            Self::Dma32 => "DMA32",
            Self::Normal => "Normal",
            Self::HighMem => "HighMem",
            Self::Movable => "Movable",
            Self::Device => "Device",
        }
    }

    /// The kind printed as `name`; `None` for a name no kernel has used yet.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether `min_free_kbytes` is shared out over this zone by size (`__setup_per_zone_wmarks`).
    pub const fn is_low_memory(self) -> bool {
        !matches!(self, Self::HighMem | Self::Movable)
    }
}

section! {
    /// One zone of `/proc/zoneinfo`. Watermarks are the configured ones: the kernel prints them
    /// with the temporary boost added, and `host` takes it off.
    pub struct ZoneAmounts {
        /// On the free lists.
        free: Pages = "free",
        /// Temporary boost of the watermarks after fragmentation; since 5.0.
        boost: Pages = "boost",
        /// Below this only urgent allocations are served; others reclaim for themselves.
        min: Pages = "min",
        /// Below this kswapd is woken.
        low: Pages = "low",
        /// Above this kswapd sleeps again.
        high: Pages = "high",
        /// Target of kswapd when memory is tiered; since 5.15.
        promo: Pages = "promo",
        /// Physical pages.
        present: Pages = "present",
        /// Pages the page allocator manages.
        managed: Pages = "managed",
        /// Pages in contiguous-memory areas.
        cma: Pages = "cma",
        /// Page cache not used lately.
        inactive_file: Pages = "nr_zone_inactive_file",
        /// Page cache used lately.
        active_file: Pages = "nr_zone_active_file",
        /// Anonymous memory not used lately.
        inactive_anon: Pages = "nr_zone_inactive_anon",
        /// Anonymous memory used lately.
        active_anon: Pages = "nr_zone_active_anon",
    }
}

/// Free blocks of one zone by order: `counts[o]` blocks of `2^o` pages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many orders this kernel has; 0 when `/proc/buddyinfo` was not readable.
    pub orders: u8,
    /// Free blocks; zero from `orders` on.
    pub counts: [u64; MAX_ORDERS],
}

impl Blocks {
    /// Free blocks that could serve one request each of `order`, larger ones split: `Σ n_k·2^(k−order)`.
    ///
    /// `None` if the kernel has no such order.
    pub fn suitable(&self, order: u32) -> Option<u64> {
        let orders = usize::from(self.orders).min(MAX_ORDERS);
        let order = order as usize;
        if order >= orders {
            return None;
        }
        Some((order..orders).fold(0u64, |sum, k| {
            sum.saturating_add(self.counts[k] << (k - order))
        }))
    }

    /// Free pages in blocks smaller than `order`: free, but of no use to such a request.
    pub fn fragmented(&self, order: u32) -> Pages {
        let end = usize::from(self.orders).min(MAX_ORDERS).min(order as usize);
        Pages::new((0..end).fold(0u64, |sum, k| sum.saturating_add(self.counts[k] << k)))
    }

    /// All free pages on the lists.
    pub fn total(&self) -> Pages {
        self.fragmented(MAX_ORDERS as u32)
    }
}

impl Section for Blocks {
    fn fields(&self) -> &'static [Field] {
        const FIELDS: [Field; MAX_ORDERS] = Field::counts([
            "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12", "b13",
            "b14", "b15",
        ]);
        &FIELDS
    }

    fn get(&self, index: usize) -> Option<u64> {
        if index < usize::from(self.orders) {
            self.counts.get(index).copied()
        } else {
            None
        }
    }

    fn set(&mut self, index: usize, value: Option<u64>) {
        let Some(count) = self.counts.get_mut(index) else {
            return;
        };
        *count = value.unwrap_or(0);
        // An order that is unknown ends the list: orders are counted from 0 without gaps.
        self.orders = if value.is_some() {
            self.orders.max(index as u8 + 1)
        } else {
            self.orders.min(index as u8)
        };
    }
}

/// A NUMA node with memory.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its files.
    pub amounts: NodeAmounts,
}

section! {
    /// One node's `meminfo` and `vmstat` under `/sys/devices/system/node`.
    pub struct NodeAmounts {
        /// Memory of the node.
        total: Bytes = "MemTotal",
        /// Unused.
        free: Bytes = "MemFree",
        /// On the free lists.
        nr_free_pages: Pages = "nr_free_pages",
        /// Page cache not used lately.
        nr_inactive_file: Pages = "nr_inactive_file",
        /// Page cache used lately.
        nr_active_file: Pages = "nr_active_file",
        /// Anonymous memory not used lately.
        nr_inactive_anon: Pages = "nr_inactive_anon",
        /// Anonymous memory used lately.
        nr_active_anon: Pages = "nr_active_anon",
        /// Reclaimed by kswapd; per node since 7.x.
        pgsteal_kswapd: u64 = "pgsteal_kswapd",
        /// Reclaimed by allocators themselves; per node since 7.x.
        pgsteal_direct: u64 = "pgsteal_direct",
        /// 1 if the node's `compact` file is there.
        can_compact: u64 = "can_compact",
        /// 1 if the node's `reclaim` file is there.
        can_reclaim: u64 = "can_reclaim",
    }
}

/// A pool of huge pages of one size.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Size of one page of the pool.
    pub size: Bytes,
    /// Its files.
    pub amounts: PoolAmounts,
}

section! {
    /// One directory under `/sys/kernel/mm/hugepages`.
    pub struct PoolAmounts {
        /// Pages in the pool.
        pages: u64 = "nr_hugepages",
        /// Of these, unused.
        free: u64 = "free_hugepages",
        /// Of these, promised.
        reserved: u64 = "resv_hugepages",
        /// Above the configured number.
        surplus: u64 = "surplus_hugepages",
        /// May be added above the configured number.
        overcommit: u64 = "nr_overcommit_hugepages",
    }
}

/// A swap area.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// What is behind it.
    pub kind: SwapKind,
    /// Its numbers.
    pub amounts: SwapAmounts,
}

/// What holds a swap area.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwapKind {
    /// A disk or its partition.
    #[default]
    Partition,
    /// A file.
    File,
    /// Compressed memory: filling it frees only part of what it holds.
    Zram,
}

section! {
    /// One line of `/proc/swaps`.
    pub struct SwapAmounts {
        /// Its size.
        size: Bytes = "size",
        /// Used of it.
        used: Bytes = "used",
    }
}
