//! The page trace: columns time, page, run, op and task in Parquet, and on pipes in an Arrow stream of the same schema.
//!
//! What is known of the trace as a whole stands as JSON under [`KEY`] in the file's key-value metadata. Other people's
//! Parquet is read where a column is called `page`, or another of the names that a CSV may have.

use crate::input::Input;
use crate::parquet::{Groups, Writer};
use crate::stream::{self, Stream};
use crate::tables;
use crate::{Error, Source};
use arrow_array::RecordBatchReader;
use std::io::{Read, Write};
use workingset::{About, Batch, Clock, Op};

/// Under which the metadata hold the trace's [`About`].
pub(crate) const KEY: &str = "warmset.trace";

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "key", "obj_id", "id"];
/// What one row may stand for.
const LONGEST_RUN: u64 = 1 << 24;

/// Columns of integers, by name.
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, Vec<u64>)>,
    pub(crate) rows: usize,
}

impl Table {
    fn column(&self, name: &str) -> Option<&[u64]> {
        self.columns
            .iter()
            .find(|column| column.0 == name)
            .map(|column| column.1.as_slice())
    }
}

enum Tables<'a> {
    Parquet(Groups),
    Arrow(Stream<'a>),
    Memory(tables::Tables<'a>),
}

/// A columnar trace, by the table.
pub(crate) struct Columns<'a> {
    tables: Tables<'a>,
    page: String,
    about: About,
    rows: u64,
    /// The time given last.
    last: u64,
    /// A table, and how far it has been given.
    open: Option<(Table, usize)>,
}

impl<'a> Columns<'a> {
    /// A Parquet file: it is read whole, since its index is at its end.
    pub(crate) fn parquet(mut input: Input<'a>) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let groups = Groups::open(bytes)?;
        let names = groups.names();
        let page = page(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let about = about(groups.told(), "parquet")?;
        Ok(Self {
            tables: Tables::Parquet(groups),
            page,
            about,
            rows: 0,
            last: 0,
            open: None,
        })
    }

    /// An Arrow stream.
    pub(crate) fn arrow(input: Input<'a>) -> Result<Self, Error> {
        let stream = Stream::open(input)?;
        let (page, about) = (page(&stream.names())?, about(stream.told.clone(), "arrow")?);
        Ok(Self {
            tables: Tables::Arrow(stream),
            page,
            about,
            rows: 0,
            last: 0,
            open: None,
        })
    }

    /// Arrow tables in memory.
    pub(crate) fn memory(reader: Box<dyn RecordBatchReader + Send + 'a>) -> Result<Self, Error> {
        let tables = tables::Tables::new(reader);
        let names = tables.names();
        let page = page(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let about = about(tables.told(), "arrow")?;
        Ok(Self {
            tables: Tables::Memory(tables),
            page,
            about,
            rows: 0,
            last: 0,
            open: None,
        })
    }

    fn next(&mut self) -> Result<Option<Table>, Error> {
        let wanted = [self.page.as_str(), "time", "run", "op", "task"];
        match &mut self.tables {
            Tables::Arrow(stream) => stream.next(),
            Tables::Parquet(groups) => groups.next(&wanted),
            Tables::Memory(tables) => tables.next(&wanted),
        }
    }

    /// References of a table from a row on, runs unfolded, about a batch of them; the row at which to go on.
    fn unfold(&mut self, table: &Table, from: usize, batch: &mut Batch) -> Result<usize, Error> {
        let pages = table
            .column(&self.page)
            .ok_or_else(|| Error::Columns("the page column is gone".to_owned()))?;
        let [time, run, op, task] = ["time", "run", "op", "task"].map(|name| table.column(name));
        for row in from..table.rows.min(pages.len()) {
            if batch.len() >= crate::BATCH {
                return Ok(row);
            }
            let times = run.map_or(1, |run| run[row]);
            let place = self.rows + row as u64;
            let wrong = |what: String| {
                Err(Error::Malformed {
                    place: format!("row {place}"),
                    what,
                })
            };
            if times == 0 || times > LONGEST_RUN {
                return wrong(format!("a run of {times} references"));
            }
            let times = times as usize;
            batch.page.extend(std::iter::repeat_n(pages[row], times));
            let step = u64::from(is_paced(self.about.clock, op.map(|op| op[row] as u8)));
            if let Some(time) = time.map(|time| time[row]) {
                if time < self.last {
                    return wrong(format!("time goes back from {} to {time}", self.last));
                }
                batch
                    .time
                    .extend((0..times as u64).map(|at| time.saturating_add(at * step)));
                self.last = time.saturating_add((times as u64 - 1) * step);
            }
            batch.op.extend(
                op.into_iter()
                    .flat_map(|op| std::iter::repeat_n(Op(op[row] as u8 & 7), times)),
            );
            if let Some(task) = task {
                let Ok(task) = u16::try_from(task[row]) else {
                    return wrong(format!("task {} is above 65535", task[row]));
                };
                batch.task.extend(std::iter::repeat_n(task, times));
            }
        }
        Ok(table.rows)
    }
}

fn about(told: Option<String>, format: &str) -> Result<About, Error> {
    let mut about = match told {
        Some(json) => serde_json::from_str(&json)
            .map_err(|error| Error::Columns(format!("the metadata under {KEY}: {error}")))?,
        None => About {
            page_size: 4096,
            ..About::default()
        },
    };
    format.clone_into(&mut about.format);
    Ok(about)
}

/// The name of the column that has the pages.
fn page(names: &[&str]) -> Result<String, Error> {
    let found = PAGE
        .iter()
        .find_map(|known| names.iter().find(|name| name.eq_ignore_ascii_case(known)));
    found.map(|name| (*name).to_owned()).ok_or_else(|| {
        Error::Format(format!(
            "no column is called one of {}; there are {}",
            PAGE.join(", "),
            names.join(", ")
        ))
    })
}

impl Source for Columns<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.is_empty() {
            let (table, from) = match self.open.take() {
                Some(open) => open,
                None => match self.next()? {
                    Some(table) => (table, 0),
                    None => return Ok(false),
                },
            };
            let to = self.unfold(&table, from, batch)?;
            if to < table.rows {
                self.open = Some((table, to));
            } else {
                self.rows += table.rows as u64;
            }
        }
        Ok(true)
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

/// Whether each reference of a run is an instruction later than the one before: fetches, where time is instructions.
fn is_paced(clock: Clock, op: Option<u8>) -> bool {
    clock == Clock::Instructions && op == Some(Op::FETCH.0)
}

/// Rows to be written: references that are the same one after the other are one, with their number.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) time: Vec<u64>,
    pub(crate) page: Vec<u64>,
    pub(crate) run: Vec<u32>,
    pub(crate) op: Vec<Op>,
    pub(crate) task: Vec<u16>,
}

impl Rows {
    fn of(batch: &Batch, clock: Clock) -> Self {
        fn picked<T: Copy>(column: &[T], starts: &[usize]) -> Vec<T> {
            if column.is_empty() {
                Vec::new()
            } else {
                starts.iter().map(|at| column[*at]).collect()
            }
        }
        let starts: Vec<usize> = (0..batch.len())
            .filter(|at| *at == 0 || !same(batch, clock, *at))
            .collect();
        let ends = starts.iter().skip(1).copied().chain([batch.len()]);
        Self {
            time: picked(&batch.time, &starts),
            page: picked(&batch.page, &starts),
            run: starts
                .iter()
                .zip(ends)
                .map(|(start, end)| (end - start) as u32)
                .collect(),
            op: picked(&batch.op, &starts),
            task: picked(&batch.task, &starts),
        }
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        match column {
            "time" => !self.time.is_empty(),
            "op" => !self.op.is_empty(),
            "task" => !self.task.is_empty(),
            _ => true,
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.time.extend_from_slice(&other.time);
        self.page.extend_from_slice(&other.page);
        self.run.extend_from_slice(&other.run);
        self.op.extend_from_slice(&other.op);
        self.task.extend_from_slice(&other.task);
    }
}

/// Whether a reference goes on with the run of the one before it.
fn same(batch: &Batch, clock: Clock, at: usize) -> bool {
    fn equal<T: PartialEq>(column: &[T], at: usize) -> bool {
        column.is_empty() || column[at] == column[at - 1]
    }
    let step = u64::from(is_paced(clock, batch.op.get(at).map(|op| op.0)));
    let in_time = batch.time.is_empty() || batch.time[at] == batch.time[at - 1] + step;
    equal(&batch.page, at) && in_time && equal(&batch.op, at) && equal(&batch.task, at)
}

/// Gives a source's rows to `put`, the first to `begin`; how many references that were.
fn by_rows<W>(
    source: &mut dyn Source,
    begin: impl FnOnce(&Rows, &About) -> Result<W, Error>,
    put: impl Fn(&mut W, &Rows) -> Result<(), Error>,
) -> Result<(W, u64), Error> {
    let (mut batch, mut references) = (Batch::default(), 0);
    source.fill(&mut batch)?;
    if batch.is_empty() {
        return Err(workingset::Error::Empty.into());
    }
    let about = source.about();
    let first = Rows::of(&batch, about.clock);
    let mut writer = begin(&first, &about)?;
    while !batch.is_empty() {
        let rows = Rows::of(&batch, about.clock);
        if ["time", "op", "task"]
            .iter()
            .any(|name| rows.has(name) != first.has(name))
        {
            return Err(Error::Format(
                "some references have a time, an operation or a task, and some have none"
                    .to_owned(),
            ));
        }
        put(&mut writer, &rows)?;
        references += batch.len() as u64;
        source.fill(&mut batch)?;
    }
    Ok((writer, references))
}

fn json(about: &About) -> Result<String, Error> {
    serde_json::to_string(about).map_err(|error| Error::Columns(error.to_string()))
}

/// Writes a source as Parquet.
pub(crate) fn to_parquet(source: &mut dyn Source, out: impl Write + Send) -> Result<u64, Error> {
    let (writer, references) = by_rows(source, |first, _| Writer::new(out, first), Writer::push)?;
    writer.finish(json(&source.about())?)?;
    Ok(references)
}

/// Writes a source as an Arrow stream: what is known of the whole is what is known at its start.
pub(crate) fn to_arrow(source: &mut dyn Source, out: impl Write) -> Result<u64, Error> {
    let begin = |first: &Rows, about: &About| stream::Writer::new(out, first, json(about)?);
    let (writer, references) = by_rows(source, begin, stream::Writer::push)?;
    writer.finish()?;
    Ok(references)
}
