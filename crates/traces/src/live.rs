//! Decodes lackey's lines while programs run: several processes, their threads, and the programs
//! that they start.
//!
//! Every process writes its own lines. The caller says which process a piece of text is of; a piece
//! may end anywhere. Each process has an address space of its own, and a new one with every `exec`.
//! The space's number is in the upper 16 bits of a page's number. The tasks are the threads, known
//! from the scheduler's lines (`--trace-sched=yes`).
//!
//! - Time: the instructions of all processes, in the order in which their lines come; or the bytes
//!   of the instructions, as the founding report counted.
//! - A reference over a page's end is one reference to each of the pages.
//! - Cost: O(1) for a reference; memory by processes, threads and pages, not by references.

use crate::numbers::{decimal, hex};
use std::collections::{HashMap, HashSet, VecDeque};
use workingset::{Batch, Clock, Op};

/// Bits of a page's number within its address space: 2^48 pages, more than any processor can
/// address.
pub const SPACE: u32 = 48;
/// Messages of Valgrind that are kept, to explain a program that made no references.
const NOTES: usize = 12;
/// Recently used pages that are known to be seen, a power of two. They spare the look-up in the set
/// of all pages, which is far larger than a cache.
const RECENT: usize = 1 << 12;
/// What the scheduler's lines have before the thread's number.
const MARK: &[u8] = b"SCHED[";

/// What such a line has if the thread is new. Valgrind gives a number again when its thread has ended.
const NEW: &[u8] = b"starting new thread";

/// A process between two `exec`s, and the program that it runs.
#[derive(Debug)]
struct Process {
    space: u16,
    program: String,
    /// The threads: number, and task.
    threads: Vec<(u32, u16)>,
    /// Threads so far.
    count: u32,
    task: u16,
    /// The beginning of a line that has not ended yet.
    half: Vec<u8>,
}

/// A page that was used for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    /// The process that used it.
    pub pid: u32,
    /// The page's number in the trace, the address space's included.
    pub page: u64,
}

/// Turns lackey's lines into references.
#[derive(Debug)]
pub struct Decoder {
    shift: u32,
    clock: Clock,
    processes: HashMap<u32, Process>,
    spaces: u16,
    /// The names of all tasks so far.
    tasks: Vec<String>,
    now: u64,
    references: u64,
    /// References at the start that are still to be left out.
    skip: u64,
    seen: HashSet<u64>,
    recent: Vec<u64>,
    fresh: Vec<Fresh>,
    notes: VecDeque<String>,
}

impl Decoder {
    /// A decoder for pages of so many bytes, a power of two. `clock` is instructions, or their
    /// bytes.
    pub fn new(page_size: u64, clock: Clock) -> Self {
        Self {
            shift: page_size.trailing_zeros(),
            clock,
            processes: HashMap::new(),
            spaces: 0,
            tasks: Vec::new(),
            now: 0,
            references: 0,
            skip: 0,
            seen: HashSet::new(),
            recent: vec![u64::MAX; RECENT],
            fresh: Vec::new(),
            notes: VecDeque::new(),
        }
    }

    /// Leaves out so many references at the start: they are not in the trace, take no time, and use
    /// no page.
    #[must_use]
    pub fn skipping(self, references: u64) -> Self {
        Self {
            skip: references,
            ..self
        }
    }

    /// Appends the references of a piece of text that this process wrote.
    ///
    /// Errors: more than 65,536 address spaces or threads.
    pub fn push(&mut self, pid: u32, piece: &[u8], batch: &mut Batch) -> Result<(), crate::Error> {
        let mut process = match self.processes.remove(&pid) {
            Some(process) => process,
            None => self.started(pid)?,
        };
        let done = self.lines(pid, &mut process, piece, batch);
        self.processes.insert(pid, process);
        done
    }

    fn lines(
        &mut self,
        pid: u32,
        process: &mut Process,
        mut piece: &[u8],
        batch: &mut Batch,
    ) -> Result<(), crate::Error> {
        if !process.half.is_empty() {
            let end = memchr::memchr(b'\n', piece);
            process
                .half
                .extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
            let Some(end) = end else { return Ok(()) };
            piece = &piece[end + 1..];
            let line = std::mem::take(&mut process.half);
            self.line(pid, process, &line, batch)?;
        }
        while let Some(end) = memchr::memchr(b'\n', piece) {
            self.line(pid, process, &piece[..end], batch)?;
            piece = &piece[end + 1..];
        }
        process.half.extend_from_slice(piece);
        Ok(())
    }

    #[inline]
    fn line(
        &mut self,
        pid: u32,
        process: &mut Process,
        line: &[u8],
        batch: &mut Batch,
    ) -> Result<(), crate::Error> {
        let op = match line {
            [b'I', b' ', b' ', ..] => Op::FETCH,
            [b' ', b'L', b' ', ..] => Op::LOAD,
            [b' ', b'S', b' ', ..] => Op::STORE,
            [b' ', b'M', b' ', ..] => Op::MODIFY,
            _ => return self.note(pid, process, line),
        };
        let Some((address, size)) = operand(&line[3..]) else {
            return Ok(());
        };
        if op == Op::FETCH && self.skip == 0 {
            let step = match self.clock {
                Clock::InstructionBytes => size,
                _ => 1,
            };
            self.now += step;
        }
        let last = address.saturating_add(size - 1);
        let space = u64::from(process.space) << SPACE;
        let first_page = address >> self.shift;
        let last_page = last >> self.shift;
        for page in first_page..=last_page {
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            let page = page & ((1 << SPACE) - 1) | space;
            let recent = &mut self.recent[page as usize & (RECENT - 1)];
            if *recent != page {
                *recent = page;
                if self.seen.insert(page) {
                    self.fresh.push(Fresh { pid, page });
                }
            }
            batch.page.push(page);
            batch.time.push(self.now);
            batch.op.push(op);
            batch.task.push(process.task);
            self.references += 1;
        }
        Ok(())
    }

    /// A line of Valgrind's own: a new program, a switch to another thread, or a message.
    fn note(&mut self, pid: u32, process: &mut Process, line: &[u8]) -> Result<(), crate::Error> {
        if let Some(at) = memchr::memmem::find(line, MARK) {
            let Some(end) = memchr::memchr(b']', &line[at..]) else {
                return Ok(());
            };
            let text = &line[at + MARK.len()..at + end];
            if memchr::memmem::find(line, b"acquired lock").is_some() {
                if let Ok(thread) = decimal(text) {
                    let is_new = thread > 1 && memchr::memmem::find(line, NEW).is_some();
                    if is_new {
                        process.threads.retain(|(known, _)| *known != thread as u32);
                    }
                    process.task = self.thread(pid, process, thread as u32)?;
                }
            }
            return Ok(());
        }
        let text = String::from_utf8_lossy(line);
        let Some(text) = text
            .strip_prefix("==")
            .and_then(|rest| rest.split_once("== "))
            .map(|split| split.1)
        else {
            return Ok(());
        };
        if text.starts_with("Lackey,") && !process.program.is_empty() {
            // Lackey's banner in the middle of a program: the process has called `exec`.
            *process = self.started(pid)?;
        } else if let Some(program) = text.strip_prefix("Command: ") {
            program.clone_into(&mut process.program);
            let task = &mut self.tasks[usize::from(process.task)];
            *task = task_name(program, pid, 1);
        }
        if !text.trim().is_empty() {
            self.notes.truncate(NOTES - 1);
            self.notes.push_front(text.to_owned());
        }
        Ok(())
    }

    fn started(&mut self, pid: u32) -> Result<Process, crate::Error> {
        let space = self.spaces;
        self.spaces = space
            .checked_add(1)
            .ok_or(workingset::Error::TooMany("65,535 processes"))?;
        let task = self.task(task_name("", pid, 1))?;
        Ok(Process {
            space,
            program: String::new(),
            threads: vec![(1, task)],
            count: 1,
            task,
            half: Vec::new(),
        })
    }

    fn thread(
        &mut self,
        pid: u32,
        process: &mut Process,
        thread: u32,
    ) -> Result<u16, crate::Error> {
        if let Some((_, task)) = process.threads.iter().find(|(known, _)| *known == thread) {
            return Ok(*task);
        }
        process.count += 1;
        let task = self.task(task_name(&process.program, pid, process.count))?;
        process.threads.push((thread, task));
        Ok(task)
    }

    fn task(&mut self, name: String) -> Result<u16, crate::Error> {
        let task = u16::try_from(self.tasks.len())
            .map_err(|_| workingset::Error::TooMany("65,536 threads"))?;
        self.tasks.push(name);
        Ok(task)
    }

    /// Pages used for the first time since the last call.
    pub fn fresh(&mut self) -> Vec<Fresh> {
        std::mem::take(&mut self.fresh)
    }

    /// References so far.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// References at the start that are still to be left out.
    pub fn to_skip(&self) -> u64 {
        self.skip
    }

    /// Different pages so far.
    pub fn pages(&self) -> usize {
        self.seen.len()
    }

    /// Instructions so far, or their bytes.
    pub fn time(&self) -> u64 {
        self.now
    }

    /// The tasks: number and name.
    pub fn tasks(&self) -> Vec<(u16, String)> {
        (0..).zip(self.tasks.iter().cloned()).collect()
    }

    /// The last messages of Valgrind, the newest last.
    pub fn notes(&self) -> Vec<&str> {
        self.notes.iter().rev().map(String::as_str).collect()
    }
}

/// A task's name: `sh 4711` for the first thread, `sh 4711, thread 2` for another.
pub(crate) fn task_name(program: &str, pid: u32, thread: u32) -> String {
    let first = program.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let name = if name.is_empty() { "fork" } else { name };
    if thread == 1 {
        format!("{name} {pid}")
    } else {
        format!("{name} {pid}, thread {thread}")
    }
}

/// Reads `0401ab70,3`: the address, and the number of bytes.
#[inline]
fn operand(text: &[u8]) -> Option<(u64, u64)> {
    let text = text.trim_ascii();
    let comma = memchr::memchr(b',', text)?;
    let address = hex(&text[..comma]).ok()?;
    let size = decimal(&text[comma + 1..]).ok()?;
    (1..=1 << 16).contains(&size).then_some((address, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"==7== Lackey, an example Valgrind tool\n==7== Command: /bin/ls -l\n==7== \n\
        I  04001000,3\n L 1fff000ffc,8\n--7--   SCHED[2]:  acquired lock (x)\n S 04001008,8\n M 04002000,4\n\
        noise\n==7== Lackey, an example Valgrind tool\n==7== Command: cat\nI  04001000,3\n";

    fn decoded(pieces: &[(u32, &[u8])]) -> (Decoder, Batch) {
        let mut decoder = Decoder::new(4096, Clock::Instructions);
        let mut batch = Batch::default();
        for (pid, piece) in pieces {
            decoder.push(*pid, piece, &mut batch).unwrap();
        }
        (decoder, batch)
    }

    #[test]
    fn threads_programs_and_page_ends_are_recognised() {
        let (mut decoder, batch) = decoded(&[(7, TEXT)]);
        let other = 1 << SPACE;
        assert_eq!(
            batch.page,
            [
                0x4001,
                0x01ff_f000,
                0x01ff_f001,
                0x4001,
                0x4002,
                other | 0x4001
            ]
        );
        assert_eq!(batch.time, [1, 1, 1, 1, 1, 2]);
        assert_eq!(
            batch.op,
            [
                Op::FETCH,
                Op::LOAD,
                Op::LOAD,
                Op::STORE,
                Op::MODIFY,
                Op::FETCH
            ]
        );
        assert_eq!(batch.task, [0, 0, 0, 1, 1, 2]);
        let names: Vec<String> = decoder.tasks().into_iter().map(|task| task.1).collect();
        assert_eq!(names, ["ls 7", "ls 7, thread 2", "cat 7"]);
        assert_eq!(decoder.fresh().len(), 5);
        assert_eq!(decoder.pages(), 5);
        assert_eq!(decoder.references(), 6);
        assert_eq!(decoder.notes().last(), Some(&"Command: cat"));
    }

    #[test]
    fn threads_with_the_same_number_are_different_tasks() {
        let lines = "--7--   SCHED[1]:  acquired lock (thread_wrapper(starting new thread))\nI  04001000,3\n\
            --7--   SCHED[2]:  acquired lock (thread_wrapper(starting new thread))\nI  04001000,3\n\
            --7--   SCHED[2]:  acquired lock (VG_(client_syscall)[async])\nI  04001000,3\n\
            --7--   SCHED[2]:  acquired lock (thread_wrapper(starting new thread))\nI  04001000,3\n";
        let (decoder, batch) = decoded(&[(7, lines.as_bytes())]);
        assert_eq!(batch.task, [0, 1, 1, 2]);
        assert_eq!(decoder.tasks()[2].1, "fork 7, thread 3");
    }

    #[test]
    fn of_a_start_that_is_left_out_only_the_threads_remain() {
        let mut decoder = Decoder::new(4096, Clock::Instructions).skipping(3);
        let mut batch = Batch::default();
        decoder.push(7, TEXT, &mut batch).unwrap();
        let (whole, all) = decoded(&[(7, TEXT)]);
        assert_eq!(batch.page, all.page[3..]);
        assert_eq!(batch.op, all.op[3..]);
        assert_eq!(batch.task, all.task[3..]);
        assert_eq!(batch.time, [0, 0, 1]);
        assert_eq!(decoder.references(), 3);
        assert_eq!(decoder.pages(), 3);
        assert_eq!(decoder.to_skip(), 0);
        assert_eq!(decoder.tasks(), whole.tasks());
    }

    #[test]
    fn processes_do_not_mix() {
        let (decoder, batch) = decoded(&[
            (7, b"I  04001000,3\nI  0400"),
            (8, b"I  04001000,3\n"),
            (7, b"2000,3\n"),
        ]);
        assert_eq!(batch.page, [0x4001, 1 << SPACE | 0x4001, 0x4002]);
        assert_eq!(decoder.time(), 3);
    }

    proptest! {
        #[test]
        fn where_pieces_end_does_not_matter(cuts in prop::collection::vec(0..TEXT.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.extend([0, TEXT.len()]);
            cuts.sort_unstable();
            let pieces: Vec<(u32, &[u8])> = cuts.windows(2).map(|cut| (7, &TEXT[cut[0]..cut[1]])).collect();
            prop_assert_eq!(decoded(&pieces).1, decoded(&[(7, TEXT)]).1);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            decoded(&[(1, &bytes), (2, &bytes), (1, b"\n")]);
        }
    }
}
