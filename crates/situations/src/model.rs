//! The model of a machine: what its programs do to memory, and what the kernel does then.
//!
//! ```text
//! grow, touch, stream ─► free ─► kswapd ─► direct reclaim ─► grant, stall, or OOM kill
//!                                   │
//!                    idle cache, ZFS cache, idle memory to swap, memory in use last
//! ```
//!
//! A step is [`STEP`]. All amounts are bytes as floating point numbers; sums and products of these are
//! the same on every machine.

mod evict;
mod groups;
mod kernel;
mod limits;
mod observe;
mod pressure;
mod process;
mod reclaim;
mod scan;
mod signals;
mod swap;
mod time;

use crate::text::{Kind, Situation};
use ::pressure::knob::KnobStates;
use ::pressure::sample::Facts;
use groups::UnitState;
use kernel::Tallies;
use pressure::Stalls;
use process::{Process, ProgramState, Store};
use swap::Device;

/// A step in milliseconds. Shorter takes longer to run; longer is too coarse for a guard that looks every
/// 100 ms.
pub const STEP: u64 = 20;
/// The same in seconds.
pub(crate) const DT: f64 = STEP as f64 / 1000.0;
/// Time since boot at which every situation begins, so that programs can be older than it.
pub(crate) const BOOT: u64 = 20_000_000;

/// Files on a tmpfs.
#[derive(Debug)]
pub(crate) struct MountState {
    path: String,
    store: Store,
    /// The unit that its memory is charged to: that of its first writer.
    unit: Option<usize>,
}

/// A machine with its programs.
#[derive(Debug)]
pub struct Model {
    text: Situation,
    facts: Facts,
    /// Milliseconds since the situation began.
    now: u64,
    /// Memory that the kernel manages.
    total: f64,
    free: f64,
    /// Kernel memory that leaked.
    slab: f64,
    /// File cache that is not in use, of programs and of others.
    idle: f64,
    /// Of it, to be written first.
    dirty: f64,
    /// Share of what programs want to write that they may.
    write_share: f64,
    /// File cache in use that is in memory.
    hot: f64,
    arc: f64,
    balloon: f64,
    cma_free: f64,
    swaps: Vec<Device>,
    mounts: Vec<MountState>,
    units: Vec<UnitState>,
    programs: Vec<ProgramState>,
    processes: Vec<Process>,
    next_pid: u32,
    /// Programs to be started again, and when.
    respawns: Vec<(usize, u64)>,
    knobs: KnobStates,
    stalls: Stalls,
    tallies: Tallies,
    scan: scan::ScanState,
    groups: groups::Limits,
    rival_kills: u32,
    /// Steps in which hardly any memory was to be had.
    starved: u32,
}

impl Model {
    /// The machine of a text, before anything happens.
    pub fn new(text: &Situation) -> Self {
        let machine = &text.machine;
        let total = machine.memory.bytes();
        let cache = machine.cache;
        let mut model = Self {
            facts: observe::facts(machine),
            now: 0,
            total,
            free: 0.0,
            slab: 0.0,
            idle: cache.size.bytes() - cache.in_use.bytes(),
            dirty: machine.dirty.bytes(),
            write_share: 1.0,
            hot: cache.in_use.bytes(),
            arc: machine.arc.map_or(0.0, |arc| arc.size.bytes()),
            balloon: machine.balloon.map_or(0.0, |balloon| balloon.size.bytes()),
            cma_free: machine.cma.map_or(0.0, |cma| cma.size.bytes()),
            swaps: machine.swap.iter().map(Device::new).collect(),
            mounts: Vec::new(),
            units: Vec::new(),
            programs: Vec::new(),
            processes: Vec::new(),
            next_pid: 1000,
            respawns: Vec::new(),
            knobs: kernel::knobs(machine),
            stalls: Stalls::default(),
            tallies: Tallies::default(),
            scan: scan::ScanState::default(),
            groups: groups::Limits::default(),
            rival_kills: 0,
            starved: 0,
            text: text.clone(),
        };
        model.prepare_units();
        model.prepare_programs();
        model.start_programs();
        model.free = model.total - model.held();
        model
    }

    /// Lets one step of time pass.
    pub fn step(&mut self) {
        self.now += STEP;
        self.start_programs();
        self.end_processes();
        self.change_machine();
        self.free = self.total - self.held();
        self.use_disk();
        self.count_usage();
        let wants = self.wants();
        self.run_kswapd();
        let need = wants.total();
        self.reclaim_for(need, wants.allocators);
        let share = self.share_of(need);
        self.grant(&wants, share);
        self.kill_if_starved(need, share);
        self.let_the_rival_kill();
        self.count_stalls();
    }

    /// What the machine is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Milliseconds since the situation began.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Time that some task, and that all tasks, stalled for memory, in microseconds.
    pub fn stalled(&self) -> (u64, u64) {
        (self.stalls.some_total as u64, self.stalls.full_total as u64)
    }

    /// What the kernel OOM-killed for want of memory of the machine, and when.
    pub(crate) fn kernel_kills(&self) -> &[(u64, Vec<String>)] {
        &self.tallies.kernel_kills
    }

    /// All memory that is taken.
    fn held(&self) -> f64 {
        let machine = &self.text.machine;
        let kernel = machine.kernel_memory.bytes() + machine.kernel_reclaimable.bytes();
        let pool = machine.huge_pages.map_or(0.0, |pool| pool.size.bytes());
        let caches = self.idle + self.hot + self.arc + self.balloon;
        let processes: f64 = (0..self.processes.len())
            .map(|index| self.resident(index))
            .sum();
        let mounts: f64 = self.mounts.iter().map(|mount| mount.store.resident()).sum();
        let compressed: f64 = self.swaps.iter().map(Device::cost).sum();
        kernel + self.slab + pool + caches + processes + mounts + compressed
    }

    /// Memory of a process in RAM, page tables and huge pages included.
    fn resident(&self, index: usize) -> f64 {
        let process = &self.processes[index];
        process.anon.resident() + self.resident_other(index)
    }

    /// The same without its ordinary anonymous memory.
    fn resident_other(&self, index: usize) -> f64 {
        let process = &self.processes[index];
        match self.kind(process.program) {
            Kind::Anon | Kind::Tmpfs | Kind::Slab => 0.0,
            Kind::Shared | Kind::Memfd | Kind::File | Kind::Hugetlb | Kind::PageTables => {
                process.other.resident()
            }
        }
    }

    fn kind(&self, program: usize) -> Kind {
        self.text.programs[program].memory
    }
}
