//! One reading of the machine: everything a decision may know, and nothing else.
//!
//! A [`Sample`] is read at once and whole by `host`, is copied into the recording, and is all that
//! [`crate::decide`] sees; so a decision can always be made again from the recording. Unknown is
//! `None` everywhere. Nothing in here is derived: rates, gaps and forecasts are recomputed.

use crate::census::Census;
use crate::groups::Groups;
use crate::knob::KnobStates;
use crate::protect::Warm;
use crate::section::{Field, Section, section};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Micros, Pages, Percent, Span};

/// Free lists counted by order, at most. x86-64 has 11, arm64 with 64 KiB pages 14.
pub const MAX_ORDERS: usize = 16;

/// What does not change while the machine runs; each recording opens with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Size of a base page.
    pub page_size: Bytes,
    /// Release of the running kernel, as `uname -r` prints it.
    pub kernel: String,
    /// The kernel's random name for this boot.
    pub boot_id: String,
    /// Processors online at start.
    pub cpus: u64,
    /// Order of the huge page that a page middle directory maps; `None` without huge pages.
    pub pmd_order: Option<u32>,
    /// How control groups are mounted.
    pub cgroups: Cgroups,
    /// The container we are in, if we are in one and can tell, such as `docker` or `lxc`.
    pub container: Option<String>,
    /// Whether other users' processes are hidden from us (`hidepid` on `/proc`).
    pub hidepid: bool,
}

/// How control groups are mounted on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cgroups {
    /// None found.
    Absent,
    /// Only the first version.
    V1,
    /// Both, with the memory controller on the first.
    Hybrid,
    /// Only the second version, or with the memory controller on it.
    V2,
}

/// One reading of the machine.
///
/// Lists keep their storage when a sample is read into again, so a steady tick allocates nothing.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time since boot by the monotonic clock. All rates use this.
    pub at: Span,
    /// What the wall clock said, for people; decisions must not use it.
    pub wall: Wall,
    /// Why we looked now, and what the outside world allows us.
    pub circumstances: Circumstances,
    /// `/proc/meminfo`.
    pub memory: Memory,
    /// `/proc/vmstat`.
    pub counters: Counters,
    /// `/proc/pressure/memory`.
    pub memory_pressure: Pressure,
    /// `/proc/pressure/io`.
    pub io_pressure: Pressure,
    /// `/proc/pressure/cpu`.
    pub cpu_pressure: Pressure,
    /// `/proc/sys/fs/dentry-state` and `inode-nr`.
    pub caches: Caches,
    /// Memory of our own control group, or of the container's, where version 2 tells.
    pub cgroup: Cgroup,
    /// The knobs: what they are, were, and what we made them.
    pub knobs: KnobStates,
    /// Files that are hot or held, as the process that locks them tells.
    #[serde(default, skip_serializing_if = "Warm::is_empty")]
    pub warm: Warm,
    /// Populated zones, in the kernel's order.
    pub zones: Vec<Zone>,
    /// NUMA nodes with memory, by number.
    pub nodes: Vec<Node>,
    /// Pools of huge pages, by size.
    pub pools: Vec<Pool>,
    /// Swap areas, in the kernel's order.
    pub swaps: Vec<Swap>,
    /// Control groups whose limits we set; empty unless there are some.
    #[serde(default, skip_serializing_if = "Groups::is_empty")]
    pub groups: Groups,
    /// Who holds memory; empty unless memory is short.
    #[serde(default)]
    pub census: Census,
}

/// Copies reuse the lists of the target.
impl Clone for Sample {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { zones, nodes, pools, swaps, warm, .. } = self;
        let mut lists = (std::mem::take(zones), std::mem::take(nodes), std::mem::take(pools), std::mem::take(swaps));
        let mut warm = std::mem::take(warm);
        warm.copy(&source.warm);
        let mut groups = std::mem::take(&mut self.groups);
        groups.copy(&source.groups);
        lists.0.clone_from(&source.zones);
        lists.1.clone_from(&source.nodes);
        lists.2.clone_from(&source.pools);
        lists.3.clone_from(&source.swaps);
        let mut census = std::mem::take(&mut self.census);
        census.clone_from(&source.census);
        *self =
            Self { zones: lists.0, nodes: lists.1, pools: lists.2, swaps: lists.3, census, warm, groups, ..*source };
    }
}

/// Milliseconds since 1970 by the wall clock. It may step; it is never subtracted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(pub u64);

section! {
    /// Why this sample was taken, and what stands outside the kernel's files.
    pub struct Circumstances {
        /// 1 when a pressure trigger woke us, 0 when the timer did.
        woken_by_pressure: u64 = "woken_by_pressure",
        /// 1 while the kill-switch file exists: put everything back and only look.
        disabled: u64 = "disabled",
        /// 1 while another program that drives the same knobs runs.
        rival_tuner: u64 = "rival_tuner",
        /// MemAvailable below which another guard on this machine starts killing.
        rival_floor: Bytes = "rival_floor",
        /// 1 when no knob can be written, as in a container.
        read_only: u64 = "read_only",
        /// 1 while another program that kills when memory is short runs.
        rival_guard: u64 = "rival_guard",
    }
}

section! {
    /// `/proc/meminfo`, in bytes.
    pub struct Memory {
        /// Usable memory: physical, less what the kernel reserved at boot.
        total: Bytes = "MemTotal",
        /// On the free lists.
        free: Bytes = "MemFree",
        /// The kernel's estimate of what can be had without swapping.
        available: Bytes = "MemAvailable",
        /// Block-device cache.
        buffers: Bytes = "Buffers",
        /// Page cache, shared memory included.
        cached: Bytes = "Cached",
        /// Swapped out once, read back, and still on swap too.
        swap_cached: Bytes = "SwapCached",
        /// Anonymous memory used lately.
        active_anon: Bytes = "Active(anon)",
        /// Anonymous memory not used lately.
        inactive_anon: Bytes = "Inactive(anon)",
        /// Page cache used lately.
        active_file: Bytes = "Active(file)",
        /// Page cache not used lately.
        inactive_file: Bytes = "Inactive(file)",
        /// Memory reclaim may not take.
        unevictable: Bytes = "Unevictable",
        /// Locked by programs.
        mlocked: Bytes = "Mlocked",
        /// Size of all swap areas.
        swap_total: Bytes = "SwapTotal",
        /// Unused swap.
        swap_free: Bytes = "SwapFree",
        /// Memory used by compressed swap.
        zswap: Bytes = "Zswap",
        /// Memory stored in compressed swap, before compression.
        zswapped: Bytes = "Zswapped",
        /// To be written back.
        dirty: Bytes = "Dirty",
        /// Being written back.
        writeback: Bytes = "Writeback",
        /// Anonymous memory mapped by programs.
        anon: Bytes = "AnonPages",
        /// Files mapped by programs.
        mapped: Bytes = "Mapped",
        /// tmpfs and shared memory.
        shmem: Bytes = "Shmem",
        /// Kernel memory reclaim can shrink.
        kernel_reclaimable: Bytes = "KReclaimable",
        /// Kernel objects reclaim can shrink.
        slab_reclaimable: Bytes = "SReclaimable",
        /// Kernel objects it cannot.
        slab_unreclaimable: Bytes = "SUnreclaim",
        /// Kernel stacks.
        kernel_stack: Bytes = "KernelStack",
        /// Page tables.
        page_tables: Bytes = "PageTables",
        /// Secondary page tables (KVM, IOMMU).
        secondary_page_tables: Bytes = "SecPageTables",
        /// Commit limit.
        commit_limit: Bytes = "CommitLimit",
        /// Memory promised to programs.
        committed: Bytes = "Committed_AS",
        /// Used of the kernel's virtual area.
        vmalloc_used: Bytes = "VmallocUsed",
        /// Per-CPU memory.
        percpu: Bytes = "Percpu",
        /// Anonymous memory in huge pages.
        anon_huge: Bytes = "AnonHugePages",
        /// Contiguous-memory areas.
        cma_total: Bytes = "CmaTotal",
        /// Unused of them.
        cma_free: Bytes = "CmaFree",
        /// Inflated balloon.
        balloon: Bytes = "Balloon",
        /// In the hugetlb pools of all sizes.
        hugetlb: Bytes = "Hugetlb",
    }
}

section! {
    /// `/proc/vmstat`: gauges in pages first, then counters since boot.
    #[allow(missing_docs, reason = "the kernel's own names")]
    pub struct Counters {
        nr_free_pages: Pages = "nr_free_pages",
        nr_free_pages_blocks: Pages = "nr_free_pages_blocks",
        nr_free_cma: Pages = "nr_free_cma",
        nr_inactive_anon: Pages = "nr_inactive_anon",
        nr_active_anon: Pages = "nr_active_anon",
        nr_inactive_file: Pages = "nr_inactive_file",
        nr_active_file: Pages = "nr_active_file",
        nr_unevictable: Pages = "nr_unevictable",
        nr_slab_reclaimable: Pages = "nr_slab_reclaimable",
        nr_slab_unreclaimable: Pages = "nr_slab_unreclaimable",
        nr_anon_pages: Pages = "nr_anon_pages",
        nr_file_pages: Pages = "nr_file_pages",
        nr_shmem: Pages = "nr_shmem",
        nr_dirty: Pages = "nr_dirty",
        nr_writeback: Pages = "nr_writeback",
        nr_dirty_threshold: Pages = "nr_dirty_threshold",
        nr_dirty_background_threshold: Pages = "nr_dirty_background_threshold",
        workingset_refault_anon: u64 = "workingset_refault_anon",
        workingset_refault_file: u64 = "workingset_refault_file",
        workingset_refault: u64 = "workingset_refault",
        workingset_activate_anon: u64 = "workingset_activate_anon",
        workingset_activate_file: u64 = "workingset_activate_file",
        workingset_restore_anon: u64 = "workingset_restore_anon",
        workingset_restore_file: u64 = "workingset_restore_file",
        nr_zspages: Pages = "nr_zspages",
        pgpgin: u64 = "pgpgin",
        pgpgout: u64 = "pgpgout",
        pswpin: u64 = "pswpin",
        pswpout: u64 = "pswpout",
        pgalloc_dma: u64 = "pgalloc_dma",
        pgalloc_dma32: u64 = "pgalloc_dma32",
        pgalloc_normal: u64 = "pgalloc_normal",
        pgalloc_high: u64 = "pgalloc_high",
        pgalloc_movable: u64 = "pgalloc_movable",
        pgalloc_device: u64 = "pgalloc_device",
        allocstall_dma: u64 = "allocstall_dma",
        allocstall_dma32: u64 = "allocstall_dma32",
        allocstall_normal: u64 = "allocstall_normal",
        allocstall_high: u64 = "allocstall_high",
        allocstall_movable: u64 = "allocstall_movable",
        allocstall_device: u64 = "allocstall_device",
        pgfree: u64 = "pgfree",
        pgfault: u64 = "pgfault",
        pgmajfault: u64 = "pgmajfault",
        pgsteal_kswapd: u64 = "pgsteal_kswapd",
        pgsteal_direct: u64 = "pgsteal_direct",
        pgsteal_khugepaged: u64 = "pgsteal_khugepaged",
        pgsteal_proactive: u64 = "pgsteal_proactive",
        pgscan_kswapd: u64 = "pgscan_kswapd",
        pgscan_direct: u64 = "pgscan_direct",
        pgscan_khugepaged: u64 = "pgscan_khugepaged",
        pgscan_proactive: u64 = "pgscan_proactive",
        pgscan_direct_throttle: u64 = "pgscan_direct_throttle",
        kswapd_low_wmark_hit_quickly: u64 = "kswapd_low_wmark_hit_quickly",
        kswapd_high_wmark_hit_quickly: u64 = "kswapd_high_wmark_hit_quickly",
        pageoutrun: u64 = "pageoutrun",
        slabs_scanned: u64 = "slabs_scanned",
        drop_pagecache: u64 = "drop_pagecache",
        oom_kill: u64 = "oom_kill",
        compact_stall: u64 = "compact_stall",
        compact_fail: u64 = "compact_fail",
        compact_success: u64 = "compact_success",
        compact_daemon_wake: u64 = "compact_daemon_wake",
        compact_migrate_scanned: u64 = "compact_migrate_scanned",
        compact_free_scanned: u64 = "compact_free_scanned",
        htlb_buddy_alloc_success: u64 = "htlb_buddy_alloc_success",
        htlb_buddy_alloc_fail: u64 = "htlb_buddy_alloc_fail",
        thp_fault_alloc: u64 = "thp_fault_alloc",
        thp_fault_fallback: u64 = "thp_fault_fallback",
        thp_collapse_alloc: u64 = "thp_collapse_alloc",
        thp_collapse_alloc_failed: u64 = "thp_collapse_alloc_failed",
        thp_file_alloc: u64 = "thp_file_alloc",
        thp_file_fallback: u64 = "thp_file_fallback",
        balloon_inflate: u64 = "balloon_inflate",
        balloon_deflate: u64 = "balloon_deflate",
    }
}

section! {
    /// One file of `/proc/pressure` (or a control group's): averages and the total time stalled.
    pub struct Pressure {
        /// Share of the last 10 s in which some task stalled.
        some_avg10: Percent = "some_avg10",
        /// The same over 60 s.
        some_avg60: Percent = "some_avg60",
        /// The same over 300 s.
        some_avg300: Percent = "some_avg300",
        /// Time stalled since boot.
        some_total: Micros = "some_total",
        /// Share of the last 10 s in which all tasks stalled.
        full_avg10: Percent = "full_avg10",
        /// The same over 60 s.
        full_avg60: Percent = "full_avg60",
        /// The same over 300 s.
        full_avg300: Percent = "full_avg300",
        /// Time stalled since boot.
        full_total: Micros = "full_total",
    }
}

section! {
    /// Directory entries and inodes held by the kernel.
    pub struct Caches {
        /// Directory entries (`dentry-state`, first number).
        dentries: u64 = "nr_dentry",
        /// Of these, unused.
        unused: u64 = "nr_unused",
        /// Of the unused, entries for names that do not exist; since 5.0.
        negative: u64 = "nr_negative",
        /// Inodes (`inode-nr`, first number).
        inodes: u64 = "nr_inodes",
        /// Of these, free.
        free_inodes: u64 = "nr_free_inodes",
    }
}

section! {
    /// Memory of one control group of version 2; a limit of `max` is unknown, as there is none.
    pub struct Cgroup {
        /// Charged now.
        current: Bytes = "memory.current",
        /// Hard protection.
        min: Bytes = "memory.min",
        /// Soft protection.
        low: Bytes = "memory.low",
        /// Throttling limit.
        high: Bytes = "memory.high",
        /// Hard limit.
        max: Bytes = "memory.max",
        /// Swap used.
        swap_current: Bytes = "memory.swap.current",
        /// Anonymous memory.
        anon: Bytes = "memory.stat.anon",
        /// Page cache.
        file: Bytes = "memory.stat.file",
        /// Refaults of anonymous memory.
        refault_anon: u64 = "memory.stat.workingset_refault_anon",
        /// Refaults of page cache.
        refault_file: u64 = "memory.stat.workingset_refault_file",
        /// Times the throttling limit was passed.
        events_high: u64 = "memory.events.high",
        /// Times the hard limit was reached.
        events_max: u64 = "memory.events.max",
        /// Processes killed for the hard limit.
        events_oom_kill: u64 = "memory.events.oom_kill",
    }
}

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
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    pub const ALL: [Self; 6] = [Self::Dma, Self::Dma32, Self::Normal, Self::HighMem, Self::Movable, Self::Device];

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
        Some((order..orders).fold(0u64, |sum, k| sum.saturating_add(self.counts[k] << (k - order))))
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
        const NAMES: [&str; MAX_ORDERS] =
            ["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12", "b13", "b14", "b15"];
        const FIELDS: [Field; MAX_ORDERS] = {
            let mut fields = [Field { name: "", unit: "count" }; MAX_ORDERS];
            let mut order = 0;
            while order < MAX_ORDERS {
                fields[order].name = NAMES[order];
                order += 1;
            }
            fields
        };
        &FIELDS
    }

    fn get(&self, index: usize) -> Option<u64> {
        if index < usize::from(self.orders) { self.counts.get(index).copied() } else { None }
    }

    fn set(&mut self, index: usize, value: Option<u64>) {
        let Some(count) = self.counts.get_mut(index) else { return };
        *count = value.unwrap_or(0);
        // An order that is unknown ends the list: orders are counted from 0 without gaps.
        self.orders = if value.is_some() { self.orders.max(index as u8 + 1) } else { self.orders.min(index as u8) };
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

impl Sample {
    /// Every section in order, the lists last; the same order as [`Sample::labels`].
    pub fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        let fixed: [&dyn Section; 11] = [
            &self.circumstances,
            &self.memory,
            &self.counters,
            &self.memory_pressure,
            &self.io_pressure,
            &self.cpu_pressure,
            &self.caches,
            &self.cgroup,
            &self.knobs.now,
            &self.knobs.found,
            &self.knobs.ours,
        ];
        let zones = self.zones.iter().flat_map(|zone| [&zone.amounts as &dyn Section, &zone.blocks]);
        let nodes = self.nodes.iter().map(|node| &node.amounts as &dyn Section);
        let pools = self.pools.iter().map(|pool| &pool.amounts as &dyn Section);
        let swaps = self.swaps.iter().map(|swap| &swap.amounts as &dyn Section);
        fixed.into_iter().chain(zones).chain(nodes).chain(pools).chain(swaps).chain(self.warm.sections())
    }

    /// The same sections, to be filled.
    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut dyn Section> {
        let fixed: [&mut dyn Section; 11] = [
            &mut self.circumstances,
            &mut self.memory,
            &mut self.counters,
            &mut self.memory_pressure,
            &mut self.io_pressure,
            &mut self.cpu_pressure,
            &mut self.caches,
            &mut self.cgroup,
            &mut self.knobs.now,
            &mut self.knobs.found,
            &mut self.knobs.ours,
        ];
        let zones = self.zones.iter_mut().flat_map(|zone| [&mut zone.amounts as &mut dyn Section, &mut zone.blocks]);
        let nodes = self.nodes.iter_mut().map(|node| &mut node.amounts as &mut dyn Section);
        let pools = self.pools.iter_mut().map(|pool| &mut pool.amounts as &mut dyn Section);
        let swaps = self.swaps.iter_mut().map(|swap| &mut swap.amounts as &mut dyn Section);
        fixed.into_iter().chain(zones).chain(nodes).chain(pools).chain(swaps).chain(self.warm.sections_mut())
    }

    /// What each section is called in a recording, such as `meminfo`, `zone.0.Normal`, `hugepages.2097152`.
    pub fn labels(&self) -> Vec<String> {
        let fixed = [
            "guard",
            "meminfo",
            "vmstat",
            "psi.memory",
            "psi.io",
            "psi.cpu",
            "caches",
            "cgroup",
            "knob.now",
            "knob.found",
            "knob.ours",
        ];
        let mut labels: Vec<String> = fixed.map(str::to_owned).to_vec();
        for zone in &self.zones {
            labels.push(format!("zone.{}.{}", zone.node, zone.kind.name()));
            labels.push(format!("buddy.{}.{}", zone.node, zone.kind.name()));
        }
        labels.extend(self.nodes.iter().map(|node| format!("node.{}", node.id)));
        labels.extend(self.pools.iter().map(|pool| format!("hugepages.{}", pool.size.get())));
        labels.extend(self.swaps.iter().enumerate().map(|(index, swap)| {
            let kind = match swap.kind {
                SwapKind::Partition => "partition",
                SwapKind::File => "file",
                SwapKind::Zram => "zram",
            };
            format!("swap.{index}.{kind}")
        }));
        labels.extend(Warm::labels());
        labels
    }

    /// Whether both have the same zones, nodes, pools and swap areas, so that columns line up.
    pub fn same_shape(&self, other: &Self) -> bool {
        let zone = |zone: &Zone| (zone.node, zone.kind);
        self.zones.iter().map(zone).eq(other.zones.iter().map(zone))
            && self.nodes.iter().map(|node| node.id).eq(other.nodes.iter().map(|node| node.id))
            && self.pools.iter().map(|pool| pool.size).eq(other.pools.iter().map(|pool| pool.size))
            && self.swaps.iter().map(|swap| swap.kind).eq(other.swaps.iter().map(|swap| swap.kind))
    }

    /// Time since `earlier`; zero if the samples are out of order.
    pub fn since(&self, earlier: &Self) -> Duration {
        self.at.get().saturating_sub(earlier.at.get())
    }

    /// Pages the page allocator manages in all zones; `None` if any zone does not say.
    pub fn managed(&self) -> Option<Pages> {
        if self.zones.is_empty() {
            return None;
        }
        self.zones.iter().map(|zone| zone.amounts.managed).sum()
    }
}
