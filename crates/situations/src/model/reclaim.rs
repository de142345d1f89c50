//! Reclaim: kswapd between the watermarks, and the allocating tasks themselves below them.

use super::evict::{What, Which};
use super::{DT, Model};
use crate::text::Kind;
use ::pressure::knob::Knob;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
/// What one CPU reclaims of clean file pages a second. Measured values of kswapd lie between 1 and 4
/// GiB/s.
const CLEAN: f64 = 2.0 * GIB;
/// What the cache of ZFS gives back a second: its shrinker works in a thread of its own.
const ARC: f64 = 2.0 * GIB;
/// File pages that are never evicted: those that run just now, as a share of memory.
const RUNNING: f64 = 0.004;

/// Watermarks of the whole machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) min: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Memory that is asked for in a step.
#[derive(Debug, Default)]
pub(super) struct Wants {
    /// By each process, for growth.
    pub(super) growth: Vec<f64>,
    /// By each process, for its own memory that is away.
    pub(super) faults: Vec<f64>,
    /// For file cache in use that is away.
    pub(super) cache: f64,
    /// For streams of files.
    pub(super) streams: f64,
    /// How many tasks ask.
    pub(super) allocators: usize,
}

impl Wants {
    pub(super) fn total(&self) -> f64 {
        let growth: f64 = self.growth.iter().sum();
        let faults: f64 = self.faults.iter().sum();
        growth + faults + self.cache + self.streams
    }
}

impl Model {
    pub(super) fn marks(&self) -> Marks {
        let min = self.knobs.now.of(Knob::MinFreeKbytes).unwrap_or(0) as f64 * 1024.0;
        let factor = self.knobs.now.of(Knob::WatermarkScaleFactor).unwrap_or(10) as f64;
        let gap = (min / 4.0).max(self.total * factor / 10_000.0);
        Marks {
            min,
            low: min + gap,
            high: min + 2.0 * gap,
        }
    }

    /// What processes want in this step, with the time that they lose on memory that is away.
    pub(super) fn wants(&mut self) -> Wants {
        let mut wants = Wants::default();
        let cache_wait = self.cache_wait();
        let waiting = self.waiting();
        let swap_speed = self.swap_speed() / waiting.0.max(1.0);
        let disk_speed = self.text.machine.disk_reads.per_second() / waiting.1.max(1.0);
        let mut ran = 0.0;
        let mut active = 0.0;
        for index in 0..self.processes.len() {
            wants.growth.push(0.0);
            wants.faults.push(0.0);
            let process = &self.processes[index];
            if process.is_ending() || process.is_halted || self.is_frozen(index) {
                self.processes[index].is_active = false;
                self.processes[index].runs = 1.0;
                continue;
            }
            let wanted = self.growth_wanted(index);
            let program = &self.text.programs[self.processes[index].program];
            let touches = program.touches.per_second();
            let is_busy = touches > 0.0
                || program.streams.per_second() > 0.0
                || program.writes.per_second() > 0.0;
            let speed = if program.memory == Kind::File {
                disk_speed
            } else {
                swap_speed
            };
            let in_use = self.in_use(index);
            let missing = self.touched(index).missing(in_use);
            let missed = if in_use > 0.0 {
                touches * missing / in_use
            } else {
                0.0
            };
            let is_active = wanted > 0.0 || is_busy;
            let own_wait = missed / speed;
            let runs = if is_active {
                1.0 / (1.0 + own_wait + cache_wait)
            } else {
                1.0
            };
            let process = &mut self.processes[index];
            process.is_active = is_active;
            process.runs = runs;
            wants.faults[index] = (missed * runs * DT).min(missing);
            let allowed = self.allowed(index, wanted * runs);
            wants.growth[index] = allowed;
            if wanted > 0.0 {
                self.processes[index].runs = (allowed / wanted).min(runs);
                wants.allocators += 1;
            }
            if is_active {
                ran += self.processes[index].runs;
                active += 1.0;
            }
        }
        let runs = if active > 0.0 {
            ran / active
        } else {
            1.0 / (1.0 + cache_wait)
        };
        wants.cache = self.cache_faults() * runs * DT;
        wants.streams = self.streamed(&wants);
        wants.allocators = wants.allocators.max(1);
        wants
    }

    /// Bytes a second of the file cache in use that are touched and away.
    fn cache_faults(&self) -> f64 {
        let cache = self.text.machine.cache;
        let in_use = cache.in_use.bytes();
        if in_use <= 0.0 {
            return 0.0;
        }
        let missing = (in_use - self.hot).max(0.0);
        cache.touches.per_second() * missing / in_use
    }

    /// Time that a task loses on it, for each second that it runs.
    fn cache_wait(&self) -> f64 {
        self.cache_faults() / self.text.machine.disk_reads.per_second()
    }

    /// Tasks that wait for swap, and for mapped files: they share the device.
    fn waiting(&self) -> (f64, f64) {
        let mut swap = 0.0;
        let mut files = 0.0;
        for index in 0..self.processes.len() {
            let in_use = self.in_use(index);
            let waits = in_use > 0.0 && self.touched(index).missing(in_use) > 0.001 * in_use;
            if !waits || self.processes[index].is_ending() || self.is_frozen(index) {
                continue;
            }
            if self.kind(self.processes[index].program) == Kind::File {
                files += 1.0;
            } else {
                swap += 1.0;
            }
        }
        (swap, files)
    }

    /// Reads of files that are larger than memory, which become idle cache.
    fn streamed(&self, wants: &Wants) -> f64 {
        let mut sum = 0.0;
        for index in 0..wants.growth.len() {
            let process = &self.processes[index];
            if process.is_ending() || self.is_frozen(index) {
                continue;
            }
            let program = &self.text.programs[process.program];
            let writes = program.writes.per_second() * self.write_share;
            let speed = program.streams.per_second() + writes;
            sum += speed * DT * process.runs;
        }
        sum
    }

    /// Lets kswapd fill up what is below the low watermark.
    pub(super) fn run_kswapd(&mut self) {
        self.renew_swap_budgets();
        let marks = self.marks();
        if self.free < marks.low {
            self.tallies.kswapd_runs += 1;
            let freed = self.reclaim(marks.high - self.free, CLEAN * DT);
            self.free += freed;
            self.tallies.stolen_by_kswapd(freed, self.page());
        }
    }

    /// Lets the allocating tasks reclaim what they need above the min watermark.
    pub(super) fn reclaim_for(&mut self, need: f64, allocators: usize) {
        let marks = self.marks();
        let lacking = need + marks.min - self.free;
        if lacking <= 0.0 {
            return;
        }
        let tasks = allocators.min(self.text.machine.processors as usize) as f64;
        let freed = self.reclaim(lacking, CLEAN * DT * tasks);
        self.free += freed;
        self.tallies.stolen_directly(freed, self.page());
        // The time that this takes is lost to the tasks that do it.
        let lost = (freed / (CLEAN * tasks * DT)).min(1.0);
        self.stalls.reclaiming = lost;
    }

    /// Frees up to `want`, of clean file pages no more than `budget`.
    fn reclaim(&mut self, want: f64, budget: f64) -> f64 {
        let mut clean = budget;
        let mut freed = self.drop_idle_cache(want.min(clean));
        clean -= freed;
        freed += self.drop_files(Which::Idle, (want - freed).min(clean));
        freed += self.shrink_arc((want - freed).min(ARC * DT));
        freed += self.swap_out(Which::Idle, want - freed);
        if freed < want && !self.keeps_recent_pages() {
            freed += self.drop_pages_in_use(want - freed, clean);
        }
        freed
    }

    /// Evicts idle cache of all, in equal shares.
    fn drop_idle_cache(&mut self, want: f64) -> f64 {
        let clean = (self.idle - self.dirty).max(0.0);
        let dropped = clean.min(want).max(0.0);
        if dropped > 0.0 {
            let kept = 1.0 - dropped / self.idle;
            for unit in &mut self.units {
                unit.cache *= kept;
            }
            self.idle -= dropped;
        }
        dropped
    }

    fn drop_files(&mut self, which: Which, want: f64) -> f64 {
        let there = self.evictable(What::Files, which);
        if there <= 0.0 || want <= 0.0 {
            return 0.0;
        }
        let part = (want / there).min(1.0);
        self.take_away(What::Files, which, part);
        there * part
    }

    fn shrink_arc(&mut self, want: f64) -> f64 {
        let least = self.text.machine.arc.map_or(0.0, |arc| arc.least.bytes());
        let given = (self.arc - least).min(want).max(0.0);
        self.arc -= given;
        given
    }

    fn swap_out(&mut self, which: Which, want: f64) -> f64 {
        let there = self.evictable(What::Swappable, which);
        if there <= 0.0 || want <= 0.0 || self.swap_gain(there) <= 0.0 {
            return 0.0;
        }
        let (written, freed) = self.write_to_swap(want, there);
        self.take_away(What::Swappable, which, written / there);
        freed
    }

    /// Evicts memory in use: file pages and, with swap, anonymous ones, in the shares that they have.
    fn drop_pages_in_use(&mut self, want: f64, budget: f64) -> f64 {
        let cache = (self.hot - RUNNING * self.total).max(0.0);
        let files = self.evictable(What::Files, Which::Any);
        let anon = self.evictable(What::Swappable, Which::Any);
        let anon = self.swap_gain(anon);
        let all = cache + files + anon;
        if all <= 0.0 {
            return 0.0;
        }
        let of_cache = cache.min(want * cache / all).min(budget);
        self.hot -= of_cache;
        let of_files = self.drop_files(Which::Any, (want * files / all).min(budget));
        let freed = of_cache + of_files;
        freed + self.swap_out(Which::Any, want - freed)
    }

    /// With `min_ttl_ms` the kernel would rather kill than evict what was used that lately.
    pub(super) fn keeps_recent_pages(&self) -> bool {
        self.knobs.now.of(Knob::MinTtlMs).unwrap_or(0) > 0
    }

    /// What reclaim could still free.
    pub(super) fn reclaimable(&self) -> f64 {
        let least = self.text.machine.arc.map_or(0.0, |arc| arc.least.bytes());
        let arc = (self.arc - least).max(0.0);
        let idle = self.idle;
        let files = self.evictable(What::Files, self.least_evicted());
        let cache = if self.keeps_recent_pages() {
            0.0
        } else {
            (self.hot - RUNNING * self.total).max(0.0)
        };
        let anon = self.evictable(What::Swappable, self.least_evicted());
        arc + idle + files + cache + anon.min(self.useful_swap())
    }

    fn least_evicted(&self) -> Which {
        if self.keeps_recent_pages() {
            Which::Idle
        } else {
            Which::Any
        }
    }

    /// The share of `need` that can be granted above the min watermark.
    pub(super) fn share_of(&self, need: f64) -> f64 {
        if need <= 0.0 {
            return 1.0;
        }
        ((self.free - self.marks().min) / need).clamp(0.0, 1.0)
    }

    /// Gives every process its share.
    pub(super) fn grant(&mut self, wants: &Wants, share: f64) {
        let page = self.page();
        let taken = wants.total() * share;
        self.take_cma(taken);
        for index in 0..wants.growth.len() {
            let growth = wants.growth[index] * share * self.movable_share(index);
            let faults = wants.faults[index] * share;
            let is_file = self.kind(self.processes[index].program) == Kind::File;
            if growth > 0.0 {
                self.grow(index, growth);
            }
            if faults > 0.0 {
                self.touched_mut(index).away -= faults;
                self.tallies.refaulted(is_file, faults, page);
                if !is_file {
                    self.swap_freed(faults);
                }
            }
            if wants.growth[index] + faults > 0.0 {
                self.processes[index].runs *= share * (1.0 - 0.5 * self.stalls.reclaiming);
            }
        }
        self.free -= taken;
        self.hot += wants.cache * share;
        self.tallies.refaulted(true, wants.cache * share, page);
        self.tallies.allocated(taken, page);
        self.idle += wants.streams * share;
        self.charge_streams(share);
    }

    /// Memory that may lie in contiguous-memory areas is taken there once more than half of what is free
    /// is theirs. Source: `rmqueue` in `mm/page_alloc.c`.
    fn take_cma(&mut self, taken: f64) {
        if self.cma_free > self.free / 2.0 {
            self.cma_free = (self.cma_free - taken).max(0.0);
        }
        self.cma_free = self.cma_free.min(self.free.max(0.0));
    }

    /// The kernel's own memory may not lie there.
    fn movable_share(&self, index: usize) -> f64 {
        let is_kernels = matches!(
            self.kind(self.processes[index].program),
            Kind::Slab | Kind::PageTables
        );
        if is_kernels && self.free - self.cma_free < self.marks().min {
            0.0
        } else {
            1.0
        }
    }
}
