//! Tables of text: a row is a reference, and its columns have roles.

use crate::cells::Rows;
use crate::headers::{Places, is_name_of_keys, names, places, places_of_header};
use crate::input::Input;
use crate::numbers::{decimal, either};
use crate::page_range::{LONGEST, count_of, on_disk, pages_of};
use crate::presets::Preset;
use crate::roles::{Roles, SECTOR, Unit, delimiter_of};
use crate::values::{nanoseconds, object_size, opcode, time};
use crate::{BATCH, Error, Order, Reading, Source};
use ahash::AHashMap;
use std::iter::repeat_n;
use std::ops::RangeInclusive;
use workingset::{About, Batch, Clock};

/// A table, row by row.
pub(crate) struct CsvRows<'a> {
    rows: Rows<'a>,
    table: Table,
}

/// What is known of a table, and of the rows so far.
struct Table {
    places: Places,
    /// The names of its columns, if it has a header.
    names: Vec<String>,
    /// How many columns its first row has.
    width: usize,
    format: &'static str,
    /// Requests of disks are recorded when they complete, so a little out of order, and begin at any time.
    of_disks: bool,
    reading: Reading,
    /// The pages that stand for texts. The standard library's hash alone was a sixth of a row's instructions.
    keys: AHashMap<Box<[u8]>, u64>,
    /// The time of the last reference.
    last: u64,
    /// The time that counts as zero.
    first: Option<u64>,
}

/// The reader's note of what a table's columns were taken for.
pub const COLUMNS_USED: &str = "columns";
/// The reader's note of columns that were not used.
pub const COLUMNS_IGNORED: &str = "columns not used";

impl<'a> CsvRows<'a> {
    /// A table with a header whose names tell the roles.
    pub(crate) fn named(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let delimiter = first_delimiter(&mut input)?;
        let mut rows = Rows::new(input, delimiter);
        let names = header_of(&mut rows)?;
        let places = places_of_header(&names)?;
        Self::new(rows, names, places, "csv", reading)
    }

    /// A table of a published kind.
    pub(crate) fn preset(
        input: Input<'a>,
        preset: Preset,
        reading: Reading,
    ) -> Result<Self, Error> {
        let mut rows = Self::by_roles(input, &preset.roles(), preset.name(), reading)?;
        rows.table.of_disks = preset.is_of_disks();
        Ok(rows)
    }

    /// A table whose columns the user names.
    pub(crate) fn told(input: Input<'a>, roles: &Roles, reading: Reading) -> Result<Self, Error> {
        let mut rows = Self::by_roles(input, roles, "csv", reading)?;
        let Table { places, width, .. } = &rows.table;
        if *width > 0 && places.cells() > *width {
            return Err(Error::Format(format!(
                "column {} is asked for, and the first row has {width}",
                places.cells()
            )));
        }
        if !roles.needs_header() {
            rows.pass_over_header()?;
        }
        Ok(rows)
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
        let mut rows = Rows::new(input, delimiter);
        let names = if roles.needs_header() {
            header_of(&mut rows)?
        } else {
            Vec::new()
        };
        let places = places(roles, &names)?;
        Self::new(rows, names, places, format, reading)
    }

    fn new(
        mut rows: Rows<'a>,
        names: Vec<String>,
        places: Places,
        format: &'static str,
        reading: Reading,
    ) -> Result<Self, Error> {
        let first = rows.peek()?.unwrap_or_default();
        rows.want(places.cells());
        Ok(Self {
            rows,
            table: Table {
                places,
                width: first.len().max(names.len()),
                names,
                format,
                of_disks: false,
                reading,
                keys: AHashMap::new(),
                last: 0,
                first: None,
            },
        })
    }

    /// Passes over the first row if its columns of numbers have none.
    fn pass_over_header(&mut self) -> Result<(), Error> {
        let Some(row) = self.rows.peek()? else {
            return Ok(());
        };
        let Places {
            page,
            unit,
            size,
            time,
            ..
        } = &self.table.places;
        let mut numbers = Vec::new();
        if !matches!(unit, Unit::Keys | Unit::NumbersOrKeys) {
            numbers.push(*page);
        }
        numbers.extend(size.map(|(at, _)| at));
        numbers.extend(time.map(|(at, _)| at));
        let cell = |at: usize| {
            row.get(at)
                .map(|cell| cell.trim_ascii())
                .unwrap_or_default()
        };
        let is_name = |at: &usize| !cell(*at).is_empty() && either(cell(*at)).is_err();
        let is_header = !numbers.is_empty() && numbers.iter().all(is_name);
        let has_point = time.is_some_and(|(at, _)| nanoseconds(cell(at)).is_ok());
        // A key may be any text: only a name that such a column has elsewhere is one here.
        let is_keys = numbers.is_empty() && is_name_of_keys(cell(*page));
        if (is_header && !has_point) || is_keys {
            self.rows.next()?;
        }
        Ok(())
    }
}

impl Table {
    /// What each column was taken for, and which were not used.
    fn notes(&self) -> Vec<(String, String)> {
        let places = &self.places;
        let wanted_time = places.time.filter(|_| self.reading.reads_times());
        let roles = [
            (places.unit.role(), Some(places.page)),
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
        let is_used = |at: &usize| roles.iter().any(|(_, place)| *place == Some(*at));
        let ignored: Vec<String> = (0..self.width)
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

    /// Appends the references of a row.
    fn take(&mut self, cells: &[&[u8]], batch: &mut Batch) -> Result<(), String> {
        let bytes = match self.places.size {
            Some((at, unit)) => {
                let bytes = decimal(cell(cells, at))?.checked_mul(unit);
                Some(bytes.ok_or("a size above 2^64 bytes")?)
            }
            None => None,
        };
        let disk = number(cells, self.places.disk)?;
        let pages = on_disk(self.pages(cells, bytes)?, disk)?;
        let times = number(cells, self.places.count)?.unwrap_or(1);
        let count = references(&pages, times)?;
        if let Some((at, tick)) = self.places.time {
            if self.reading.reads_times() {
                let time = self.in_order(time(cell(cells, at), tick)?)?;
                append(&mut batch.time, time, count);
            }
        }
        if let Some(at) = self.places.op {
            append(&mut batch.op, opcode(cell(cells, at))?, count);
        }
        let task = match self.places.task {
            Some(at) => Some(decimal(cell(cells, at))?),
            None => disk,
        };
        if let Some(task) = task {
            let task = u16::try_from(task).map_err(|_| "a task or disk above 65535")?;
            append(&mut batch.task, task, count);
        }
        let is_object = matches!(self.places.unit, Unit::Pages | Unit::Keys);
        if let Some(bytes) = bytes.filter(|_| is_object && self.reading.sizes) {
            append(&mut batch.size, object_size(bytes)?, count);
        }
        if count == 1 {
            batch.page.push(*pages.start());
            return Ok(());
        }
        for _ in 0..times {
            batch.page.extend(pages.clone());
        }
        Ok(())
    }

    /// The pages that a row is about.
    #[inline]
    fn pages(
        &mut self,
        cells: &[&[u8]],
        bytes: Option<u64>,
    ) -> Result<RangeInclusive<u64>, String> {
        let text = cell(cells, self.places.page);
        if self.places.unit == Unit::NumbersOrKeys {
            let is_number = either(text).is_ok();
            self.places.unit = if is_number { Unit::Pages } else { Unit::Keys };
        }
        match self.places.unit {
            Unit::Keys => {
                let page = self.page_of_key(text)?;
                Ok(page..=page)
            }
            Unit::Pages | Unit::NumbersOrKeys => {
                let page = either(text).map_err(|what| {
                    format!("{what}; if it is a key, say so with --columns key=COLUMN")
                })?;
                Ok(page..=page)
            }
            Unit::Bytes => pages_of(either(text)?, bytes.unwrap_or(1), self.reading.shift()),
            Unit::Sectors => {
                let start = either(text)?.checked_mul(SECTOR);
                let start = start.ok_or("an address above 2^64")?;
                pages_of(start, bytes.unwrap_or(1), self.reading.shift())
            }
        }
    }

    /// The page that stands for a text.
    fn page_of_key(&mut self, key: &[u8]) -> Result<u64, String> {
        let next = self.keys.len() as u64;
        if key.is_empty() {
            return Err("a key is missing".to_owned());
        }
        if let Some(page) = self.keys.get(key) {
            return Ok(*page);
        }
        self.keys.insert(key.into(), next);
        Ok(next)
    }

    /// The time of a row, never before that of the row before.
    ///
    /// Of disks the first counts as zero, and an earlier one is raised to the last. Elsewhere an earlier one is an error.
    #[inline]
    fn in_order(&mut self, time: u64) -> Result<u64, String> {
        if self.reading.order == Order::Sort {
            return Ok(time);
        }
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
        let Self { rows, table } = self;
        rows.each(|cells| {
            table.take(cells, batch)?;
            Ok(batch.len() < BATCH)
        })?;
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let clock = match self.table.places.time {
            None => Clock::References,
            Some(_) => Clock::Nanoseconds,
        };
        About {
            format: self.table.format.to_owned(),
            page_size: self.table.reading.page_size,
            clock,
            parameters: self.table.notes(),
            ..About::default()
        }
    }
}

fn first_delimiter(input: &mut Input<'_>) -> Result<u8, Error> {
    let head = input.peek()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(delimiter_of(first.unwrap_or_default()))
}

/// The names that the first row gives the columns.
fn header_of(rows: &mut Rows<'_>) -> Result<Vec<String>, Error> {
    let row = rows.next()?.unwrap_or_default();
    Ok(names(row.iter().map(Vec::as_slice)))
}

/// A cell of a row, without blanks around it; nothing if the row is too short.
#[inline]
fn cell<'c>(cells: &[&'c [u8]], at: usize) -> &'c [u8] {
    let cell = cells.get(at).copied().unwrap_or_default();
    match cell {
        [first, .., last] if *first > b' ' && *last > b' ' => cell,
        _ => cell.trim_ascii(),
    }
}

/// How many references a row's pages are, used so often.
///
/// Errors: so many that the trace must be damaged.
#[inline]
fn references(pages: &RangeInclusive<u64>, times: u64) -> Result<usize, String> {
    let count = count_of(pages)?.saturating_mul(times);
    if count > LONGEST {
        return Err(format!("{times} uses in a row are above 2^20"));
    }
    Ok(count as usize)
}

/// Appends a value so often; once, as for nearly all rows, is the fast way.
#[inline]
fn append<T: Copy>(column: &mut Vec<T>, value: T, count: usize) {
    if count == 1 {
        column.push(value);
    } else {
        column.extend(repeat_n(value, count));
    }
}

/// The number in a column; `None` if there is no such column.
#[inline]
fn number(cells: &[&[u8]], column: Option<usize>) -> Result<Option<u64>, String> {
    column.map(|at| decimal(cell(cells, at))).transpose()
}
