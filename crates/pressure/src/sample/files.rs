//! The files of the kernel that a machine has one of.

use crate::section::section;
use units::{Bytes, Micros, Pages, Percent};

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
        swap_ra: u64 = "swap_ra",
        swap_ra_hit: u64 = "swap_ra_hit",
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
    /// Memory that others give back when the kernel asks for it, and that `/proc/meminfo` counts as used.
    pub struct Returnable {
        /// The cache of ZFS (`size` of `/proc/spl/kstat/zfs/arcstats`).
        arc: Bytes = "arcstats.size",
        /// What that cache keeps in any case (`c_min`).
        arc_min: Bytes = "arcstats.c_min",
        /// 1 if a balloon deflates before the kernel OOM-kills (`VIRTIO_BALLOON_F_DEFLATE_ON_OOM`).
        balloon_deflates: u64 = "balloon.deflate_on_oom",
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
