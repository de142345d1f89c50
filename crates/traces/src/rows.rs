//! Tables of text: a row is a reference, and its columns have roles.

use crate::input::Input;
use crate::numbers::{decimal, either, hex, quoted};
use crate::presets::Preset;
use crate::roles::{Column, Roles, SECTOR, Tick, Unit, delimiter_of};
use crate::vscsi::operation_of;
use crate::{BATCH, Error, Reading, Source};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::collections::HashMap;
use std::iter::repeat_n;
use std::ops::RangeInclusive;
use workingset::{About, Batch, Clock, Op};

/// The roles as places in a row, counted from 0.
#[derive(Debug, Clone, Copy)]
struct Places {
    page: usize,
    unit: Unit,
    /// How much is used, and the bytes of one.
    size: Option<(usize, u64)>,
    time: Option<(usize, Tick)>,
    op: Option<usize>,
    task: Option<usize>,
    disk: Option<usize>,
    count: Option<usize>,
}

/// What one row says: the pages that were used, and how.
struct RowUse {
    pages: RangeInclusive<u64>,
    op: Option<Op>,
    time: Option<u64>,
    task: Option<u16>,
    /// Bytes of the object, where pages are objects.
    size: Option<u32>,
    times: u64,
}

/// A table, row by row.
pub(crate) struct CsvRows<'a> {
    reader: Reader<Input<'a>>,
    row: ByteRecord,
    /// The row is to be read again: it was looked at.
    is_pending: bool,
    places: Places,
    /// The names of its columns, if it has a header.
    names: Vec<String>,
    format: &'static str,
    /// Requests of disks are recorded when they complete, so a little out of order, and begin at any time.
    of_disks: bool,
    reading: Reading,
    /// The pages that stand for texts.
    keys: HashMap<Box<[u8]>, u64>,
    /// The time of the last reference.
    last: u64,
    /// The time that counts as zero.
    first: Option<u64>,
}

/// The reader's note of what a table's columns were taken for.
pub const COLUMNS_USED: &str = "columns";
/// The reader's note of columns that were not used.
pub const COLUMNS_IGNORED: &str = "columns not used";

/// The most pages of one row, 4 GiB of 4 KiB pages, and the most uses: a larger number is an error in the trace.
const LONGEST: u64 = 1 << 20;

impl<'a> CsvRows<'a> {
    /// A table with a header whose names tell the roles.
    pub(crate) fn named(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let delimiter = first_delimiter(&mut input)?;
        let mut rows = reader(input, true, delimiter);
        let names = header_of(&mut rows)?;
        let places = places_of_header(&names)?;
        Ok(Self::new(rows, names, places, "csv", reading))
    }

    /// A table of a published kind.
    pub(crate) fn preset(
        input: Input<'a>,
        preset: Preset,
        reading: Reading,
    ) -> Result<Self, Error> {
        let mut table = Self::by_roles(input, &preset.roles(), preset.name(), reading)?;
        table.of_disks = preset.is_of_disks();
        Ok(table)
    }

    /// A table whose columns the user names.
    pub(crate) fn told(input: Input<'a>, roles: &Roles, reading: Reading) -> Result<Self, Error> {
        let mut table = Self::by_roles(input, roles, "csv", reading)?;
        if !roles.needs_header() {
            table.pass_over_header()?;
        }
        Ok(table)
    }

    fn by_roles(
        mut input: Input<'a>,
        roles: &Roles,
        format: &'static str,
        reading: Reading,
    ) -> Result<Self, Error> {
        let delimiter = match roles.delimiter {
            Some(delimiter) => delimiter,
            None => first_delimiter(&mut input)?,
        };
        let has_header = roles.needs_header();
        let mut rows = reader(input, has_header, delimiter);
        let names = if has_header {
            header_of(&mut rows)?
        } else {
            Vec::new()
        };
        let places = places(roles, &names)?;
        Ok(Self::new(rows, names, places, format, reading))
    }

    fn new(
        rows: Reader<Input<'a>>,
        names: Vec<String>,
        places: Places,
        format: &'static str,
        reading: Reading,
    ) -> Self {
        Self {
            reader: rows,
            row: ByteRecord::new(),
            is_pending: false,
            places,
            names,
            format,
            of_disks: false,
            reading,
            keys: HashMap::new(),
            last: 0,
            first: None,
        }
    }

    /// Passes over the first row if its columns of numbers have none.
    fn pass_over_header(&mut self) -> Result<(), Error> {
        if !self.read_row()? {
            return Ok(());
        }
        let Places {
            page,
            unit,
            size,
            time,
            ..
        } = &self.places;
        let mut numbers = Vec::new();
        if !matches!(unit, Unit::Keys | Unit::NumbersOrKeys) {
            numbers.push(*page);
        }
        numbers.extend(size.map(|(at, _)| at));
        numbers.extend(time.map(|(at, _)| at));
        let is_name = |at: &usize| !self.field(*at).is_empty() && either(self.field(*at)).is_err();
        let is_header = !numbers.is_empty() && numbers.iter().all(is_name);
        let has_point = time.is_some_and(|(at, _)| nanoseconds(self.field(at)).is_ok());
        self.is_pending = !is_header || has_point;
        Ok(())
    }

    /// What each column was taken for, and which were not used.
    fn notes(&self) -> Vec<(String, String)> {
        let places = &self.places;
        let used = match places.unit {
            Unit::Pages => "page",
            Unit::Bytes => "address",
            Unit::Sectors => "sector",
            Unit::Keys | Unit::NumbersOrKeys => "key",
        };
        let wanted_time = places.time.filter(|_| self.reading.time);
        let roles = [
            (used, Some(places.page)),
            ("size", places.size.map(|(at, _)| at)),
            ("time", wanted_time.map(|(at, _)| at)),
            ("op", places.op),
            ("task", places.task),
            ("disk", places.disk),
            ("count", places.count),
        ];
        let mut taken = Vec::new();
        for (role, at) in roles {
            if let Some(at) = at {
                taken.push(format!("{role}={}", self.column_name(at)));
            }
        }
        let mut notes = vec![(COLUMNS_USED.to_owned(), taken.join(" "))];
        let width = self.row.len().max(self.names.len());
        let is_used = |at: &usize| roles.iter().any(|(_, place)| *place == Some(*at));
        let ignored: Vec<String> = (0..width)
            .filter(|at| !is_used(at))
            .map(|at| self.column_name(at))
            .collect();
        if !ignored.is_empty() {
            notes.push((COLUMNS_IGNORED.to_owned(), ignored.join(" ")));
        }
        notes
    }

    /// A column's name in the header, or its number.
    fn column_name(&self, at: usize) -> String {
        self.names
            .get(at)
            .cloned()
            .unwrap_or_else(|| (at + 1).to_string())
    }

    /// Reads the next row; false at the end.
    fn read_row(&mut self) -> Result<bool, Error> {
        if std::mem::take(&mut self.is_pending) {
            return Ok(true);
        }
        let mut row = std::mem::take(&mut self.row);
        let more = self
            .reader
            .read_byte_record(&mut row)
            .map_err(|error| malformed(&error));
        self.row = row;
        more
    }

    fn field(&self, at: usize) -> &[u8] {
        self.row.get(at).map(<[u8]>::trim_ascii).unwrap_or_default()
    }

    /// What the row says.
    fn row_use(&mut self) -> Result<RowUse, String> {
        if self.places.unit == Unit::NumbersOrKeys {
            let is_number = either(self.field(self.places.page)).is_ok();
            self.places.unit = if is_number { Unit::Pages } else { Unit::Keys };
        }
        let places = self.places;
        let sized = match places.size {
            Some((at, unit)) => {
                let bytes = decimal(self.field(at))?.checked_mul(unit);
                Some(bytes.ok_or("a size above 2^64 bytes")?)
            }
            None => None,
        };
        let mut size = None;
        let pages = match places.unit {
            Unit::Keys => {
                size = sized;
                let page = self.page_of_key(places.page)?;
                page..=page
            }
            Unit::Pages | Unit::NumbersOrKeys => {
                size = sized;
                let page = either(self.field(places.page)).map_err(|what| {
                    format!("{what}; if it is a key, say so with --columns key=COLUMN")
                })?;
                page..=page
            }
            Unit::Bytes => self.pages_of(either(self.field(places.page))?, sized)?,
            Unit::Sectors => {
                let start = either(self.field(places.page))?.checked_mul(SECTOR);
                self.pages_of(start.ok_or("an address above 2^64")?, sized)?
            }
        };
        let disk = self.number(places.disk)?;
        let task = self.number(places.task.or(places.disk))?;
        let task = task.map(u16::try_from).transpose();
        let time = match places.time {
            Some((at, tick)) if self.reading.time => Some(time(self.field(at), tick)?),
            _ => None,
        };
        Ok(RowUse {
            pages: on_disk(pages, disk)?,
            op: places.op.map(|at| opcode(self.field(at))).transpose()?,
            time,
            task: task.map_err(|_| "a task or disk above 65535".to_owned())?,
            size: size
                .filter(|_| self.reading.sizes)
                .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
            times: self.number(places.count)?.unwrap_or(1),
        })
    }

    /// The page that stands for the text in a column.
    fn page_of_key(&mut self, at: usize) -> Result<u64, String> {
        let next = self.keys.len() as u64;
        let key = self.row.get(at).map(<[u8]>::trim_ascii).unwrap_or_default();
        if key.is_empty() {
            return Err("a key is missing".to_owned());
        }
        if let Some(page) = self.keys.get(key) {
            return Ok(*page);
        }
        self.keys.insert(key.into(), next);
        Ok(next)
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

    fn push(&mut self, batch: &mut Batch, used: RowUse) -> Result<(), String> {
        let pages = (used.pages.end() - used.pages.start()).saturating_add(1);
        if pages > LONGEST {
            return Err(format!("a reference of {pages} pages is above 2^20"));
        }
        let count = pages.saturating_mul(used.times);
        if count > LONGEST {
            return Err(format!("{} uses in a row are above 2^20", used.times));
        }
        let count = count as usize;
        if let Some(time) = used.time {
            let last = self.in_order(time)?;
            batch.time.extend(repeat_n(last, count));
        }
        for _ in 0..used.times {
            batch.page.extend(used.pages.clone());
        }
        if let Some(op) = used.op {
            batch.op.extend(repeat_n(op, count));
        }
        if let Some(task) = used.task {
            batch.task.extend(repeat_n(task, count));
        }
        if let Some(size) = used.size {
            batch.size.extend(repeat_n(size, count));
        }
        Ok(())
    }

    /// The time of a row, never before that of the row before.
    ///
    /// Of disks the first counts as zero, and an earlier one is raised to the last. Elsewhere an earlier one is an error.
    fn in_order(&mut self, time: u64) -> Result<u64, String> {
        let zero = if self.of_disks { time } else { 0 };
        let zero = *self.first.get_or_insert(zero);
        let time = time.saturating_sub(zero);
        if time < self.last && !self.of_disks {
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
            if !self.read_row()? {
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
        let clock = match self.places.time {
            None => Clock::References,
            Some(_) => Clock::Nanoseconds,
        };
        About {
            format: self.format.to_owned(),
            page_size: self.reading.page_size,
            clock,
            parameters: self.notes(),
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

fn first_delimiter(input: &mut Input<'_>) -> Result<u8, Error> {
    let head = input.peek()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(delimiter_of(first.unwrap_or_default()))
}

fn reader(input: Input<'_>, headed: bool, delimiter: u8) -> Reader<Input<'_>> {
    ReaderBuilder::new()
        .has_headers(headed)
        .delimiter(delimiter)
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

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "block", "lbn"];
const KEY: &[&str] = &[
    "key",
    "obj_id",
    "id",
    "object",
    "cachekey",
    "hashed_path_query",
    "hashed_host_path_query",
];
const ADDRESS: &[&str] = &["address", "addr", "offset"];
const SECTORS: &[&str] = &["lba", "sector"];
const SIZE: &[&str] = &[
    "size",
    "bytes",
    "length",
    "obj_size",
    "objectsize",
    "response_size",
];
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "t",
    "clock",
    "op_time",
    "relative_unix",
];
const OP: &[&str] = &["op", "type", "rw", "operation", "iotype", "optype"];
const TASK: &[&str] = &["task", "pid", "tid", "process"];
const DISK: &[&str] = &["disk", "disknumber", "lun", "asu", "device"];
const COUNT: &[&str] = &["count", "op_count"];

/// What the names of columns that tell what is used mean.
const USED: &[(&[&str], Unit)] = &[
    (PAGE, Unit::Pages),
    (KEY, Unit::NumbersOrKeys),
    (ADDRESS, Unit::Bytes),
    (SECTORS, Unit::Sectors),
];

/// Returns true if a line has the name of a column that tells what is used.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let delimiter = delimiter_of(line);
    let names = names(line.split(|byte| *byte == delimiter));
    names.iter().any(|name| unit_of(name).is_some())
}

/// What a column of this name holds, if it tells what is used.
fn unit_of(name: &str) -> Option<Unit> {
    let found = USED.iter().find(|(known, _)| known.contains(&name));
    found.map(|(_, unit)| *unit)
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

/// Returns true if these are the fields of Alibaba's disks: device, R or W, offset, bytes, microseconds since 1970.
pub(crate) fn is_alibaba(fields: &[&[u8]]) -> bool {
    match fields {
        [device, op, offset, size, time] => {
            let is_number = |field: &[u8]| decimal(field).is_ok();
            let is_operation = matches!(*op, b"R" | b"W");
            is_number(device)
                && is_operation
                && is_number(offset)
                && is_number(size)
                && time.len() == 16
                && is_number(time)
        }
        _ => false,
    }
}

/// Returns true if these are the fields of Twitter's caches: seconds, key, two sizes, client, an operation of memcached, life.
pub(crate) fn is_twitter(fields: &[&[u8]]) -> bool {
    const OPERATIONS: &[&[u8]] = &[
        b"get", b"gets", b"set", b"add", b"replace", b"cas", b"append", b"prepend", b"delete",
        b"incr", b"decr",
    ];
    match fields {
        [time, _, key_size, size, client, op, life] => {
            let numbers = [time, key_size, size, client, life];
            numbers.iter().all(|field| decimal(field).is_ok()) && OPERATIONS.contains(op)
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

fn header_of(rows: &mut Reader<Input<'_>>) -> Result<Vec<String>, Error> {
    let row = rows.byte_headers().map_err(|error| malformed(&error))?;
    Ok(names(row.iter()))
}

/// The roles that the names of a header tell.
fn places_of_header(names: &[String]) -> Result<Places, Error> {
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let mut candidates = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(unit) = unit_of(name) {
            candidates.push((at, name.as_str(), unit));
        }
    }
    let (page, unit) = match candidates.as_slice() {
        [(at, _, unit)] => (*at, *unit),
        [] => {
            let known: Vec<&str> = USED.iter().flat_map(|(known, _)| *known).copied().collect();
            return Err(Error::Format(format!(
                "line 1: no column is called one of {}; there are {}. Say which with --columns page=NAME",
                known.join(", "),
                names.join(", ")
            )));
        }
        several => {
            let named: Vec<&str> = several.iter().map(|(_, name, _)| *name).collect();
            return Err(Error::Format(format!(
                "line 1: each of {} could be the page. Say which with --columns page={}",
                named.join(", "),
                named[0]
            )));
        }
    };
    Ok(Places {
        page,
        unit,
        size: find(SIZE).map(|at| (at, 1)),
        time: find(TIME).map(|at| (at, Tick::NANOSECOND)),
        op: find(OP),
        task: find(TASK),
        disk: find(DISK),
        count: find(COUNT),
    })
}

/// The places of roles, by the names of a header where they are told by name.
fn places(roles: &Roles, names: &[String]) -> Result<Places, Error> {
    let place = |column: &Column| match column {
        Column::Number(number) => Ok(number - 1),
        Column::Name(name) => names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
            .ok_or_else(|| {
                Error::Format(format!(
                    "line 1: no column is called {name}; there are {}",
                    names.join(", ")
                ))
            }),
    };
    let optional = |column: &Option<Column>| column.as_ref().map(place).transpose();
    let size = match &roles.size {
        Some((column, unit)) => Some((place(column)?, *unit)),
        None => None,
    };
    let time = match &roles.time {
        Some((column, tick)) => Some((place(column)?, *tick)),
        None => None,
    };
    Ok(Places {
        page: place(&roles.page.0)?,
        unit: roles.page.1,
        size,
        time,
        op: optional(&roles.op)?,
        task: optional(&roles.task)?,
        disk: optional(&roles.disk)?,
        count: optional(&roles.count)?,
    })
}

/// The operation that a word of a trace names.
fn opcode(word: &[u8]) -> Result<Op, String> {
    Ok(match word.to_ascii_lowercase().as_slice() {
        b"i" | b"fetch" | b"x" => Op::FETCH,
        b"r" | b"l" | b"read" | b"load" | b"get" | b"gets" | b"head" | b"0" => Op::LOAD,
        b"w" | b"s" | b"write" | b"store" | b"set" | b"add" | b"cas" | b"replace" | b"append"
        | b"prepend" | b"incr" | b"decr" | b"delete" | b"put" | b"1" => Op::STORE,
        word if word.starts_with(b"rest.get.") || word.starts_with(b"rest.head.") => Op::LOAD,
        word if word.starts_with(b"rest.") => Op::STORE,
        b"m" | b"modify" | b"rw" => Op::MODIFY,
        // A command of SCSI, as libCacheSim writes it.
        [_, _] => {
            let command = hex(word).ok().and_then(operation_of);
            command.ok_or_else(|| no_operation(word))?
        }
        _ => return Err(no_operation(word)),
    })
}

fn no_operation(word: &[u8]) -> String {
    format!("{} is neither a read nor a write", quoted(word))
}

/// A time as nanoseconds: of its unit, or of seconds if it has a point.
fn time(word: &[u8], Tick(tick): Tick) -> Result<u64, String> {
    if word.contains(&b'.') {
        return nanoseconds(word);
    }
    let time = decimal(word)?.checked_mul(tick);
    time.ok_or_else(|| "a time above 2^64 ns".to_owned())
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
