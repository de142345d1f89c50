//! The clockwork.

use super::{Machine, Memory, Process, Target};
use crate::frames::{Kind, Moment};
use crate::{Error, Page};
use serde::Serialize;

/// What became of a process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProcessOutcome {
    /// Its name.
    pub name: String,
    /// References that it got to.
    pub references: u64,
    /// When it ended, ns.
    pub ended_ns: u64,
    /// Whether it was killed for want of memory.
    pub killed: bool,
    /// First uses of a page.
    pub cold: u64,
    /// File pages that had to be read again.
    pub refaults_file: u64,
    /// Anonymous pages that had to be read from swap.
    pub refaults_anon: u64,
    /// Time in which it waited for memory: pages read again, and its own reclaim, ns.
    pub stalled_ns: u64,
    /// Time in which it waited for first reads, ns.
    pub read_ns: u64,
    /// Pages in memory, at most.
    pub most: usize,
}

/// What became of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// When the last ended, ns.
    pub makespan_ns: u64,
    /// Each.
    pub processes: Vec<ProcessOutcome>,
    /// Pages read.
    pub reads: u64,
    /// Pages written back.
    pub writes: u64,
    /// Pages reclaimed on the side.
    pub kswapd: u64,
    /// Pages reclaimed by the processes themselves.
    pub direct: u64,
    /// Kills.
    pub oom_kills: u64,
    /// Time with at least one process stalled for memory, ns.
    pub some_ns: u64,
    /// Time with all that live stalled, ns.
    pub full_ns: u64,
    /// Share of faults at which the next to run was the largest.
    pub leftmost_is_largest: f64,
    /// Mean of the largest process's pages over the second's.
    pub largest_over_second: f64,
}

/// Runs the processes until all have ended.
///
/// Errors: a machine that cannot be, no process, or more than 65,536.
pub fn run<M: Memory>(
    machine: &Machine,
    processes: &[Process<'_>],
    memory: &mut M,
) -> Result<Outcome, Error> {
    machine.check()?;
    if processes.is_empty() || processes.len() > usize::from(u16::MAX) {
        return Err(Error::Unfit(format!(
            "{} processes: one to 65535 are meant",
            processes.len()
        )));
    }
    let mut clockwork = Clockwork::new(machine, processes, memory);
    while let Some(next) = clockwork.next() {
        clockwork.turn(next);
    }
    Ok(clockwork.outcome())
}

/// A process on its way.
#[derive(Debug, Default, Clone)]
struct Task {
    at: usize,
    first: Page,
    pages: usize,
    /// Processor time, which is also its virtual time.
    virtual_time: u64,
    blocked_until: u64,
    /// Whether what it is blocked on is memory's fault.
    stalled: bool,
    resident: usize,
    ended: bool,
    told: ProcessOutcome,
}

struct Clockwork<'a, M> {
    machine: &'a Machine,
    processes: &'a [Process<'a>],
    memory: &'a mut M,
    tasks: Vec<Task>,
    owner: Vec<u16>,
    seen: Vec<bool>,
    now: u64,
    device_free_at: u64,
    told: Outcome,
    looks: (u64, u64, f64),
    gone: Vec<(Page, bool)>,
}

impl<'a, M: Memory> Clockwork<'a, M> {
    fn new(machine: &'a Machine, processes: &'a [Process<'a>], memory: &'a mut M) -> Self {
        let mut tasks = Vec::new();
        let mut owner = Vec::new();
        for (number, process) in processes.iter().enumerate() {
            let pages = process.trace.pages();
            let told = ProcessOutcome {
                name: process.name.clone(),
                ..ProcessOutcome::default()
            };
            tasks.push(Task {
                first: owner.len() as Page,
                pages,
                told,
                ..Task::default()
            });
            owner.extend(std::iter::repeat_n(number as u16, pages));
        }
        let seen = vec![false; owner.len()];
        Self {
            machine,
            processes,
            memory,
            tasks,
            owner,
            seen,
            now: 0,
            device_free_at: 0,
            told: Outcome::default(),
            looks: (0, 0, 0.0),
            gone: Vec::new(),
        }
    }

    /// The process that runs next; time passes until there is one. `None` when all have ended.
    fn next(&mut self) -> Option<usize> {
        let alive = || {
            self.tasks
                .iter()
                .enumerate()
                .filter(|(_, task)| !task.ended)
        };
        let soonest = alive().map(|(_, task)| task.blocked_until).min()?;
        if soonest > self.now {
            self.pass(soonest - self.now);
        }
        let runnable = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| !task.ended && task.blocked_until <= self.now);
        runnable
            .min_by_key(|(_, task)| task.virtual_time)
            .map(|(number, _)| number)
    }

    /// Time passes, and counts as stalled for whom it does.
    fn pass(&mut self, span: u64) {
        let mut waiting = 0;
        let mut alive = 0;
        for task in self.tasks.iter().filter(|task| !task.ended) {
            alive += 1;
            waiting += u64::from(task.stalled && task.blocked_until > self.now);
        }
        self.now += span;
        self.told.some_ns += if waiting > 0 { span } else { 0 };
        self.told.full_ns += if waiting > 0 && waiting == alive {
            span
        } else {
            0
        };
    }

    /// A process runs to the end of its slice, a fault, or its own end.
    fn turn(&mut self, number: usize) {
        let machine = self.machine;
        let process = &self.processes[number];
        let task = &mut self.tasks[number];
        task.stalled = false;
        let refs = process.trace.refs();
        let op = process.trace.op();
        let from = task.at;
        let first = task.first;
        let slice = (machine.slice_ns / machine.reference_ns).max(1) as usize;
        let end = refs.len().min(from + slice);
        let mut at = from;
        let mut virtual_time = task.virtual_time;
        while at < end && self.memory.holds(first + refs[at]) {
            virtual_time += machine.reference_ns;
            self.memory.used(
                first + refs[at],
                op.is_some_and(|op| op[at].writes()),
                virtual_time,
            );
            at += 1;
        }
        let task = &mut self.tasks[number];
        task.at = at;
        task.virtual_time = virtual_time;
        self.pass((at - from) as u64 * machine.reference_ns);
        if at == refs.len() {
            self.end(number, false);
        } else if at < end {
            self.fault(number, refs[at], op.is_some_and(|op| op[at].writes()));
        }
    }

    fn fault(&mut self, number: usize, page: Page, writes: bool) {
        let whole = self.tasks[number].first + page;
        let kind = self.processes[number].kinds[page as usize];
        let again = std::mem::replace(&mut self.seen[whole as usize], true);
        self.look();
        self.give_back(number);
        let began = self.now;
        if !self.frame_for(number) {
            return;
        }
        let task = &mut self.tasks[number];
        let told = &mut task.told;
        match (again, kind) {
            (false, _) => told.cold += 1,
            (true, Kind::File) => told.refaults_file += 1,
            (true, Kind::Anon) => told.refaults_anon += 1,
        }
        if again {
            self.memory.refaulted(number);
        }
        let task = &mut self.tasks[number];
        self.memory
            .enter(whole, number, kind, self.now, task.virtual_time);
        self.memory.used(whole, writes, task.virtual_time);
        task.resident += 1;
        task.told.most = task.told.most.max(task.resident);
        let reclaiming = self.now - began;
        if again || kind == Kind::File {
            let done = self.device_free_at.max(self.now) + self.machine.read_ns;
            self.device_free_at = done;
            task.blocked_until = done;
            task.stalled = again;
            self.told.reads += 1;
            let waits = done - self.now;
            *(if again {
                &mut task.told.stalled_ns
            } else {
                &mut task.told.read_ns
            }) += waits;
        }
        task.told.stalled_ns += reclaiming;
        // The reference that faulted is made as soon as its page is there. Else programs that take each other's page
        // before it is used would do so for ever.
        task.at += 1;
        task.virtual_time += self.machine.reference_ns;
        self.pass(self.machine.reference_ns);
        self.reclaim_aside();
    }

    /// Makes sure of a free frame; `false` if the process was killed for it.
    fn frame_for(&mut self, number: usize) -> bool {
        loop {
            let frames = self.machine.frames(self.now);
            if self.memory.len() + self.machine.min < frames {
                return true;
            }
            match self.evict(number, frames) {
                true => {
                    self.told.direct += 1;
                    self.pass(self.machine.reclaim_ns);
                }
                // The reserve is for those who cannot reclaim.
                false if self.memory.len() < frames => return true,
                false => {
                    let largest = self.largest();
                    self.told.oom_kills += 1;
                    self.end(largest, true);
                    if largest == number {
                        return false;
                    }
                }
            }
        }
    }

    /// kswapd: on the side, as soon as memory falls below its mark.
    fn reclaim_aside(&mut self) {
        let frames = self.machine.frames(self.now);
        if self.memory.len() + self.machine.low <= frames {
            return;
        }
        let order = || {
            self.tasks
                .iter()
                .enumerate()
                .filter(|(_, task)| !task.ended)
        };
        let by_time = |(_, task): &(usize, &Task)| task.virtual_time;
        let leftmost = order().min_by_key(by_time).map_or(0, |(number, _)| number);
        let rightmost = order().max_by_key(by_time).map_or(0, |(number, _)| number);
        let touched = self.memory.falls_short(Target {
            leftmost,
            rightmost,
            largest: self.largest(),
        });
        if touched > 0 {
            self.pass(touched * 10);
        }
        while self.memory.len() + self.machine.high > frames {
            if !self.evict(leftmost, frames) {
                return;
            }
            self.told.kswapd += 1;
        }
    }

    fn evict(&mut self, asking: usize, frames: usize) -> bool {
        let moment = Moment {
            now: self.now,
            memory: frames,
            swap: self.machine.swap,
        };
        let Some((page, changed)) = self.memory.victim(moment, asking) else {
            return false;
        };
        self.lost(page, changed);
        true
    }

    fn lost(&mut self, page: Page, changed: bool) {
        self.tasks[usize::from(self.owner[page as usize])].resident -= 1;
        if changed {
            self.told.writes += 1;
            self.device_free_at = self.device_free_at.max(self.now) + self.machine.write_ns;
        }
    }

    fn give_back(&mut self, number: usize) {
        let mut gone = std::mem::take(&mut self.gone);
        self.memory
            .trim(number, self.tasks[number].virtual_time, &mut gone);
        gone.drain(..)
            .for_each(|(page, changed)| self.lost(page, changed));
        self.gone = gone;
    }

    fn end(&mut self, number: usize, killed: bool) {
        let task = &mut self.tasks[number];
        self.memory.end(task.first..task.first + task.pages as Page);
        task.resident = 0;
        task.ended = true;
        task.told.references = task.at as u64;
        task.told.ended_ns = self.now;
        task.told.killed = killed;
    }

    fn largest(&self) -> usize {
        let alive = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| !task.ended);
        alive
            .max_by_key(|(_, task)| task.resident)
            .map_or(0, |(number, _)| number)
    }

    /// Who is largest, and who is next, at each fault.
    fn look(&mut self) {
        let mut alive: Vec<(usize, usize, u64)> = Vec::new();
        let tasks = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| !task.ended);
        alive.extend(tasks.map(|(number, task)| (task.resident, number, task.virtual_time)));
        alive.sort_unstable_by(|one, other| other.cmp(one));
        if let [first, second, ..] = alive.as_slice() {
            let leftmost = alive
                .iter()
                .min_by_key(|task| task.2)
                .map_or(0, |task| task.1);
            self.looks.0 += 1;
            self.looks.1 += u64::from(leftmost == first.1);
            self.looks.2 += first.0 as f64 / second.0.max(1) as f64;
        }
    }

    fn outcome(self) -> Outcome {
        let looks = self.looks.0.max(1) as f64;
        Outcome {
            makespan_ns: self.now,
            processes: self.tasks.into_iter().map(|task| task.told).collect(),
            leftmost_is_largest: self.looks.1 as f64 / looks,
            largest_over_second: self.looks.2 / looks,
            ..self.told
        }
    }
}
