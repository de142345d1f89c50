//! The kernel: its knobs, its counters, and its OOM killer.

use super::{Model, STEP};
use crate::text::{Kind, Machine};
use ::pressure::knob::{Knob, KnobStates};

/// The kernel OOM-kills once hardly anything could be granted for so many steps. It tries 16 times
/// (`MAX_RECLAIM_RETRIES`), and each try takes some milliseconds.
const STARVED: u32 = 4;
/// With less than this left to reclaim nothing is left. The last pages are always in use.
const NOTHING: f64 = 4.0 * 1024.0 * 1024.0;
/// A share of the need below this is nothing.
const HARDLY: f64 = 0.02;
/// Steps between two OOM kills: while a victim exits, the kernel waits for it.
const APART: u64 = 500 / STEP;

/// Counters since the situation began.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) steal_kswapd: u64,
    pub(super) steal_direct: u64,
    pub(super) alloc_stalls: u64,
    pub(super) allocated: u64,
    pub(super) refault_file: u64,
    pub(super) refault_anon: u64,
    pub(super) swap_in: u64,
    pub(super) swap_out: u64,
    pub(super) kswapd_runs: u64,
    pub(super) oom_kills: u64,
    /// When the kernel killed for want of memory of the machine, and the names of each victim.
    pub(super) kernel_kills: Vec<(u64, Vec<String>)>,
    last_kill: u64,
    is_panicked: bool,
}

impl Tallies {
    pub(super) fn stolen_by_kswapd(&mut self, bytes: f64, page: f64) {
        self.steal_kswapd += (bytes / page) as u64;
    }

    pub(super) fn stolen_directly(&mut self, bytes: f64, page: f64) {
        let pages = (bytes / page) as u64;
        self.steal_direct += pages;
        // One direct reclaim frees 32 pages (SWAP_CLUSTER_MAX).
        self.alloc_stalls += pages.div_ceil(32);
    }

    pub(super) fn allocated(&mut self, bytes: f64, page: f64) {
        self.allocated += (bytes / page) as u64;
    }

    pub(super) fn refaulted(&mut self, is_file: bool, bytes: f64, page: f64) {
        let pages = (bytes / page) as u64;
        if is_file {
            self.refault_file += pages;
        } else {
            self.refault_anon += pages;
            self.swap_in += pages;
        }
    }

    pub(super) fn swapped_out(&mut self, bytes: f64, page: f64) {
        self.swap_out += (bytes / page) as u64;
    }
}

/// The knobs as an ordinary distribution has them.
pub(super) fn knobs(machine: &Machine) -> KnobStates {
    let mut states = KnobStates::default();
    let kilobytes = machine.memory.bytes() / 1024.0;
    // `init_per_zone_wmark_min`: 4 · √(memory in KiB), at most 256 MiB.
    let min_free = (4.0 * kilobytes.sqrt()).clamp(128.0, 262_144.0);
    let ttl = machine.min_ttl.map_or(0, crate::text::Time::millis);
    let found = [
        (Knob::WatermarkScaleFactor, 10),
        (Knob::WatermarkBoostFactor, 15_000),
        (Knob::CompactionProactiveness, 20),
        (Knob::MinFreeKbytes, min_free as u64),
        (Knob::VfsCachePressure, 100),
        (Knob::Swappiness, 60),
        (Knob::PageCluster, 3),
        (Knob::ExtfragThreshold, 500),
        (Knob::MinTtlMs, ttl),
    ];
    for (knob, value) in found {
        states.now.put(knob, Some(value));
        states.found.put(knob, Some(value));
    }
    states
}

impl Model {
    /// Size of a page.
    pub(super) fn page(&self) -> f64 {
        self.text.machine.page_size.bytes()
    }

    /// Lets the kernel kill if nothing is to be had any more.
    pub(super) fn kill_if_starved(&mut self, need: f64, share: f64) {
        let is_short = need > 0.0 && share < HARDLY;
        let kernels_lack = self.is_kernel_starved();
        if !kernels_lack && (!is_short || self.reclaimable() > NOTHING) {
            self.starved = 0;
            return;
        }
        if self.deflate() {
            return;
        }
        self.starved += 1;
        let since = (self.now - self.tallies.last_kill) / STEP;
        let is_apart = self.tallies.last_kill == 0 || since >= APART;
        if self.starved >= STARVED && is_apart && !self.is_anybody_ending() {
            self.kill_by_badness();
        }
    }

    /// Whether the kernel needs memory, and all that is free lies in contiguous-memory areas.
    fn is_kernel_starved(&self) -> bool {
        if self.cma_free <= 0.0 || self.free - self.cma_free >= self.marks().min {
            return false;
        }
        self.processes.iter().any(|process| {
            let kind = self.kind(process.program);
            process.is_active && matches!(kind, Kind::Slab | Kind::PageTables)
        })
    }

    /// A balloon that may deflate does so before the kernel kills.
    fn deflate(&mut self) -> bool {
        let may = self
            .text
            .machine
            .balloon
            .is_some_and(|balloon| balloon.deflates);
        if !may || self.balloon <= 0.0 {
            return false;
        }
        // The driver gives back 256 pages at a time, again and again.
        self.balloon = (self.balloon - 64.0 * 1024.0 * 1024.0).max(0.0);
        true
    }

    fn is_anybody_ending(&self) -> bool {
        let now = self.now;
        self.processes
            .iter()
            .any(|process| process.ends_at.is_some_and(|at| at <= now + 2000))
    }

    /// Kills what `oom_badness()` names: the largest, with `oom_score_adj` as thousandths of all memory.
    fn kill_by_badness(&mut self) {
        let victim = self.worst(|_| true);
        self.starved = 0;
        self.tallies.last_kill = self.now;
        match victim {
            Some(index) => {
                let names = self.names(index);
                self.tallies.kernel_kills.push((self.now, names));
                self.kernel_kill(index);
            }
            None if self.tallies.is_panicked => {}
            None => {
                self.tallies.is_panicked = true;
                let nobody = vec!["nobody: the kernel panics".to_owned()];
                self.tallies.kernel_kills.push((self.now, nobody));
            }
        }
    }

    /// Kills in a unit that is at its own limit.
    pub(super) fn kill_in(&mut self, unit: usize, _index: usize) {
        let is_inside = |model: &Self, index: usize| {
            let program = model.processes[index].program;
            model.programs[program].limits.contains(&unit)
        };
        let is_ending = (0..self.processes.len())
            .any(|index| is_inside(self, index) && self.processes[index].is_ending());
        if is_ending {
            return;
        }
        if let Some(index) = self.worst(|index| is_inside(self, index)) {
            self.units[unit].own_kills += 1;
            self.kernel_kill(index);
        }
    }

    fn worst(&self, is_eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let swap: f64 = self
            .swaps
            .iter()
            .map(|device| device.text.size.bytes())
            .sum();
        let all = self.total + swap;
        let badness = |index: usize| {
            let process = &self.processes[index];
            let program = &self.text.programs[process.program];
            let swapped = self.swapped(index);
            let adjusted = f64::from(program.oom_score_adj) * all / 1000.0;
            self.resident(index) + swapped + adjusted
        };
        (0..self.processes.len())
            .filter(|index| {
                let process = &self.processes[*index];
                let program = &self.text.programs[process.program];
                program.oom_score_adj > -1000 && !process.is_ending() && is_eligible(*index)
            })
            .max_by(|a, b| badness(*a).total_cmp(&badness(*b)))
    }

    fn kernel_kill(&mut self, index: usize) {
        self.tallies.oom_kills += 1;
        let program = self.processes[index].program;
        let whole = self.programs[program]
            .unit
            .filter(|unit| self.units[*unit].oom_group);
        for other in 0..self.processes.len() {
            let of = self.processes[other].program;
            let is_beside = whole.is_some_and(|unit| self.programs[of].limits.contains(&unit));
            if other == index || is_beside {
                let ends = self.end_after_kill(&self.text.programs[of]);
                self.processes[other].ends_at = self.processes[other].ends_at.or(ends);
            }
        }
    }

    /// Memory of a process in swap.
    pub(super) fn swapped(&self, index: usize) -> f64 {
        let process = &self.processes[index];
        let other = match self.kind(process.program) {
            Kind::Shared | Kind::Memfd => process.other.away,
            _ => 0.0,
        };
        process.anon.away + other
    }

    /// Another guard kills by its own threshold.
    pub(super) fn let_the_rival_kill(&mut self) {
        let Some(rival) = &self.text.machine.rival else {
            return;
        };
        let Some(floor) = rival.floor else { return };
        let floor = floor.bytes();
        let swap: f64 = self.swaps.iter().map(super::swap::Device::left).sum();
        let is_short = self.available() < floor && swap < floor;
        if !is_short || self.is_anybody_ending() {
            return;
        }
        let cgroups = rival.cgroups.clone();
        let is_its = |index: usize| {
            let unit = &self.text.programs[self.processes[index].program].unit;
            cgroups.is_empty() || cgroups.iter().any(|path| unit.starts_with(path.as_str()))
        };
        if let Some(index) = self.worst(is_its) {
            let program = self.processes[index].program;
            let ends = self.end_after_kill(&self.text.programs[program]);
            self.processes[index].ends_at = ends;
            self.rival_kills += 1;
        }
    }

    /// What the kernel says is available: `si_mem_available()`.
    pub(super) fn available(&self) -> f64 {
        let marks = self.marks();
        let files = self.idle + self.hot + self.mapped_files();
        let kept = (files / 2.0).min(marks.low);
        let slab = self.text.machine.kernel_reclaimable.bytes();
        let kept_slab = (slab / 2.0).min(marks.low);
        (self.free - marks.high + files - kept + slab - kept_slab).max(0.0)
    }

    /// Files that programs map, in RAM.
    pub(super) fn mapped_files(&self) -> f64 {
        (0..self.processes.len())
            .filter(|index| self.kind(self.processes[*index].program) == Kind::File)
            .map(|index| self.processes[index].other.resident())
            .sum()
    }
}
