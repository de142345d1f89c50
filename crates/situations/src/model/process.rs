//! Processes: their memory, what they do next, and their end.

use super::{BOOT, DT, Model, MountState, STEP};
use crate::text::{Kind, OnTerm, Phase, Program};

/// Freed memory of a process that ends, a second. Source: a process of 1 GiB in pages of 4 KiB took 420
/// to 670 ms from SIGKILL to the end, measured with pidfd.
const FREES: f64 = 2.0 * 1024.0 * 1024.0 * 1024.0;
/// What a program that starts takes a second, of the memory that it has at its start.
const STARTS: f64 = 4.0 * 1024.0 * 1024.0 * 1024.0;
/// From a deadly signal until the process begins to free its memory, in milliseconds.
const REACTS: u64 = 20;
/// Steps of its program that a process may take without time passing.
const MOST_PHASES: usize = 8;

/// An amount of memory, part of which is elsewhere: in swap, or evicted to its file.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Store {
    pub(super) total: f64,
    pub(super) away: f64,
}

impl Store {
    pub(super) fn resident(&self) -> f64 {
        (self.total - self.away).max(0.0)
    }

    /// Memory that may be evicted without harm, if so much of it is in use.
    pub(super) fn idle(&self, in_use: f64) -> f64 {
        (self.total - in_use - self.away).max(0.0)
    }

    /// Memory in use that is away.
    pub(super) fn missing(&self, in_use: f64) -> f64 {
        (self.away - (self.total - in_use).max(0.0)).max(0.0)
    }
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) program: usize,
    pub(super) pid: u32,
    /// When it started, in milliseconds since boot.
    pub(super) born: u64,
    pub(super) anon: Store,
    /// Memory of the kind that its text names, if that is not anonymous.
    pub(super) other: Store,
    pub(super) is_copy: bool,
    /// What it still takes before it begins: the memory that it has at its start.
    pub(super) starting: f64,
    phase: usize,
    phase_since: u64,
    forks: f64,
    /// When it begins to end, once a signal says so.
    pub(super) ends_at: Option<u64>,
    /// Whether it takes no more memory: it is stuck in the kernel.
    pub(super) is_halted: bool,
    /// Share of the last step that it could run.
    pub(super) runs: f64,
    /// Whether it wanted to run.
    pub(super) is_active: bool,
}

/// What is the same for all processes of a program.
#[derive(Debug)]
pub(super) struct ProgramState {
    pub(super) phases: Vec<Phase>,
    /// The unit of its own, or the nearest that limits it.
    pub(super) unit: Option<usize>,
    /// Every unit on the way to its cgroup.
    pub(super) limits: Vec<usize>,
    pub(super) kin: u32,
    /// The program that starts it.
    pub(super) parent: Option<usize>,
    started: u32,
    /// Processes of it that are there.
    alive: u32,
    next_start: Option<u64>,
}

impl Process {
    pub(super) fn is_ending(&self) -> bool {
        self.ends_at.is_some()
    }
}

impl Model {
    pub(super) fn prepare_programs(&mut self) {
        let families: Vec<Option<String>> = self
            .text
            .programs
            .iter()
            .map(|program| program.family.clone())
            .collect();
        for (index, program) in self.text.programs.iter().enumerate() {
            let first = families
                .iter()
                .position(|family| family.is_some() && *family == program.family);
            let kin = 300 + first.unwrap_or(index) as u32;
            let is_parent = |name: &String| {
                let mut programs = self.text.programs.iter();
                programs.position(|other| other.name == *name)
            };
            let state = ProgramState {
                phases: program.phases(),
                unit: self.units.iter().position(|unit| unit.is_of(program)),
                limits: self.units_above(program),
                kin,
                parent: program.parent.as_ref().and_then(is_parent),
                started: 0,
                alive: 0,
                next_start: Some(program.starts.map_or(0, crate::text::Time::millis)),
            };
            self.programs.push(state);
        }
    }

    /// Starts what is due: programs of the text, what is started again, and copies.
    pub(super) fn start_programs(&mut self) {
        for index in 0..self.programs.len() {
            let has_starter = self.programs[index]
                .parent
                .is_none_or(|parent| self.programs[parent].alive > 0);
            if !has_starter {
                continue;
            }
            while let Some(at) = self.programs[index].next_start.filter(|at| *at <= self.now) {
                let program = &self.text.programs[index];
                let apart = program.apart.millis();
                let count = program.count;
                let was_there = program.starts.is_none();
                let age = if was_there { BOOT / 2 } else { 0 };
                self.spawn(index, (BOOT + at).saturating_sub(age));
                let state = &mut self.programs[index];
                state.started += 1;
                state.next_start = (state.started < count).then_some(at + apart);
            }
        }
        let now = self.now;
        let due: Vec<usize> = self
            .respawns
            .iter()
            .filter(|(_, at)| *at <= now)
            .map(|(program, _)| *program)
            .collect();
        self.respawns.retain(|(_, at)| *at > now);
        for program in due {
            self.spawn(program, BOOT + now);
        }
        self.fork();
    }

    fn fork(&mut self) {
        let mut copies = Vec::new();
        for index in 0..self.processes.len() {
            let program = self.processes[index].program;
            let Some(forks) = self.text.programs[program].forks else {
                continue;
            };
            let process = &mut self.processes[index];
            let may = (forks.all || !process.is_copy) && process.ends_at.is_none();
            if !may {
                continue;
            }
            process.forks += forks.rate.per_second() * DT * process.runs;
            while process.forks >= 1.0 {
                process.forks -= 1.0;
                copies.push((program, forks.most));
            }
        }
        for (program, most) in copies {
            if self.programs[program].alive < most {
                self.spawn(program, BOOT + self.now);
                if let Some(process) = self.processes.last_mut() {
                    process.is_copy = true;
                }
            }
        }
    }

    fn spawn(&mut self, program: usize, born: u64) {
        let has = self.text.programs[program].has.bytes();
        let was_there = born < BOOT;
        self.processes.push(Process {
            program,
            pid: self.next_pid,
            born,
            anon: Store {
                total: if was_there { has } else { 0.0 },
                away: 0.0,
            },
            other: Store::default(),
            is_copy: false,
            starting: if was_there { 0.0 } else { has },
            phase: 0,
            phase_since: self.now,
            forks: 0.0,
            ends_at: None,
            is_halted: false,
            runs: 1.0,
            is_active: false,
        });
        self.next_pid += 1;
        self.programs[program].alive += 1;
    }

    /// Frees memory of processes that end.
    pub(super) fn end_processes(&mut self) {
        let now = self.now;
        let mut index = 0;
        while index < self.processes.len() {
            let is_due = self.processes[index].ends_at.is_some_and(|at| at <= now);
            if is_due && self.free_some(index) {
                let process = self.processes.swap_remove(index);
                self.programs[process.program].alive -= 1;
                if let Some(after) = self.text.programs[process.program].respawns {
                    self.respawns.push((process.program, now + after.millis()));
                }
            } else {
                index += 1;
            }
        }
    }

    /// Frees so much as one step allows. Returns whether nothing is left.
    fn free_some(&mut self, index: usize) -> bool {
        let kind = self.kind(self.processes[index].program);
        let in_swap = matches!(kind, Kind::Shared | Kind::Memfd);
        let mut budget = FREES * DT;
        let process = &mut self.processes[index];
        let mut swapped = process.anon.away;
        process.anon.total -= process.anon.away;
        process.anon.away = 0.0;
        if in_swap {
            swapped += process.other.away;
        }
        process.other.total -= process.other.away;
        process.other.away = 0.0;
        for store in [&mut process.anon, &mut process.other] {
            let freed = store.total.min(budget);
            store.total -= freed;
            budget -= freed;
        }
        // What stays when a process ends was never its own.
        let stays = matches!(kind, Kind::Tmpfs | Kind::Slab);
        let left = process.anon.total + if stays { 0.0 } else { process.other.total };
        self.swap_freed(swapped);
        left < 1.0
    }

    /// What a process takes in this step if nothing slows it down; moves on through its phases.
    pub(super) fn growth_wanted(&mut self, index: usize) -> f64 {
        let starting = self.processes[index].starting;
        if starting > 1.0 {
            return starting.min(STARTS * DT);
        }
        for _ in 0..MOST_PHASES {
            let process = &self.processes[index];
            let phases = &self.programs[process.program].phases;
            let Some(&phase) = phases.get(process.phase) else {
                return 0.0;
            };
            let size = self.grown(index);
            match phase {
                Phase::Grow(speed, to) => {
                    let left = to.map_or(f64::MAX, |to| to.bytes() - size);
                    if left > 1.0 {
                        return (speed.per_second() * DT).min(left);
                    }
                }
                Phase::Wait(time) => {
                    if self.now < process.phase_since + time.millis() {
                        return 0.0;
                    }
                }
                Phase::Shrink(to) => self.shrink(index, to.bytes()),
                Phase::Exit => {
                    self.processes[index].ends_at = Some(self.now + STEP);
                    return 0.0;
                }
                Phase::Repeat => {
                    self.processes[index].phase = 0;
                    self.processes[index].phase_since = self.now;
                    continue;
                }
            }
            let process = &mut self.processes[index];
            process.phase += 1;
            process.phase_since = self.now;
        }
        0.0
    }

    /// The size that its growth is measured by.
    fn grown(&self, index: usize) -> f64 {
        let process = &self.processes[index];
        match self.kind(process.program) {
            Kind::Anon => process.anon.total,
            _ => process.other.total,
        }
    }

    fn shrink(&mut self, index: usize, to: f64) {
        let kind = self.kind(self.processes[index].program);
        let process = &mut self.processes[index];
        let store = if kind == Kind::Anon {
            &mut process.anon
        } else {
            &mut process.other
        };
        if store.total <= to || store.total <= 0.0 {
            return;
        }
        let kept = to / store.total;
        let swapped = store.away * (1.0 - kept);
        let dropped = store.total - to;
        store.total = to;
        store.away *= kept;
        match kind {
            Kind::Anon | Kind::Shared | Kind::Memfd => self.swap_freed(swapped),
            Kind::Tmpfs => {
                if let Some(mount) = self.mount_of(index) {
                    let mount = &mut self.mounts[mount].store;
                    mount.total = (mount.total - dropped).max(0.0);
                    mount.away = mount.away.min(mount.total);
                }
            }
            _ => {}
        }
    }

    /// Adds memory that a process was given.
    pub(super) fn grow(&mut self, index: usize, amount: f64) {
        let program = self.processes[index].program;
        let kind = self.kind(program);
        let process = &mut self.processes[index];
        if process.starting > 1.0 {
            process.starting -= amount;
            process.anon.total += amount;
            return;
        }
        if kind == Kind::Anon {
            process.anon.total += amount;
        } else {
            process.other.total += amount;
        }
        match kind {
            Kind::Slab => self.slab += amount,
            Kind::Tmpfs => {
                let mount = self
                    .mount_of(index)
                    .unwrap_or_else(|| self.add_mount(index));
                self.mounts[mount].store.total += amount;
            }
            _ => {}
        }
    }

    /// The place of the mount that a process writes to, if it has any files yet.
    pub(super) fn mount_of(&self, index: usize) -> Option<usize> {
        let path = self.text.programs[self.processes[index].program]
            .mount
            .as_ref()?;
        self.mounts.iter().position(|mount| mount.path == *path)
    }

    fn add_mount(&mut self, index: usize) -> usize {
        let program = self.processes[index].program;
        let path = self.text.programs[program].mount.clone();
        self.mounts.push(MountState {
            path: path.unwrap_or_default(),
            store: Store::default(),
            unit: self.programs[program].unit,
        });
        self.mounts.len() - 1
    }

    /// How much of the memory that it touches is in use: of its own kind, or anonymous.
    pub(super) fn in_use(&self, index: usize) -> f64 {
        let process = &self.processes[index];
        let program = &self.text.programs[process.program];
        if program.touches.per_second() == 0.0 {
            return 0.0;
        }
        let all = self.touched(index).total;
        program.uses.map_or(all, |uses| uses.bytes().min(all))
    }

    /// The memory that it touches.
    pub(super) fn touched(&self, index: usize) -> Store {
        let process = &self.processes[index];
        match self.kind(process.program) {
            Kind::Shared | Kind::Memfd | Kind::File => process.other,
            _ => process.anon,
        }
    }

    pub(super) fn touched_mut(&mut self, index: usize) -> &mut Store {
        let kind = self.kind(self.processes[index].program);
        let process = &mut self.processes[index];
        match kind {
            Kind::Shared | Kind::Memfd | Kind::File => &mut process.other,
            _ => &mut process.anon,
        }
    }

    /// When a process begins to end after SIGTERM; `None` if it does not.
    pub(super) fn end_after_term(&self, program: &Program) -> Option<u64> {
        match program.on_term {
            OnTerm::Ignores => None,
            OnTerm::Exits(_) if program.stuck => None,
            OnTerm::Exits(time) => {
                Some(self.now + REACTS + time.millis() + program.lingers.millis())
            }
        }
    }

    /// When a process begins to end after SIGKILL; `None` if it is stuck.
    pub(super) fn end_after_kill(&self, program: &Program) -> Option<u64> {
        if program.stuck {
            None
        } else {
            Some(self.now + REACTS + program.lingers.millis())
        }
    }
}
