//! Runs the processes, and counts.

use super::machine::Machine;
use super::memory::{Memory, Target};
use super::process::Process;
use crate::frames::{Kind, Moment};
use crate::{Error, Page};
use serde::Serialize;
use std::iter::repeat_n;

/// Nanoseconds that clock pressure takes for each page that it touches: a look at the page's owner
/// and a bit.
const TOUCH_NS: u64 = 10;

/// The counts and times of a process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProcessOutcome {
    /// The process's name.
    pub name: String,
    /// References that it made.
    pub references: u64,
    /// When it ended, ns.
    pub ended_ns: u64,
    /// Whether it was killed because memory was out.
    pub killed: bool,
    /// First uses of a page.
    pub cold: u64,
    /// Refaults of file pages.
    pub refaults_file: u64,
    /// Refaults of anonymous pages, read from swap.
    pub refaults_anon: u64,
    /// Time in which it waited for memory, ns: for refaults, and for its own reclaim.
    pub stalled_ns: u64,
    /// Time in which it waited for first reads, ns.
    pub read_ns: u64,
    /// The most pages that it had in memory.
    pub most: usize,
}

/// The counts and times of all processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// When the last process ended, ns.
    pub makespan_ns: u64,
    /// The processes, in their order.
    pub processes: Vec<ProcessOutcome>,
    /// Pages read.
    pub reads: u64,
    /// Pages written back.
    pub writes: u64,
    /// Pages reclaimed by kswapd.
    pub kswapd: u64,
    /// Pages reclaimed by the processes themselves.
    pub direct: u64,
    /// Processes killed because memory was out.
    pub oom_kills: u64,
    /// Time with at least one process stalled for memory, ns.
    pub some_ns: u64,
    /// Time with all processes that had not ended stalled for memory, ns.
    pub full_ns: u64,
    /// Share of faults at which the next process to run was the largest.
    pub leftmost_is_largest: f64,
    /// Mean of the largest process's pages over the second largest's, at faults.
    pub largest_over_second: f64,
}

/// Runs the processes until all have ended.
///
/// Errors: a machine that cannot be, no process, or more than 65,535.
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
    let mut scheduler = Scheduler::new(machine, processes, memory);
    while let Some(next) = scheduler.next() {
        scheduler.run_slice(next);
    }
    Ok(scheduler.outcome())
}

/// The state of a process.
#[derive(Debug, Default, Clone)]
struct Task {
    /// Its next reference.
    at: usize,
    /// Its first page in the numbers of all processes.
    first: Page,
    pages: usize,
    /// CPU time, which is also its virtual time.
    virtual_time: u64,
    blocked_until: u64,
    /// Whether it is blocked for want of memory.
    stalled: bool,
    resident: usize,
    ended: bool,
    outcome: ProcessOutcome,
}

/// What is seen at the faults, for the means of [`Outcome`].
#[derive(Debug, Default)]
struct AtFaults {
    count: u64,
    leftmost_is_largest: u64,
    largest_over_second: f64,
}

/// Runs one process after the other on one CPU.
struct Scheduler<'a, M> {
    machine: &'a Machine,
    processes: &'a [Process<'a>],
    memory: &'a mut M,
    tasks: Vec<Task>,
    /// The process of each page.
    owner: Vec<u16>,
    /// Whether each page was loaded before.
    seen: Vec<bool>,
    now: u64,
    device_free_at: u64,
    outcome: Outcome,
    at_faults: AtFaults,
    /// Kept between faults so that its memory is used again.
    freed: Vec<(Page, bool)>,
}

impl<'a, M: Memory> Scheduler<'a, M> {
    fn new(machine: &'a Machine, processes: &'a [Process<'a>], memory: &'a mut M) -> Self {
        let mut tasks = Vec::new();
        let mut owner = Vec::new();
        for (number, process) in processes.iter().enumerate() {
            let pages = process.trace.pages();
            let outcome = ProcessOutcome {
                name: process.name.clone(),
                ..ProcessOutcome::default()
            };
            tasks.push(Task {
                first: owner.len() as Page,
                pages,
                outcome,
                ..Task::default()
            });
            owner.extend(repeat_n(number as u16, pages));
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
            outcome: Outcome::default(),
            at_faults: AtFaults::default(),
            freed: Vec::new(),
        }
    }

    /// The processes that have not ended, with their numbers.
    fn alive(&self) -> impl Iterator<Item = (usize, &Task)> {
        let tasks = self.tasks.iter().enumerate();
        tasks.filter(|(_, task)| !task.ended)
    }

    /// The process that runs next; time passes until there is one. `None` when all have ended.
    fn next(&mut self) -> Option<usize> {
        let soonest = self.alive().map(|(_, task)| task.blocked_until).min()?;
        if soonest > self.now {
            self.pass(soonest - self.now);
        }
        let now = self.now;
        let runnable = self.alive().filter(|(_, task)| task.blocked_until <= now);
        let next = runnable.min_by_key(|(_, task)| task.virtual_time);
        next.map(|(number, _)| number)
    }

    /// Time passes, and counts as stall time if processes are stalled.
    fn pass(&mut self, span: u64) {
        let mut stalled = 0;
        let mut alive = 0;
        for (_, task) in self.alive() {
            alive += 1;
            if task.stalled && task.blocked_until > self.now {
                stalled += 1;
            }
        }
        self.now += span;
        if stalled > 0 {
            self.outcome.some_ns += span;
        }
        if stalled > 0 && stalled == alive {
            self.outcome.full_ns += span;
        }
    }

    /// Runs a process to the end of its slice, a fault, or its own end.
    fn run_slice(&mut self, number: usize) {
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
            let writes = op.is_some_and(|op| op[at].writes());
            self.memory.used(first + refs[at], writes, virtual_time);
            at += 1;
        }
        let task = &mut self.tasks[number];
        task.at = at;
        task.virtual_time = virtual_time;
        self.pass((at - from) as u64 * machine.reference_ns);
        if at == refs.len() {
            self.end(number, false);
        } else if at < end {
            let writes = op.is_some_and(|op| op[at].writes());
            self.fault(number, refs[at], writes);
        }
    }

    fn fault(&mut self, number: usize, page: Page, writes: bool) {
        let kind = self.processes[number].kinds[page as usize];
        let page = self.tasks[number].first + page;
        let is_refault = std::mem::replace(&mut self.seen[page as usize], true);
        self.count_fault();
        self.free_own_pages(number);
        let began = self.now;
        if !self.ensure_frame(number) {
            return;
        }
        let reclaiming = self.now - began;
        if is_refault {
            self.memory.refaulted(number);
        }
        let now = self.now;
        let task = &mut self.tasks[number];
        self.memory
            .enter(page, number, kind, now, task.virtual_time);
        self.memory.used(page, writes, task.virtual_time);
        task.resident += 1;
        let outcome = &mut task.outcome;
        outcome.most = outcome.most.max(task.resident);
        outcome.stalled_ns += reclaiming;
        match (is_refault, kind) {
            (false, _) => outcome.cold += 1,
            (true, Kind::File) => outcome.refaults_file += 1,
            (true, Kind::Anon) => outcome.refaults_anon += 1,
        }
        if is_refault || kind == Kind::File {
            self.read(number, is_refault);
        }
        // The reference that faulted is made as soon as its page is loaded. Otherwise processes
        // that evict each other's page before it is used would do so for ever.
        let task = &mut self.tasks[number];
        task.at += 1;
        task.virtual_time += self.machine.reference_ns;
        self.pass(self.machine.reference_ns);
        self.run_kswapd();
    }

    /// Reads a page for a process, which is blocked until the device has done it.
    fn read(&mut self, number: usize, is_refault: bool) {
        let done = self.device_free_at.max(self.now) + self.machine.read_ns;
        let waits = done - self.now;
        self.device_free_at = done;
        self.outcome.reads += 1;
        let task = &mut self.tasks[number];
        task.blocked_until = done;
        task.stalled = is_refault;
        if is_refault {
            task.outcome.stalled_ns += waits;
        } else {
            task.outcome.read_ns += waits;
        }
    }

    /// Ensures that there is a free frame. Returns false if the process was killed for want of one.
    fn ensure_frame(&mut self, number: usize) -> bool {
        loop {
            let frames = self.machine.frames(self.now);
            if self.memory.len() + self.machine.min < frames {
                return true;
            }
            if self.evict(number, frames) {
                self.outcome.direct += 1;
                self.pass(self.machine.reclaim_ns);
                continue;
            }
            // The frames below `min` are for processes that cannot reclaim.
            if self.memory.len() < frames {
                return true;
            }
            let largest = self.largest();
            self.outcome.oom_kills += 1;
            self.end(largest, true);
            if largest == number {
                return false;
            }
        }
    }

    /// kswapd: reclaims beside the processes as soon as free frames fall below `low`.
    fn run_kswapd(&mut self) {
        let frames = self.machine.frames(self.now);
        if self.memory.len() + self.machine.low <= frames {
            return;
        }
        let leftmost = self.alive().min_by_key(|(_, task)| task.virtual_time);
        let rightmost = self.alive().max_by_key(|(_, task)| task.virtual_time);
        let leftmost = leftmost.map_or(0, |(number, _)| number);
        let rightmost = rightmost.map_or(0, |(number, _)| number);
        let touched = self.memory.falls_short(Target {
            leftmost,
            rightmost,
            largest: self.largest(),
        });
        if touched > 0 {
            self.pass(touched * TOUCH_NS);
        }
        while self.memory.len() + self.machine.high > frames {
            if !self.evict(leftmost, frames) {
                return;
            }
            self.outcome.kswapd += 1;
        }
    }

    /// Evicts a page for a process. Returns false if none may be evicted.
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

    /// A page has left memory: it is written back if it is changed.
    fn lost(&mut self, page: Page, changed: bool) {
        let owner = usize::from(self.owner[page as usize]);
        self.tasks[owner].resident -= 1;
        if changed {
            self.outcome.writes += 1;
            self.device_free_at = self.device_free_at.max(self.now) + self.machine.write_ns;
        }
    }

    /// Frees the pages that a process gives back of its own accord.
    fn free_own_pages(&mut self, number: usize) {
        let virtual_time = self.tasks[number].virtual_time;
        let mut freed = std::mem::take(&mut self.freed);
        self.memory.trim(number, virtual_time, &mut freed);
        for (page, changed) in freed.drain(..) {
            self.lost(page, changed);
        }
        self.freed = freed;
    }

    fn end(&mut self, number: usize, killed: bool) {
        let task = &mut self.tasks[number];
        self.memory.end(task.first..task.first + task.pages as Page);
        task.resident = 0;
        task.ended = true;
        task.outcome.references = task.at as u64;
        task.outcome.ended_ns = self.now;
        task.outcome.killed = killed;
    }

    fn largest(&self) -> usize {
        let largest = self.alive().max_by_key(|(_, task)| task.resident);
        largest.map_or(0, |(number, _)| number)
    }

    /// Notes which process is the largest, and which is next to run.
    fn count_fault(&mut self) {
        let mut alive: Vec<(usize, usize, u64)> = Vec::new();
        for (number, task) in self.alive() {
            alive.push((task.resident, number, task.virtual_time));
        }
        alive.sort_unstable_by(|one, other| other.cmp(one));
        let [first, second, ..] = alive.as_slice() else {
            return;
        };
        let leftmost = alive.iter().min_by_key(|task| task.2);
        let leftmost = leftmost.map_or(0, |task| task.1);
        let counts = &mut self.at_faults;
        counts.count += 1;
        if leftmost == first.1 {
            counts.leftmost_is_largest += 1;
        }
        counts.largest_over_second += first.0 as f64 / second.0.max(1) as f64;
    }

    fn outcome(self) -> Outcome {
        let counts = self.at_faults;
        let faults = counts.count.max(1) as f64;
        let processes = self.tasks.into_iter().map(|task| task.outcome);
        Outcome {
            makespan_ns: self.now,
            processes: processes.collect(),
            leftmost_is_largest: counts.leftmost_is_largest as f64 / faults,
            largest_over_second: counts.largest_over_second / faults,
            ..self.outcome
        }
    }
}
