//! Text formats of one reference, or one run of them, in a line.

use crate::input::Input;
use crate::numbers::{decimal, either, hex, quoted, words};
use crate::page_range::{count_of, on_disk, pages_of};
use crate::{BATCH, Error, Reading, Source};
use std::collections::HashMap;
use std::iter::repeat_n;
use std::ops::RangeInclusive;
use workingset::{About, Batch, Clock, Op};

/// Appends the references of a line to a batch.
pub(crate) type Parse = fn(&mut Lines<'_>, &[u8], &mut Batch) -> Result<(), String>;

/// A text trace, by the line.
pub(crate) struct Lines<'a> {
    input: Input<'a>,
    parse: Parse,
    shift: u32,
    split: bool,
    clock: Clock,
    /// The time so far: instructions, or what else the format counts.
    now: u64,
    format: &'static str,
    /// Lines that were no references.
    passed: u64,
    references: u64,
    line: Vec<u8>,
    /// The tasks that stand for the numbers of threads, in the order of their coming.
    tasks: HashMap<u64, u16>,
    /// The same of disks and files by name.
    disks: HashMap<Box<[u8]>, u64>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(
        input: Input<'a>,
        format: &'static str,
        parse: Parse,
        reading: Reading,
    ) -> Self {
        let clock = match format {
            "lackey" if reading.bytes => Clock::InstructionBytes,
            "lackey" | "address" | "ramulator-cpu" | "drmemtrace" => Clock::Instructions,
            "perf-mem" | "blkparse" => Clock::Nanoseconds,
            _ => Clock::References,
        };
        Self {
            input,
            parse,
            shift: reading.shift(),
            split: reading.split,
            clock,
            now: 0,
            format,
            passed: 0,
            references: 0,
            line: Vec::new(),
            tasks: HashMap::new(),
            disks: HashMap::new(),
        }
    }
}

impl Lines<'_> {
    /// A use of the page at an address, of a format without times.
    pub(crate) fn used(&self, address: u64, op: Op, batch: &mut Batch) {
        batch.page.push(address >> self.shift);
        batch.op.push(op);
    }

    /// A use at the present time.
    pub(crate) fn used_now(&self, address: u64, op: Op, batch: &mut Batch) {
        self.used(address, op, batch);
        batch.time.push(self.now);
    }

    /// A use of so many bytes at the present time, as several references where they span pages and that is asked for.
    ///
    /// Returns how many references that are.
    pub(crate) fn used_bytes(
        &mut self,
        address: u64,
        size: u64,
        op: Op,
        batch: &mut Batch,
    ) -> Result<usize, String> {
        let size = if self.split { size } else { 1 };
        let pages = pages_of(address, size, self.shift)?;
        Ok(self.use_pages(pages, op, batch))
    }

    /// A request of so many bytes to a disk or a file, each of its pages a reference.
    ///
    /// Returns how many references that are.
    pub(crate) fn used_on_disk(
        &mut self,
        disk: &[u8],
        start: u64,
        size: u64,
        op: Op,
        batch: &mut Batch,
    ) -> Result<usize, String> {
        let pages = pages_of(start, size, self.shift)?;
        count_of(&pages)?;
        let next = self.disks.len() as u64;
        let number = match self.disks.get(disk) {
            Some(number) => *number,
            None => *self.disks.entry(disk.into()).or_insert(next),
        };
        let pages = on_disk(pages, Some(number))?;
        Ok(self.use_pages(pages, op, batch))
    }

    fn use_pages(&mut self, pages: RangeInclusive<u64>, op: Op, batch: &mut Batch) -> usize {
        let before = batch.len();
        batch.page.extend(pages);
        let count = batch.len() - before;
        batch.op.extend(repeat_n(op, count));
        if self.clock != Clock::References {
            batch.time.extend(repeat_n(self.now, count));
        }
        count
    }

    /// The last references were made by this thread.
    pub(crate) fn by(
        &mut self,
        thread: u64,
        count: usize,
        batch: &mut Batch,
    ) -> Result<(), String> {
        let next = self.tasks.len();
        let task = match self.tasks.get(&thread) {
            Some(task) => *task,
            None => {
                let task = u16::try_from(next).map_err(|_| "more than 65536 tasks".to_owned())?;
                self.tasks.insert(thread, task);
                task
            }
        };
        batch.task.extend(repeat_n(task, count));
        Ok(())
    }

    /// It is this time now; an earlier one is raised to the last.
    pub(crate) fn at(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// What its times count, where a file's first line says so.
    pub(crate) fn count_by(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// What its times count.
    pub(crate) fn counts(&self) -> Clock {
        self.clock
    }

    /// So much time goes by.
    pub(crate) fn wait(&mut self, time: u64) {
        self.now = self.now.saturating_add(time);
    }

    /// A line was no reference.
    pub(crate) fn pass_over(&mut self) {
        self.passed += 1;
    }
}

impl Source for Lines<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let mut line = std::mem::take(&mut self.line);
        while batch.len() < BATCH {
            let Some(next) = self.input.line()? else {
                break;
            };
            line.clear();
            line.extend_from_slice(next);
            (self.parse)(self, &line, batch).map_err(|what| self.input.wrong_line(&what))?;
        }
        self.line = line;
        self.references += batch.len() as u64;
        if batch.is_empty() && self.references == 0 && self.passed > 0 {
            return Err(Error::Format(format!(
                "none of {} lines is a reference of the format {}",
                self.passed, self.format
            )));
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: self.format.to_owned(),
            page_size: 1 << self.shift,
            clock: self.clock,
            parameters: vec![("lines passed over".to_owned(), self.passed.to_string())],
            ..About::default()
        }
    }
}

/// A page number in a line. Empty lines, `#` comments and the `*` marks of the LIRS traces are
/// skipped.
pub(crate) fn plain(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let line = line.trim_ascii();
    if line.is_empty() || line == b"*" || line[0] == b'#' {
        lines.passed += 1;
        return Ok(());
    }
    batch.page.push(either(line)?);
    Ok(())
}

/// ARC's `.lis`: the first page, the number of pages, and two numbers that are not used.
pub(crate) fn arc(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let mut words = words(line);
    let Some(first) = words.next() else {
        lines.passed += 1;
        return Ok(());
    };
    let start = decimal(first)?;
    let count = decimal(words.next().unwrap_or_default())?;
    if count > 1 << 20 {
        return Err(format!("a run of {count} pages is above 2^20"));
    }
    let end = start
        .checked_add(count)
        .ok_or_else(|| format!("a run of {count} pages from {start} is above 2^64"))?;
    batch.page.extend(start..end);
    Ok(())
}

/// A data reference of the UCSD address traces: `l` or `s`, the address, the instructions since the
/// last one.
pub(crate) fn address(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let mut words = words(line);
    let op = match words.next() {
        None => {
            lines.passed += 1;
            return Ok(());
        }
        Some(b"l") => Op::LOAD,
        Some(b"s") => Op::STORE,
        Some(other) => return Err(format!("{} is neither l nor s", quoted(other))),
    };
    let address = hex(words.next().unwrap_or_default())?;
    let gap = decimal(words.next().unwrap_or(b"0"))?;
    lines.wait(gap);
    lines.used_now(address, op, batch);
    Ok(())
}

/// Valgrind's lackey with `--trace-mem=yes`: `I  addr,size`, ` L addr,size`, ` S …`, ` M …`. Time
/// is instructions. Lines of other output are skipped.
pub(crate) fn lackey(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let op = match line {
        [b'I', b' ', b' ', ..] => Op::FETCH,
        [b' ', b'L', b' ', ..] => Op::LOAD,
        [b' ', b'S', b' ', ..] => Op::STORE,
        [b' ', b'M', b' ', ..] => Op::MODIFY,
        _ => {
            lines.passed += 1;
            return Ok(());
        }
    };
    let text = line[3..].trim_ascii();
    let comma =
        memchr::memchr(b',', text).ok_or_else(|| format!("{} has no comma", quoted(line)))?;
    let address = hex(&text[..comma])?;
    let size = decimal(&text[comma + 1..])?;
    if size == 0 || size > 1 << 16 {
        return Err(format!("a reference of {size} bytes"));
    }
    if op == Op::FETCH {
        let step = match lines.clock {
            Clock::InstructionBytes => size,
            _ => 1,
        };
        lines.now += step;
    }
    let last = address
        .checked_add(size - 1)
        .ok_or_else(|| format!("{} ends above 2^64", quoted(text)))?;
    let last = if lines.split { last } else { address };
    let first_page = address >> lines.shift;
    let last_page = last >> lines.shift;
    for page in first_page..=last_page {
        batch.page.push(page);
        batch.time.push(lines.now);
        batch.op.push(op);
    }
    Ok(())
}
