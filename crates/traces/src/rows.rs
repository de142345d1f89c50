//! Comma-separated formats: by the names of a header, UMass SPC, and MSR.

use crate::input::Input;
use crate::numbers::{decimal, either, quoted};
use crate::{BATCH, Error, Reading, Source};
use csv::{ByteRecord, Reader, ReaderBuilder};
use workingset::{About, Batch, Clock, Op};

/// Where a header says that the columns are.
#[derive(Debug, Clone, Default)]
struct Header {
    page: usize,
    /// The page column holds addresses of bytes.
    bytes: bool,
    size: Option<usize>,
    time: Option<usize>,
    op: Option<usize>,
    task: Option<usize>,
}

#[derive(Debug, Clone)]
enum Layout {
    Named(Header),
    /// ASU, LBA of 512 bytes, bytes, opcode, seconds.
    Spc,
    /// Ticks of 100 ns, host, disk, type, bytes, bytes, response.
    Msr,
}

/// A comma-separated trace.
pub(crate) struct Rows<'a> {
    reader: Reader<Input<'a>>,
    row: ByteRecord,
    layout: Layout,
    reading: Reading,
    last: u64,
    /// The time that counts as zero.
    first: Option<u64>,
}

/// Most pages of one row: a larger size is an error in the trace.
const LONGEST: u64 = 1 << 20;

impl<'a> Rows<'a> {
    pub(crate) fn named(input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let mut rows = reader(input, true);
        let header = header(rows.byte_headers().map_err(|error| malformed(&error))?)?;
        Ok(Self::new(rows, Layout::Named(header), reading))
    }

    pub(crate) fn spc(input: Input<'a>, reading: Reading) -> Self {
        Self::new(reader(input, false), Layout::Spc, reading)
    }

    pub(crate) fn msr(input: Input<'a>, reading: Reading) -> Self {
        Self::new(reader(input, false), Layout::Msr, reading)
    }

    fn new(rows: Reader<Input<'a>>, layout: Layout, reading: Reading) -> Self {
        Self { reader: rows, row: ByteRecord::new(), layout, reading, last: 0, first: None }
    }

    fn row(&mut self, batch: &mut Batch) -> Result<(), String> {
        let field = |at: usize| self.row.get(at).map(<[u8]>::trim_ascii).unwrap_or_default();
        let shift = self.reading.shift();
        let (space, start, size, op, time) = match &self.layout {
            Layout::Named(header) => {
                let header = header.clone();
                let at = either(field(header.page))?;
                let size = header.size.filter(|_| header.bytes).map_or(Ok(1), |at| decimal(field(at)))?;
                let last = at.checked_add(size.max(1) - 1).ok_or("an address above 2^64")?;
                let pages = if header.bytes { at >> shift..=last >> shift } else { at..=at };
                return self.by_header(batch, &header, pages);
            }
            Layout::Spc => (
                decimal(field(0))?,
                decimal(field(1))?.checked_mul(512).ok_or("an address above 2^64")?,
                decimal(field(2))?,
                opcode(field(3))?,
                Some(nanoseconds(field(4))?),
            ),
            Layout::Msr => (
                decimal(field(2))?,
                decimal(field(4))?,
                decimal(field(5))?,
                opcode(field(3))?,
                Some(decimal(field(0))?.checked_mul(100).ok_or("a time above 2^64 ns")?),
            ),
        };
        if space > 0xffff {
            return Err(format!("unit {space} is above 65535"));
        }
        let last =
            start.checked_add(size.max(1) - 1).filter(|last| last >> shift < 1 << 48).ok_or("an address above 2^64")?;
        let pages = (space << 48 | start >> shift)..=(space << 48 | last >> shift);
        self.push(batch, pages, Some(op), time, Some(space as u16))
    }

    fn by_header(
        &mut self,
        batch: &mut Batch,
        header: &Header,
        pages: std::ops::RangeInclusive<u64>,
    ) -> Result<(), String> {
        let field = |at: usize| self.row.get(at).map(<[u8]>::trim_ascii).unwrap_or_default();
        let op = header.op.map(|at| opcode(field(at))).transpose()?;
        let time = header.time.map(|at| decimal(field(at))).transpose()?;
        let task = header.task.map(|at| decimal(field(at))).transpose()?;
        let task = task.map(u16::try_from).transpose().map_err(|_| "a task above 65535".to_owned())?;
        self.push(batch, pages, op, time, task)
    }

    fn push(
        &mut self,
        batch: &mut Batch,
        pages: std::ops::RangeInclusive<u64>,
        op: Option<Op>,
        time: Option<u64>,
        task: Option<u16>,
    ) -> Result<(), String> {
        let count = (pages.end() - pages.start()).saturating_add(1);
        if count > LONGEST {
            return Err(format!("a reference of {count} pages is above 2^20"));
        }
        let count = count as usize;
        if let Some(time) = time {
            // Disk traces start anywhere, are told at completion, and so a little out of order.
            let disk = !matches!(self.layout, Layout::Named(_));
            let first = *self.first.get_or_insert(if disk { time } else { 0 });
            let time = time.saturating_sub(first);
            if time < self.last && !disk {
                return Err(format!("time goes back from {} to {time}", self.last));
            }
            self.last = self.last.max(time);
            batch.time.extend(std::iter::repeat_n(self.last, count));
        }
        batch.page.extend(pages);
        batch.op.extend(op.into_iter().flat_map(|op| std::iter::repeat_n(op, count)));
        batch.task.extend(task.into_iter().flat_map(|task| std::iter::repeat_n(task, count)));
        Ok(())
    }
}

impl Source for Rows<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH {
            let mut row = std::mem::take(&mut self.row);
            let more = self.reader.read_byte_record(&mut row).map_err(|error| malformed(&error))?;
            self.row = row;
            if !more {
                break;
            }
            let line = self.row.position().map_or(0, csv::Position::line);
            self.row(batch).map_err(|what| Error::Malformed { place: format!("line {line}"), what })?;
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let (format, clock) = match &self.layout {
            Layout::Named(header) => {
                ("csv", if header.time.is_some() { Clock::Nanoseconds } else { Clock::References })
            }
            Layout::Spc => ("spc", Clock::Nanoseconds),
            Layout::Msr => ("msr", Clock::Nanoseconds),
        };
        About { format: format.to_owned(), page_size: self.reading.page_size, clock, ..About::default() }
    }
}

fn reader(input: Input<'_>, headed: bool) -> Reader<Input<'_>> {
    ReaderBuilder::new().has_headers(headed).flexible(true).comment(Some(b'#')).from_reader(input)
}

fn malformed(error: &csv::Error) -> Error {
    let place = error.position().map_or_else(|| "the table".to_owned(), |at| format!("line {}", at.line()));
    Error::Malformed { place, what: error.to_string() }
}

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "key", "obj_id", "id", "object", "block"];
const ADDRESS: &[&str] = &["address", "addr", "offset", "lba"];
const SIZE: &[&str] = &["size", "bytes", "length", "obj_size"];
const TIME: &[&str] = &["time", "timestamp", "t", "clock"];
const OP: &[&str] = &["op", "type", "rw", "operation"];
const TASK: &[&str] = &["task", "pid", "tid", "process"];

/// Whether a line names a page or an address.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let names = names(line.split(|byte| *byte == b','));
    names.iter().any(|name| PAGE.contains(&name.as_str()) || ADDRESS.contains(&name.as_str()))
}

fn names<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    fields.map(|field| String::from_utf8_lossy(field.trim_ascii()).trim_matches('"').to_ascii_lowercase()).collect()
}

fn header(row: &ByteRecord) -> Result<Header, Error> {
    let names = names(row.iter());
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let (page, bytes) = match (find(PAGE), find(ADDRESS)) {
        (Some(page), _) => (page, false),
        (None, Some(address)) => (address, true),
        (None, None) => {
            let wanted = [PAGE, ADDRESS].concat().join(", ");
            return Err(Error::Format(format!(
                "line 1: no column is called one of {wanted}; there are {}",
                names.join(", ")
            )));
        }
    };
    Ok(Header { page, bytes, size: find(SIZE), time: find(TIME), op: find(OP), task: find(TASK) })
}

/// What a word of a trace says was done.
fn opcode(word: &[u8]) -> Result<Op, String> {
    Ok(match word.to_ascii_lowercase().as_slice() {
        b"i" | b"fetch" | b"x" => Op::FETCH,
        b"r" | b"l" | b"read" | b"load" | b"get" | b"0" => Op::LOAD,
        b"w" | b"s" | b"write" | b"store" | b"set" | b"1" => Op::STORE,
        b"m" | b"modify" | b"rw" => Op::MODIFY,
        _ => return Err(format!("{} is neither a read nor a write", quoted(word))),
    })
}

/// Decimal seconds as nanoseconds.
fn nanoseconds(word: &[u8]) -> Result<u64, String> {
    let (whole, part) = match memchr::memchr(b'.', word) {
        Some(at) => (&word[..at], &word[at + 1..]),
        None => (word, &b""[..]),
    };
    let mut nanoseconds = decimal(whole)?.checked_mul(1_000_000_000).ok_or("a time above 2^64 ns")?;
    let mut unit = 100_000_000;
    for digit in part {
        let digit = char::from(*digit).to_digit(10).ok_or_else(|| format!("{} is no time", quoted(word)))?;
        nanoseconds = nanoseconds.saturating_add(u64::from(digit) * unit);
        unit /= 10;
    }
    Ok(nanoseconds)
}
