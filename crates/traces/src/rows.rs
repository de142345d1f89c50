//! Comma-separated formats: CSV with a header, UMass SPC, and MSR Cambridge.

use crate::input::Input;
use crate::numbers::{decimal, either, quoted};
use crate::{BATCH, Error, Reading, Source};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::iter::repeat_n;
use std::ops::RangeInclusive;
use workingset::{About, Batch, Clock, Op};

/// The places of the columns, by the header.
#[derive(Debug, Clone, Default)]
struct Header {
    page: usize,
    unit: Unit,
    size: Option<usize>,
    time: Option<usize>,
    op: Option<usize>,
    task: Option<usize>,
    /// Pages of different disks are different pages.
    disk: Option<usize>,
}

/// What the column of pages holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    Pages,
    /// Addresses of bytes.
    Bytes,
    /// Addresses of blocks of a disk, 512 bytes each.
    Sectors,
}

/// Bytes of a block of a disk, as SCSI counts them.
const SECTOR: u64 = 512;

#[derive(Debug, Clone)]
enum Layout {
    Named(Header),
    /// ASU, LBA of 512 bytes, bytes, opcode, seconds.
    Spc,
    /// Ticks of 100 ns, host, disk, type, bytes, bytes, response.
    Msr,
}

/// What one row says: the pages that were used, and how.
struct RowUse {
    pages: RangeInclusive<u64>,
    op: Option<Op>,
    time: Option<u64>,
    task: Option<u16>,
}

/// A comma-separated trace.
pub(crate) struct CsvRows<'a> {
    reader: Reader<Input<'a>>,
    row: ByteRecord,
    layout: Layout,
    reading: Reading,
    /// The time of the last reference.
    last: u64,
    /// The time that counts as zero.
    first: Option<u64>,
}

/// The most pages of one row, 4 GiB of 4 KiB pages: a larger size is an error in the trace.
const LONGEST: u64 = 1 << 20;

impl<'a> CsvRows<'a> {
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
        Self {
            reader: rows,
            row: ByteRecord::new(),
            layout,
            reading,
            last: 0,
            first: None,
        }
    }

    fn field(&self, at: usize) -> &[u8] {
        self.row.get(at).map(<[u8]>::trim_ascii).unwrap_or_default()
    }

    /// Reads the row.
    fn row_use(&self) -> Result<RowUse, String> {
        match &self.layout {
            Layout::Named(header) => self.by_header(header),
            Layout::Spc => {
                let start = decimal(self.field(1))?
                    .checked_mul(512)
                    .ok_or("an address above 2^64")?;
                let time = nanoseconds(self.field(4))?;
                let unit = decimal(self.field(0))?;
                let size = decimal(self.field(2))?;
                self.on_a_disk(unit, start, size, time)
            }
            Layout::Msr => {
                let time = decimal(self.field(0))?
                    .checked_mul(100)
                    .ok_or("a time above 2^64 ns")?;
                let disk = decimal(self.field(2))?;
                let start = decimal(self.field(4))?;
                let size = decimal(self.field(5))?;
                self.on_a_disk(disk, start, size, time)
            }
        }
    }

    fn by_header(&self, header: &Header) -> Result<RowUse, String> {
        let at = either(self.field(header.page))?;
        let pages = match header.unit {
            Unit::Pages => at..=at,
            Unit::Bytes => self.pages_of(at, self.number(header.size)?)?,
            Unit::Sectors => {
                let start = at.checked_mul(SECTOR).ok_or("an address above 2^64")?;
                self.pages_of(start, self.number(header.size)?)?
            }
        };
        let disk = self.number(header.disk)?;
        let pages = on_disk(pages, disk)?;
        let task = self.number(header.task.or(header.disk))?;
        let task = task.map(u16::try_from).transpose();
        let task = task.map_err(|_| "a task above 65535".to_owned())?;
        let op = header.op.map(|at| opcode(self.field(at))).transpose()?;
        let time = match header.time {
            Some(at) if self.reading.time => Some(time(self.field(at))?),
            _ => None,
        };
        Ok(RowUse {
            pages,
            op,
            time,
            task,
        })
    }

    /// The pages of so many bytes from an address on, of one byte where no size is told.
    fn pages_of(&self, start: u64, size: Option<u64>) -> Result<RangeInclusive<u64>, String> {
        let size = size.unwrap_or(1).max(1);
        let last = start.checked_add(size - 1).ok_or("an address above 2^64")?;
        let shift = self.reading.shift();
        Ok(start >> shift..=last >> shift)
    }

    /// The number in a column; `None` if there is no such column.
    fn number(&self, column: Option<usize>) -> Result<Option<u64>, String> {
        column.map(|at| decimal(self.field(at))).transpose()
    }

    /// The use of bytes of a disk. The disk's number is in the upper 16 bits of the page's, and is
    /// the task. The fourth column is the operation.
    fn on_a_disk(&self, disk: u64, start: u64, size: u64, time: u64) -> Result<RowUse, String> {
        let task = u16::try_from(disk).map_err(|_| format!("unit {disk} is above 65535"))?;
        let pages = self.pages_of(start, Some(size))?;
        Ok(RowUse {
            pages: on_disk(pages, Some(disk))?,
            op: Some(opcode(self.field(3))?),
            time: Some(time),
            task: Some(task),
        })
    }

    fn push(&mut self, batch: &mut Batch, used: RowUse) -> Result<(), String> {
        let count = (used.pages.end() - used.pages.start()).saturating_add(1);
        if count > LONGEST {
            return Err(format!("a reference of {count} pages is above 2^20"));
        }
        let count = count as usize;
        if let Some(time) = used.time {
            let last = self.in_order(time)?;
            batch.time.extend(repeat_n(last, count));
        }
        batch.page.extend(used.pages);
        if let Some(op) = used.op {
            batch.op.extend(repeat_n(op, count));
        }
        if let Some(task) = used.task {
            batch.task.extend(repeat_n(task, count));
        }
        Ok(())
    }

    /// The time of a row, never before that of the row before.
    ///
    /// A disk trace begins at any time, which counts as zero. Its requests are recorded when they
    /// complete, so a little out of order: an earlier time is raised to the last one. In a CSV it
    /// is an error.
    fn in_order(&mut self, time: u64) -> Result<u64, String> {
        let is_disk = !matches!(self.layout, Layout::Named(_));
        let zero = if is_disk { time } else { 0 };
        let zero = *self.first.get_or_insert(zero);
        let time = time.saturating_sub(zero);
        if time < self.last && !is_disk {
            return Err(format!("time goes back from {} to {time}", self.last));
        }
        self.last = self.last.max(time);
        Ok(self.last)
    }
}

impl Source for CsvRows<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH {
            let mut row = std::mem::take(&mut self.row);
            let more = self
                .reader
                .read_byte_record(&mut row)
                .map_err(|error| malformed(&error))?;
            self.row = row;
            if !more {
                break;
            }
            let line = self.row.position().map_or(0, csv::Position::line);
            let done = self.row_use().and_then(|used| self.push(batch, used));
            done.map_err(|what| Error::Malformed {
                place: format!("line {line}"),
                what,
            })?;
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let format = match &self.layout {
            Layout::Named(_) => "csv",
            Layout::Spc => "spc",
            Layout::Msr => "msr",
        };
        let clock = match &self.layout {
            Layout::Named(header) if header.time.is_none() => Clock::References,
            _ => Clock::Nanoseconds,
        };
        About {
            format: format.to_owned(),
            page_size: self.reading.page_size,
            clock,
            ..About::default()
        }
    }
}

/// The same pages on a disk, whose number is in the upper 16 bits.
fn on_disk(pages: RangeInclusive<u64>, disk: Option<u64>) -> Result<RangeInclusive<u64>, String> {
    let Some(disk) = disk else { return Ok(pages) };
    if disk > u64::from(u16::MAX) {
        return Err(format!("disk {disk} is above 65535"));
    }
    if *pages.end() >= 1 << 48 {
        return Err("an address above 2^64".to_owned());
    }
    let space = disk << 48;
    Ok(space | pages.start()..=space | pages.end())
}

fn reader(input: Input<'_>, headed: bool) -> Reader<Input<'_>> {
    ReaderBuilder::new()
        .has_headers(headed)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(input)
}

fn malformed(error: &csv::Error) -> Error {
    let place = match error.position() {
        Some(at) => format!("line {}", at.line()),
        None => "the table".to_owned(),
    };
    Error::Malformed {
        place,
        what: error.to_string(),
    }
}

const PAGE: &[&str] = &[
    "page",
    "page_number",
    "vpn",
    "pfn",
    "key",
    "obj_id",
    "id",
    "object",
    "block",
    "lbn",
];
const ADDRESS: &[&str] = &["address", "addr", "offset"];
const SECTORS: &[&str] = &["lba", "sector"];
const SIZE: &[&str] = &["size", "bytes", "length", "obj_size"];
const TIME: &[&str] = &["time", "timestamp", "t", "clock"];
const OP: &[&str] = &["op", "type", "rw", "operation", "iotype"];
const TASK: &[&str] = &["task", "pid", "tid", "process"];
const DISK: &[&str] = &["disk", "disknumber", "lun", "asu", "device"];

/// Returns true if a line has the name of a page or address column.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let names = names(line.split(|byte| *byte == b','));
    names.iter().any(|name| {
        [PAGE, ADDRESS, SECTORS]
            .iter()
            .any(|known| known.contains(&name.as_str()))
    })
}

/// Returns true if these are the fields of UMass SPC: unit, block, bytes, r or w, seconds.
pub(crate) fn is_spc(fields: &[&[u8]]) -> bool {
    match fields {
        [unit, block, size, op, time, ..] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation = op.eq_ignore_ascii_case(b"r") || op.eq_ignore_ascii_case(b"w");
            is_number(unit)
                && is_number(block)
                && is_number(size)
                && is_operation
                && nanoseconds(time).is_ok()
        }
        _ => false,
    }
}

/// Returns true if these are the fields of MSR Cambridge: ticks since 1601, host, disk, Read or Write, offset, bytes, response.
pub(crate) fn is_msr(fields: &[&[u8]]) -> bool {
    match fields {
        [ticks, _, disk, op, offset, size, _] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation =
                op.eq_ignore_ascii_case(b"read") || op.eq_ignore_ascii_case(b"write");
            ticks.len() > 15
                && is_number(ticks)
                && is_number(disk)
                && is_operation
                && is_number(offset)
                && is_number(size)
        }
        _ => false,
    }
}

fn names<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    fields
        .map(|field| {
            String::from_utf8_lossy(field.trim_ascii())
                .trim_matches('"')
                .to_ascii_lowercase()
        })
        .collect()
}

fn header(row: &ByteRecord) -> Result<Header, Error> {
    let names = names(row.iter());
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let all = [PAGE, ADDRESS, SECTORS].concat();
    let candidates: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| all.contains(name))
        .collect();
    let page = match candidates.as_slice() {
        [_] => find(&all).unwrap_or_default(),
        [] => {
            let wanted = all.join(", ");
            return Err(Error::Format(format!(
                "line 1: no column is called one of {wanted}; there are {}",
                names.join(", ")
            )));
        }
        several => {
            return Err(Error::Format(format!(
                "line 1: each of {} could be the page: call the others something else",
                several.join(", ")
            )));
        }
    };
    let unit = match names[page].as_str() {
        name if ADDRESS.contains(&name) => Unit::Bytes,
        name if SECTORS.contains(&name) => Unit::Sectors,
        _ => Unit::Pages,
    };
    Ok(Header {
        page,
        unit,
        size: find(SIZE),
        time: find(TIME),
        op: find(OP),
        task: find(TASK),
        disk: find(DISK),
    })
}

/// The operation that a word of a trace names.
fn opcode(word: &[u8]) -> Result<Op, String> {
    Ok(match word.to_ascii_lowercase().as_slice() {
        b"i" | b"fetch" | b"x" => Op::FETCH,
        b"r" | b"l" | b"read" | b"load" | b"get" | b"0" => Op::LOAD,
        b"w" | b"s" | b"write" | b"store" | b"set" | b"1" => Op::STORE,
        b"m" | b"modify" | b"rw" => Op::MODIFY,
        // SCSI's commands, as libCacheSim writes them.
        b"08" | b"28" | b"a8" | b"88" => Op::LOAD,
        b"0a" | b"2a" | b"aa" | b"8a" => Op::STORE,
        _ => return Err(format!("{} is neither a read nor a write", quoted(word))),
    })
}

/// A time of a CSV: nanoseconds, or seconds if it has a point.
fn time(word: &[u8]) -> Result<u64, String> {
    if word.contains(&b'.') {
        nanoseconds(word)
    } else {
        decimal(word)
    }
}

/// Decimal seconds as nanoseconds.
fn nanoseconds(word: &[u8]) -> Result<u64, String> {
    let (whole, part) = match memchr::memchr(b'.', word) {
        Some(at) => (&word[..at], &word[at + 1..]),
        None => (word, &b""[..]),
    };
    let mut nanoseconds = decimal(whole)?
        .checked_mul(1_000_000_000)
        .ok_or("a time above 2^64 ns")?;
    let mut unit = 100_000_000;
    for digit in part {
        let digit = char::from(*digit)
            .to_digit(10)
            .ok_or_else(|| format!("{} is no time", quoted(word)))?;
        nanoseconds = nanoseconds.saturating_add(u64::from(digit) * unit);
        unit /= 10;
    }
    Ok(nanoseconds)
}
