//! Decodes what Warmset's tool for Valgrind (`valgrind/uses.c`) and its plugin for QEMU (`qemu/`)
//! write: of programs, several processes, their threads, and the programs that they start; of a
//! machine, its CPUs.
//!
//! The tool writes each superblock of a program once, with its fetches and accesses, and then the
//! superblock's number each time it runs. Which page an access is to is written only if it is
//! another one than the last time. So every reference is known, in order, with its operation.
//!
//! - What comes is pieces, each of one process and written at once. A piece that is missing is an
//!   error. A process that ends without saying so was killed: what it had not written yet is lost,
//!   and [`Decoder::unfinished`] names it.
//! - Pages, tasks and times are numbered as by the decoder of lackey's lines
//!   ([`live`](crate::live)). Threads are told apart by their beginning and end, not by a number
//!   that the next one has, too.
//! - Cost: a copy of its rows for a superblock that does what it did before; memory by processes,
//!   superblocks, threads and pages, not by references.

use crate::Error;
use crate::live::{SPACE, task_name};
use crate::process::{Process, Stage};
use crate::regions::Regions;
use crate::superblock::{Lines, Rule, Superblock, long};
use crate::table::{LONGEST_RUN, PageRows, REST_OF_FETCH};
use std::collections::{BTreeMap, HashMap, HashSet};
use workingset::{Clock, Op};

/// What a piece begins with.
pub(crate) const MAGIC: u32 = 0x5345_5355;
/// Bytes of a piece's head: magic, length, id of two words, number, process.
const HEAD: usize = 24;
/// Bytes of a piece, the head included: the kernel's `PIPE_BUF`.
const PIECE: usize = 4096;
/// The form of what is written.
const VERSION: u32 = 1;
/// Recently used pages that are known to be seen, a power of two. They spare the look-up in the set
/// of all pages.
const RECENT: usize = 1 << 12;

/// The upper four bits of a word.
mod tag {
    pub(super) const BLOCK: u32 = 0;
    pub(super) const ACCESS: u32 = 1;
    pub(super) const LEFT: u32 = 2;
    pub(super) const THREAD: u32 = 3;
    pub(super) const ENDED: u32 = 4;
    pub(super) const DEFINE: u32 = 5;
    pub(super) const MAPPING: u32 = 6;
    pub(super) const START: u32 = 7;
    pub(super) const END: u32 = 8;
    pub(super) const EXEC: u32 = 9;
    pub(super) const FORK: u32 = 10;
}
/// The bits of a word below them.
const NUMBER: u32 = 0x0fff_ffff;

/// Turns the tool's pieces into rows.
#[derive(Debug)]
pub struct Decoder {
    rule: Rule,
    /// Bytes of a piece that has not come whole.
    rest: Vec<u8>,
    /// By the id that the tool gave.
    processes: HashMap<u64, Process>,
    spaces: u64,
    /// The first program's name.
    first: String,
    tasks: Vec<String>,
    now: u64,
    references: u64,
    /// References at the start that are still to be left out.
    skip: u64,
    seen: HashSet<u64>,
    recent: Vec<u64>,
    regions: Regions,
    unknown: u64,
    /// What a superblock did that did not do the same as before.
    scratch: Lines,
}

impl Decoder {
    /// A decoder for pages of so many bytes, a power of two. `clock` is instructions, or their
    /// bytes.
    pub fn new(page_size: u64, clock: Clock) -> Self {
        Self {
            rule: Rule {
                page_bits: page_size.trailing_zeros(),
                clock,
                mask: (1 << SPACE) - 1,
                space: 0,
            },
            rest: Vec::new(),
            processes: HashMap::new(),
            spaces: 0,
            first: String::new(),
            tasks: Vec::new(),
            now: 0,
            references: 0,
            skip: 0,
            seen: HashSet::new(),
            recent: vec![u64::MAX; RECENT],
            regions: Regions::default(),
            unknown: 0,
            scratch: Lines::default(),
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

    /// Appends the references of what has come; it may end anywhere.
    ///
    /// Errors: a piece that is missing or is none, or more than 65,536 processes or threads.
    pub fn push(&mut self, bytes: &[u8], rows: &mut PageRows) -> Result<(), Error> {
        let mut rest = std::mem::take(&mut self.rest);
        let mut left = bytes;
        if !rest.is_empty() {
            rest.extend_from_slice(bytes);
            left = &rest;
        }
        while let Some(size) = piece_size(left)? {
            let (piece, after) = left.split_at(size);
            self.piece(piece, rows)?;
            left = after;
        }
        self.rest = left.to_vec();
        Ok(())
    }

    fn piece(&mut self, piece: &[u8], rows: &mut PageRows) -> Result<(), Error> {
        let (head, body) = piece.split_at(HEAD);
        let head: Vec<u32> = words(head).collect();
        let [_, _, low, high, number, pid] = head[..] else {
            return Err(Error::Format("a head of another size".to_owned()));
        };
        let id = long(low, high);
        let mut process = self
            .processes
            .remove(&id)
            .unwrap_or_else(|| Process::new(pid));
        if process.next_piece != number {
            return Err(Error::Format(format!(
                "of what process {pid} recorded, pieces {} to {number} are missing",
                process.next_piece
            )));
        }
        process.next_piece = process.next_piece.wrapping_add(1);
        process.pid = pid;
        let mut all = std::mem::take(&mut process.rest);
        all.extend(words(body));
        let done = self.records(&mut process, &all, rows)?;
        process.rest = all[done..].to_vec();
        if process.stage != Stage::Ended {
            self.processes.insert(id, process);
        }
        Ok(())
    }

    /// Reads whole records; returns how many words they have.
    fn records(
        &mut self,
        process: &mut Process,
        words: &[u32],
        rows: &mut PageRows,
    ) -> Result<usize, Error> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let number = word & NUMBER;
            let kind = word >> 28;
            let more = match kind {
                tag::ACCESS | tag::FORK => 2,
                tag::DEFINE | tag::MAPPING | tag::START => number as usize,
                _ => 0,
            };
            let Some(body) = words.get(at + 1..at + 1 + more) else {
                break;
            };
            match kind {
                tag::ACCESS => access(process, number, long(body[0], body[1]))?,
                tag::LEFT => process.left = Some(number as usize),
                _ => {
                    self.finish_block(process, rows)?;
                    self.record(process, kind, number, body)?;
                }
            }
            at += 1 + more;
        }
        Ok(at)
    }

    /// A record that ends the superblock before it.
    #[inline]
    fn record(
        &mut self,
        process: &mut Process,
        kind: u32,
        number: u32,
        body: &[u32],
    ) -> Result<(), Error> {
        if kind == tag::START {
            return self.start(process, body);
        }
        if process.stage == Stage::Expected {
            let what = format!("process {} recorded before it began", process.pid);
            return Err(Error::Format(what));
        }
        process.stage = Stage::Runs;
        match kind {
            tag::BLOCK => process.pending = Some(number as usize),
            tag::THREAD => process.task = self.thread(process, number)?,
            tag::ENDED => {
                process.threads.remove(&number);
            }
            tag::DEFINE => define(process, body)?,
            tag::MAPPING => map(process, body)?,
            tag::END => process.stage = Stage::Ended,
            tag::EXEC => process.stage = Stage::Exec,
            tag::FORK => {
                self.processes
                    .insert(long(body[0], body[1]), process.forked());
            }
            _ => return Err(damaged(process, "a record of an unknown kind")),
        }
        Ok(())
    }

    fn start(&mut self, process: &mut Process, body: &[u32]) -> Result<(), Error> {
        let [version, low, high, name @ ..] = body else {
            return Err(damaged(process, "a short start"));
        };
        if *version != VERSION {
            return Err(Error::Format(format!(
                "the tool that records writes version {version}, and this program reads version {VERSION}: install both anew"
            )));
        }
        let is_fork = long(*low, *high) != 0;
        process.program = if is_fork { String::new() } else { text(name) };
        if self.spaces == 0 {
            self.first.clone_from(&process.program);
        }
        if self.spaces > u64::from(u16::MAX) {
            return Err(workingset::Error::TooMany("65,536 processes").into());
        }
        process.space = self.spaces << SPACE;
        self.spaces += 1;
        process.stage = Stage::Runs;
        process.threads.clear();
        process.count = 0;
        // What it was before has become this.
        let pid = process.pid;
        self.processes
            .retain(|_, other| other.pid != pid || other.stage != Stage::Exec);
        Ok(())
    }

    /// The task of a thread that runs now.
    fn thread(&mut self, process: &mut Process, number: u32) -> Result<u16, Error> {
        if let Some(task) = process.threads.get(&number) {
            return Ok(*task);
        }
        let task = u16::try_from(self.tasks.len())
            .map_err(|_| workingset::Error::TooMany("65,536 threads"))?;
        process.count += 1;
        self.tasks
            .push(task_name(&process.program, process.pid, process.count));
        process.threads.insert(number, task);
        Ok(task)
    }

    /// Appends what the pending superblock did.
    #[inline]
    fn finish_block(&mut self, process: &mut Process, rows: &mut PageRows) -> Result<(), Error> {
        let Some(number) = process.pending.take() else {
            return Ok(());
        };
        let left = process.left.take();
        let mut rule = self.rule;
        rule.space = process.space;
        let Some(block) = process.blocks.get_mut(number) else {
            return Err(damaged(process, "a superblock that it did not describe"));
        };
        if block.is_steady() && left.is_none() && self.skip == 0 {
            let (lines, is_noted) = block.whole(&rule);
            if !is_noted {
                self.note(&process.mappings, process.space, &lines.pages);
            }
            self.append(lines, process.task, rows);
        } else {
            let mut lines = std::mem::take(&mut self.scratch);
            let most = left.unwrap_or(usize::MAX);
            block.part(&process.made, most, &rule, &mut lines);
            self.skip_start(&mut lines);
            self.note(&process.mappings, process.space, &lines.pages);
            self.append(&lines, process.task, rows);
            self.scratch = lines;
        }
        process.made.clear();
        Ok(())
    }

    /// Leaves out what is still to be left out.
    fn skip_start(&mut self, lines: &mut Lines) {
        let mut rows = 0;
        while self.skip > 0 && rows < lines.runs.len() {
            let run = u64::from(lines.runs[rows]);
            let step = lines.steps[rows];
            let now = run.min(self.skip);
            self.skip -= now;
            lines.references -= now;
            if now < run {
                // Only fetches that are counted as instructions have both a run and a step.
                let gone = step.min(now);
                lines.runs[rows] -= now as u32;
                lines.steps[rows] -= gone;
                lines.time -= gone;
                break;
            }
            lines.time -= step;
            rows += 1;
        }
        lines.pages.drain(..rows);
        lines.ops.drain(..rows);
        lines.runs.drain(..rows);
        lines.steps.drain(..rows);
    }

    #[inline]
    fn append(&mut self, lines: &Lines, task: u16, rows: &mut PageRows) {
        let Some((page, op)) = lines.pages.first().zip(lines.ops.first()) else {
            return;
        };
        let is_timed = self.rule.clock != Clock::Instructions;
        let mut from = 0;
        if !is_timed && goes_on(rows, *page, *op, task) {
            if let Some(run) = rows.run.last_mut() {
                let together = u64::from(*run) + u64::from(lines.runs[0]);
                if together <= LONGEST_RUN {
                    *run = together as u32;
                    from = 1;
                }
            }
        }
        rows.page.extend_from_slice(&lines.pages[from..]);
        rows.op.extend_from_slice(&lines.ops[from..]);
        rows.run.extend_from_slice(&lines.runs[from..]);
        rows.task.resize(rows.page.len(), task);
        if is_timed {
            let mut now = self.now;
            for step in &lines.steps {
                now += step;
                rows.time.push(now);
            }
        }
        self.now += lines.time;
        self.references += lines.references;
    }

    /// Finds the mappings of pages that are used for the first time.
    fn note(&mut self, mappings: &BTreeMap<u64, (u64, String)>, space: u64, pages: &[u64]) {
        for page in pages {
            let recent = &mut self.recent[*page as usize & (RECENT - 1)];
            if *recent == *page {
                continue;
            }
            *recent = *page;
            if !self.seen.insert(*page) || self.regions.has(*page) {
                continue;
            }
            let bits = self.rule.page_bits;
            let address = (page & self.rule.mask) << bits;
            let last = address | ((1 << bits) - 1);
            let found = mappings.range(..=last).next_back();
            match found.filter(|(_, (end, _))| *end > address) {
                Some((from, (end, name))) => {
                    let first = space | from >> bits;
                    let last = space | (end - 1) >> bits;
                    self.regions.insert(first, last, name.clone());
                }
                None => self.unknown += 1,
            }
        }
    }

    /// The last words of processes that have ended, and of those that go on.
    ///
    /// Call it at the end of a recording.
    pub fn finish(&mut self, rows: &mut PageRows) -> Result<(), Error> {
        let mut ids: Vec<u64> = self.processes.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(mut process) = self.processes.remove(&id) {
                self.finish_block(&mut process, rows)?;
                self.processes.insert(id, process);
            }
        }
        Ok(())
    }

    /// Processes of which the last is missing: they were killed, or go on.
    pub fn unfinished(&self) -> Vec<String> {
        self.named(Stage::Runs)
    }

    /// Processes that became a program which is not recorded.
    pub fn became_others(&self) -> Vec<String> {
        self.named(Stage::Exec)
    }

    fn named(&self, stage: Stage) -> Vec<String> {
        let processes = self.processes.values();
        let mut names: Vec<String> = processes
            .filter(|process| process.stage == stage)
            .map(|process| task_name(&process.program, process.pid, 1))
            .collect();
        names.sort();
        names
    }

    /// The name of the first program, or of the machine.
    pub fn program(&self) -> &str {
        &self.first
    }

    /// Returns true if what has come ends within a piece.
    pub fn has_half_a_piece(&self) -> bool {
        !self.rest.is_empty()
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

    /// The mappings in which pages were used.
    pub fn regions(&self) -> Vec<(u64, u64, String)> {
        self.regions.list()
    }

    /// Pages in no mapping.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

/// Returns true if a reference is one more of the last row.
fn goes_on(rows: &PageRows, page: u64, op: Op, task: u16) -> bool {
    rows.page.last() == Some(&page)
        && rows.op.last() == Some(&op)
        && rows.task.last() == Some(&task)
        && op != REST_OF_FETCH
}

/// The size of the piece that these bytes begin with; `None` if it has not come whole.
fn piece_size(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let mut head = words(bytes);
    let (Some(magic), Some(length)) = (head.next(), head.next()) else {
        return Ok(None);
    };
    let size = (length as usize).saturating_add(HEAD);
    if magic != MAGIC || size > PIECE || length % 4 != 0 {
        return Err(Error::Format(
            "something else than the recorder's tool wrote to its pipe".to_owned(),
        ));
    }
    Ok((bytes.len() >= size).then_some(size))
}

/// The words of whole fours of bytes.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

fn damaged(process: &Process, what: &str) -> Error {
    Error::Format(format!(
        "the recording of process {} is damaged: {what}",
        process.pid
    ))
}

fn access(process: &mut Process, at: u32, address: u64) -> Result<(), Error> {
    let Some(number) = process.pending else {
        return Err(damaged(process, "an access of no superblock"));
    };
    let is_access = process
        .blocks
        .get_mut(number)
        .is_some_and(|block| block.access(at as usize, address));
    if !is_access {
        return Err(damaged(process, "an access that its superblock has not"));
    }
    process.made.push(at);
    Ok(())
}

fn define(process: &mut Process, body: &[u32]) -> Result<(), Error> {
    let [number, events @ ..] = body else {
        return Err(damaged(process, "a superblock without a number"));
    };
    process
        .blocks
        .define(*number as usize, Superblock::of(events)?);
    Ok(())
}

fn map(process: &mut Process, body: &[u32]) -> Result<(), Error> {
    let [kind, from_low, from_high, last_low, last_high, name @ ..] = body else {
        return Err(damaged(process, "a short mapping"));
    };
    let name = match kind {
        0 => text(name),
        2 => "[heap]".to_owned(),
        3 => "[stack]".to_owned(),
        4 => "[shared memory]".to_owned(),
        _ => String::new(),
    };
    let name = if name.is_empty() {
        "[anonymous]".to_owned()
    } else {
        name
    };
    let last = long(*last_low, *last_high);
    process.map(long(*from_low, *from_high), last.saturating_add(1), name);
    Ok(())
}

/// A text up to its first zero.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARENT: u64 = 7 << 40 | 7;
    const CHILD: u64 = 8;

    fn piece(id: u64, number: u32, words: &[u32]) -> Vec<u8> {
        let size = words.len() as u32 * 4;
        let head = [MAGIC, size, id as u32, (id >> 32) as u32, number, 700];
        let all = head.iter().chain(words);
        all.flat_map(|word| word.to_le_bytes()).collect()
    }

    fn is(kind: u32, number: u32) -> u32 {
        kind << 28 | number
    }

    /// A program that runs two superblocks: in the first a fetch over a page's end and a guarded load, in the second a store.
    fn program() -> Vec<Vec<u32>> {
        let name = u32::from_le_bytes(*b"ls\0\0");
        let file = u32::from_le_bytes(*b"/a\0\0");
        vec![
            vec![is(tag::START, 4), 1, 0, 0, name],
            vec![is(tag::MAPPING, 6), 0, 0x1000, 0, 0x2fff, 0, file],
            vec![is(tag::THREAD, 1)],
            // A fetch of 4 bytes at 0x1ffe, one of 3 after it, a guarded load of 8.
            vec![
                is(tag::DEFINE, 6),
                0,
                4,
                0x1ffe,
                0,
                1 << 30 | 3,
                2 << 30 | 1 << 18 | 1 << 16 | 8,
            ],
            // A fetch of 2 bytes at 0x2010, a store of 4.
            vec![is(tag::DEFINE, 5), 1, 2, 0x2010, 0, 2 << 30 | 2 << 16 | 4],
            vec![is(tag::BLOCK, 0)],
            vec![is(tag::BLOCK, 1), is(tag::ACCESS, 1), 0x9ffe, 0],
            vec![is(tag::BLOCK, 1)],
            vec![is(tag::BLOCK, 0), is(tag::ACCESS, 2), 0x5000, 0],
            vec![is(tag::BLOCK, 1), is(tag::LEFT, 1)],
        ]
    }

    fn decoded(pieces: &[Vec<u8>], skip: u64) -> Result<(Decoder, PageRows), Error> {
        let mut decoder = Decoder::new(4096, Clock::Instructions).skipping(skip);
        let mut rows = PageRows::default();
        decoder.push(&pieces.concat(), &mut rows)?;
        decoder.finish(&mut rows)?;
        Ok((decoder, rows))
    }

    /// The page and operation of each reference.
    fn references(rows: &PageRows) -> Vec<(u64, u8)> {
        let runs = rows.page.iter().zip(&rows.op).zip(&rows.run);
        let each =
            runs.flat_map(|((page, op), run)| std::iter::repeat_n((*page, op.0), *run as usize));
        each.collect()
    }

    const ALL: [(u64, u8); 14] = [
        (1, 1),
        (2, 9),
        (2, 1),
        (2, 1),
        (9, 4),
        (10, 4),
        (2, 1),
        (9, 4),
        (10, 4),
        (1, 1),
        (2, 9),
        (2, 1),
        (5, 2),
        (2, 1),
    ];

    #[test]
    fn superblocks_are_put_together() {
        let words = program().concat();
        let (decoder, rows) = decoded(&[piece(PARENT, 0, &words)], 0).unwrap();
        assert_eq!(references(&rows), ALL);
        assert_eq!(decoder.references(), 14);
        assert_eq!(decoder.time(), 7);
        assert_eq!(decoder.pages(), 5);
        assert_eq!(decoder.tasks(), [(0, "ls 700".to_owned())]);
        assert_eq!(decoder.regions(), [(1, 2, "/a".to_owned())]);
        assert_eq!(decoder.unknown(), 3);
        assert_eq!(decoder.unfinished(), ["ls 700"]);
    }

    #[test]
    fn a_start_that_is_left_out_takes_no_time_and_uses_no_page() {
        let words = program().concat();
        for skip in 0..14 {
            let (decoder, rows) = decoded(&[piece(PARENT, 0, &words)], skip).unwrap();
            assert_eq!(references(&rows), ALL[skip as usize..], "{skip}");
            let left = &ALL[skip as usize..];
            let fetches = left.iter().filter(|reference| reference.1 == 1).count();
            assert_eq!(decoder.time(), fetches as u64, "{skip}");
        }
    }

    #[test]
    fn a_fork_has_what_its_parent_had_then() {
        let mut words = program().concat();
        words.extend([is(tag::FORK, 0), CHILD as u32, 0]);
        // The parent ends before its child says anything, and has given a number again.
        words.extend([is(tag::DEFINE, 4), 1, 2, 0x2020, 0]);
        words.push(is(tag::END, 0));
        let child = [
            is(tag::START, 4),
            1,
            PARENT as u32,
            (PARENT >> 32) as u32,
            0,
            is(tag::THREAD, 3),
            is(tag::BLOCK, 1),
            is(tag::ACCESS, 1),
            0x9000,
            0,
            is(tag::EXEC, 0),
        ];
        let pieces = [piece(PARENT, 0, &words), piece(CHILD, 0, &child)];
        let (decoder, rows) = decoded(&pieces, 0).unwrap();
        let other = 1 << SPACE;
        assert_eq!(references(&rows)[14..], [(other | 2, 1), (other | 9, 4)]);
        assert_eq!(rows.task.last(), Some(&1));
        assert_eq!(decoder.tasks()[1].1, "fork 700");
        assert!(decoder.unfinished().is_empty());
        assert_eq!(decoder.became_others(), ["fork 700"]);
    }

    #[test]
    fn a_thread_that_has_ended_gives_its_number_to_another_task() {
        let mut words = program().concat();
        for record in [tag::THREAD, tag::ENDED, tag::THREAD] {
            words.push(is(record, 2));
        }
        let (decoder, _) = decoded(&[piece(PARENT, 0, &words)], 0).unwrap();
        let names: Vec<String> = decoder.tasks().into_iter().map(|task| task.1).collect();
        assert_eq!(names, ["ls 700", "ls 700, thread 2", "ls 700, thread 3"]);
    }

    #[test]
    fn what_is_missing_or_foreign_is_an_error() {
        let words = program().concat();
        let said = |pieces: &[Vec<u8>]| decoded(pieces, 0).unwrap_err().to_string();
        let lost = [piece(PARENT, 0, &words), piece(PARENT, 2, &[])];
        assert!(said(&lost).contains("pieces 1 to 2 are missing"));
        assert!(said(&[b"hello, world!".to_vec()]).contains("something else"));
        let newer = [is(tag::START, 3), 2, 0, 0];
        assert!(said(&[piece(PARENT, 0, &newer)]).contains("version 2"));
        let early = [is(tag::BLOCK, 0)];
        assert!(said(&[piece(PARENT, 0, &early)]).contains("before it began"));
        let mut unknown = words;
        unknown.extend([is(tag::BLOCK, 9), is(tag::BLOCK, 9)]);
        assert!(said(&[piece(PARENT, 0, &unknown)]).contains("did not describe"));
    }

    proptest! {
        #[test]
        fn where_pieces_and_what_comes_end_does_not_matter(
            cuts in prop::collection::vec(0..60_usize, 0..6),
            reads in prop::collection::vec(1..90_usize, 1..6),
        ) {
            let words = program().concat();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(words.len())).collect();
            cuts.extend([0, words.len()]);
            cuts.sort_unstable();
            let mut bytes = Vec::new();
            for (number, cut) in cuts.windows(2).enumerate() {
                bytes.extend(piece(PARENT, number as u32, &words[cut[0]..cut[1]]));
            }
            let mut decoder = Decoder::new(4096, Clock::Instructions);
            let mut rows = PageRows::default();
            let mut rest = bytes.as_slice();
            for size in reads.iter().cycle() {
                let (now, later) = rest.split_at((*size).min(rest.len()));
                decoder.push(now, &mut rows).unwrap();
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            decoder.finish(&mut rows).unwrap();
            prop_assert_eq!(references(&rows), ALL);
        }
    }
}
