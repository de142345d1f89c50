//! A sample of the model, filled as the host fills one of a machine.

use super::evict::{What, Which};
use super::{BOOT, Model};
use crate::text::{Kind, Machine, SwapKind as TextSwap};
use ::pressure::config::Guard;
use ::pressure::decision::Attention;
use ::pressure::sample::{
    Blocks, Caches, Cgroups, Circumstances, Counters, Facts, Memory, Node, NodeAmounts, Pool,
    PoolAmounts, Returnable, Sample, Swap, SwapAmounts, SwapKind, Wall, Zone, ZoneAmounts,
    ZoneKind,
};
use units::{Bytes, Pages};

/// Orders of free blocks with pages of 4 KiB, and with larger ones.
const ORDERS: (u8, u8) = (11, 14);

/// What does not change.
pub(super) fn facts(machine: &Machine) -> Facts {
    let is_small = machine.page_size.0 == Bytes::kib(4);
    Facts {
        page_size: machine.page_size.0,
        kernel: "6.12.0".to_owned(),
        boot_id: "situation".to_owned(),
        cpus: u64::from(machine.processors),
        pmd_order: Some(if is_small { 9 } else { 13 }),
        cgroups: Cgroups::V2,
        container: None,
        hidepid: !machine.processes_visible,
    }
}

fn bytes(amount: f64) -> Bytes {
    Bytes::new(amount.max(0.0) as u64)
}

/// Sums over processes that a sample needs.
#[derive(Debug, Default)]
struct Sums {
    anon: f64,
    shared: f64,
    tables: f64,
    huge: f64,
    idle_anon: f64,
}

impl Model {
    /// Reads the machine into `sample`. What the last decision asked for is `attention`.
    pub fn observe(&mut self, attention: Attention, guard: &Guard, sample: &mut Sample) {
        self.free = self.total - self.held();
        sample.at = self.at();
        sample.wall = Wall(1_700_000_000_000 + BOOT + self.now);
        sample.circumstances = self.circumstances();
        let sums = self.sums();
        self.read_memory(&sums, &mut sample.memory);
        self.read_counters(&sums, &mut sample.counters);
        sample.memory_pressure = self.read_pressure();
        sample.io_pressure = self.read_pressure();
        sample.caches = Caches {
            dentries: Some(200_000),
            unused: Some(150_000),
            negative: Some(20_000),
            inodes: Some(150_000),
            free_inodes: Some(1000),
        };
        sample.returnable = self.returnable();
        sample.knobs = self.knobs;
        self.read_zones(sample);
        self.read_nodes(sample);
        self.read_pools(&sums, sample);
        self.read_swaps(sample);
        self.read_groups(&mut sample.groups);
        match attention {
            Attention::Candidates => self.look(guard, &mut sample.scan),
            Attention::Rest => self.rest(&mut sample.scan),
        }
        self.watch(&mut sample.scan);
    }

    fn circumstances(&self) -> Circumstances {
        let rival = self.text.machine.rival.as_ref();
        let kills_everywhere = rival.is_some_and(|rival| rival.cgroups.is_empty());
        Circumstances {
            woken_by_pressure: Some(0),
            disabled: Some(0),
            rival_tuner: Some(0),
            rival_knobs: None,
            rival_floor: rival
                .filter(|_| kills_everywhere)
                .and_then(|rival| rival.floor)
                .map(|floor| floor.0),
            read_only: Some(0),
            rival_guard: Some(u64::from(kills_everywhere)),
        }
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (index, process) in self.processes.iter().enumerate() {
            sums.anon += process.anon.resident();
            match self.kind(process.program) {
                Kind::Shared | Kind::Memfd => sums.shared += process.other.resident(),
                Kind::PageTables => sums.tables += process.other.total,
                Kind::Hugetlb => sums.huge += process.other.total,
                _ => {}
            }
            sums.idle_anon += self.evictable_of(index, What::Swappable, Which::Idle);
        }
        sums.shared += self
            .mounts
            .iter()
            .map(|mount| mount.store.resident())
            .sum::<f64>();
        sums
    }

    fn read_memory(&self, sums: &Sums, memory: &mut Memory) {
        let machine = &self.text.machine;
        let pool = machine.huge_pages.map_or(0.0, |pool| pool.size.bytes());
        let files = self.idle + self.hot + self.mapped_files();
        let swap_total: f64 = self
            .swaps
            .iter()
            .map(|device| device.text.size.bytes())
            .sum();
        let swap_free: f64 = self.swaps.iter().map(super::swap::Device::left).sum();
        let lru = sums.anon + sums.shared;
        let idle = sums.idle_anon.min(lru);
        let slab = machine.kernel_memory.bytes() + self.slab;
        *memory = Memory {
            total: Some(bytes(self.total)),
            free: Some(bytes(self.free)),
            available: Some(bytes(self.available())),
            buffers: Some(Bytes::ZERO),
            cached: Some(bytes(files + sums.shared)),
            swap_cached: Some(Bytes::ZERO),
            active_anon: Some(bytes(lru - idle)),
            inactive_anon: Some(bytes(idle)),
            active_file: Some(bytes(files - self.idle)),
            inactive_file: Some(bytes(self.idle)),
            unevictable: Some(Bytes::ZERO),
            mlocked: Some(Bytes::ZERO),
            swap_total: Some(bytes(swap_total)),
            swap_free: Some(bytes(swap_free)),
            dirty: Some(bytes(self.dirty)),
            writeback: Some(Bytes::ZERO),
            anon: Some(bytes(sums.anon)),
            mapped: Some(bytes(self.mapped_files() + sums.shared)),
            shmem: Some(bytes(sums.shared)),
            kernel_reclaimable: Some(machine.kernel_reclaimable.0),
            slab_reclaimable: Some(machine.kernel_reclaimable.0),
            slab_unreclaimable: Some(bytes(slab)),
            kernel_stack: Some(Bytes::ZERO),
            page_tables: Some(bytes(sums.tables)),
            secondary_page_tables: Some(Bytes::ZERO),
            percpu: Some(Bytes::ZERO),
            cma_total: Some(machine.cma.map_or(Bytes::ZERO, |cma| cma.size.0)),
            cma_free: Some(bytes(self.cma_free)),
            balloon: machine.balloon.map(|_| bytes(self.balloon)),
            hugetlb: Some(bytes(pool + sums.huge)),
            ..Memory::default()
        };
    }

    fn pages(&self, amount: f64) -> Option<Pages> {
        Some(Pages::new((amount.max(0.0) / self.page()) as u64))
    }

    fn read_counters(&self, sums: &Sums, counters: &mut Counters) {
        let files = self.idle + self.hot + self.mapped_files();
        let compressed: f64 = self.swaps.iter().map(super::swap::Device::cost).sum();
        let tallies = &self.tallies;
        let moving = |count: u64| {
            Some(if self.text.machine.counters_move {
                count
            } else {
                0
            })
        };
        let lru = sums.anon + sums.shared;
        let idle = sums.idle_anon.min(lru);
        *counters = Counters {
            nr_free_pages: self.pages(self.free),
            nr_free_cma: self.pages(self.cma_free),
            nr_inactive_anon: self.pages(idle),
            nr_active_anon: self.pages(lru - idle),
            nr_inactive_file: self.pages(self.idle),
            nr_active_file: self.pages(files - self.idle),
            nr_unevictable: self.pages(0.0),
            nr_anon_pages: self.pages(sums.anon),
            nr_file_pages: self.pages(files + sums.shared),
            nr_shmem: self.pages(sums.shared),
            nr_dirty: self.pages(self.dirty),
            nr_writeback: self.pages(0.0),
            nr_zspages: self.pages(compressed),
            workingset_refault_anon: moving(tallies.refault_anon),
            workingset_refault_file: moving(tallies.refault_file),
            pswpin: moving(tallies.swap_in),
            pswpout: moving(tallies.swap_out),
            swap_ra: moving(0),
            swap_ra_hit: moving(0),
            pgalloc_normal: moving(tallies.allocated),
            allocstall_normal: moving(tallies.alloc_stalls),
            pgmajfault: moving(tallies.swap_in + tallies.refault_file / 4),
            pgsteal_kswapd: moving(tallies.steal_kswapd),
            pgsteal_direct: moving(tallies.steal_direct),
            pgscan_kswapd: moving(tallies.steal_kswapd * 2),
            pgscan_direct: moving(tallies.steal_direct * 2),
            kswapd_low_wmark_hit_quickly: moving(0),
            kswapd_high_wmark_hit_quickly: moving(0),
            pageoutrun: moving(tallies.kswapd_runs),
            oom_kill: moving(tallies.oom_kills),
            compact_stall: moving(0),
            ..Counters::default()
        };
    }

    fn returnable(&self) -> Returnable {
        let machine = &self.text.machine;
        Returnable {
            arc: machine.arc.map(|_| bytes(self.arc)),
            arc_min: machine.arc.map(|arc| arc.least.0),
            balloon_deflates: machine.balloon.map(|balloon| u64::from(balloon.deflates)),
        }
    }

    /// One zone for each node with memory.
    fn read_zones(&self, sample: &mut Sample) {
        let machine = &self.text.machine;
        let nodes = f64::from(machine.nodes);
        let marks = self.marks();
        let files = self.idle + self.hot + self.mapped_files();
        let is_small = machine.page_size.0 == Bytes::kib(4);
        sample.zones.clear();
        for node in 0..machine.nodes {
            let part = |amount: f64| self.pages(amount / nodes);
            let amounts = ZoneAmounts {
                free: part(self.free),
                boost: Some(Pages::ZERO),
                min: part(marks.min),
                low: part(marks.low),
                high: part(marks.high),
                present: part(self.total),
                managed: part(self.total),
                cma: part(machine.cma.map_or(0.0, |cma| cma.size.bytes())),
                inactive_file: part(self.idle),
                active_file: part(files - self.idle),
                ..ZoneAmounts::default()
            };
            sample.zones.push(Zone {
                node: node + machine.nodes_without_memory,
                kind: ZoneKind::Normal,
                amounts,
                blocks: blocks(part(self.free), if is_small { ORDERS.0 } else { ORDERS.1 }),
            });
        }
    }

    fn read_nodes(&self, sample: &mut Sample) {
        let machine = &self.text.machine;
        let nodes = f64::from(machine.nodes);
        sample.nodes.clear();
        for id in 0..machine.nodes {
            let amounts = NodeAmounts {
                total: Some(bytes(self.total / nodes)),
                free: Some(bytes(self.free / nodes)),
                nr_free_pages: self.pages(self.free / nodes),
                can_compact: Some(1),
                ..NodeAmounts::default()
            };
            sample.nodes.push(Node {
                id: id + machine.nodes_without_memory,
                amounts,
            });
        }
    }

    fn read_pools(&self, sums: &Sums, sample: &mut Sample) {
        let machine = &self.text.machine;
        let size = machine.huge_pages.map_or(Bytes::mib(2), |pool| pool.page.0);
        let own = machine.huge_pages.map_or(0.0, |pool| pool.size.bytes());
        let page = size.get() as f64;
        let pages = ((own + sums.huge) / page) as u64;
        sample.pools.clear();
        sample.pools.push(Pool {
            size,
            amounts: PoolAmounts {
                pages: Some(pages),
                free: Some((own / page) as u64),
                reserved: Some(0),
                surplus: Some((sums.huge / page) as u64),
                overcommit: Some(0),
            },
        });
    }

    fn read_swaps(&self, sample: &mut Sample) {
        sample.swaps.clear();
        for device in &self.swaps {
            let kind = match device.text.kind {
                TextSwap::Disk => SwapKind::Partition,
                TextSwap::File => SwapKind::File,
                TextSwap::Zram => SwapKind::Zram,
            };
            sample.swaps.push(Swap {
                kind,
                amounts: SwapAmounts {
                    size: Some(device.text.size.0),
                    used: Some(bytes(device.used)),
                },
            });
        }
    }
}

/// Free pages in blocks as large as there are, and the rest in smaller ones.
fn blocks(free: Option<Pages>, orders: u8) -> Blocks {
    let mut blocks = Blocks {
        orders,
        ..Blocks::default()
    };
    let mut left = free.map_or(0, Pages::get);
    for order in (0..usize::from(orders)).rev() {
        blocks.counts[order] = left >> order;
        left -= blocks.counts[order] << order;
    }
    blocks
}
