//! The page trace: columns time, page, run, op, task and size, in Parquet, and on pipes as an Arrow
//! stream.
//!
//! What is known of the trace as a whole is kept as JSON under [`KEY`] in the file's key-value
//! metadata. A Parquet file of another program is read if a column is called `page`, or has another
//! name that a CSV's page column may have.

use crate::arrow_stream::{ArrowStream, StreamWriter};
use crate::arrow_tables::ArrowTables;
use crate::input::Input;
use crate::parquet_file::{ParquetWriter, RowGroups};
use crate::table::{KEY, LONGEST_RUN, PageRows, Table, is_paced};
use crate::values::object_size;
use crate::{Error, Reading, RowSource, Source};
use arrow_array::RecordBatchReader;
use std::io::{Read, Write};
use std::iter::repeat_n;
use workingset::{About, Batch, Clock, Op};

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "key", "obj_id", "id"];
/// The other columns of a page trace.
pub const PAGE_TRACE: [&str; 5] = ["time", "run", "op", "task", SIZE];
const SIZE: &str = "size";

/// The first bytes of an Arrow file, filled up to eight.
const FILE_MARK: &[u8] = b"ARROW1\0\0";

enum Tables<'a> {
    Parquet(RowGroups),
    Arrow(ArrowStream<'a>),
    Memory(ArrowTables<'a>),
}

/// A columnar trace, read table by table.
pub(crate) struct Columns<'a> {
    tables: Tables<'a>,
    /// The name of the column with the pages.
    page: String,
    /// The name of the column with the sizes, if they are wanted.
    size: Option<&'static str>,
    about: About,
    /// Rows of the tables that are done.
    rows: u64,
    /// The time of the last reference.
    last: u64,
    /// The table that is being read, and its next row.
    open: Option<(Table, usize)>,
}

impl<'a> Columns<'a> {
    /// A Parquet file: it is read whole, since its index is at its end.
    pub(crate) fn parquet(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let groups = RowGroups::open(bytes)?;
        let page = page_column(&groups.names())?;
        let about = about(groups.about_json(), "parquet")?;
        Ok(Self::new(Tables::Parquet(groups), page, about, reading))
    }

    /// An Arrow stream, or a file of one.
    pub(crate) fn arrow(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        // In a file the same stream stands between this mark and an index that it needs not.
        if input.peek()?.starts_with(FILE_MARK) {
            input.skip(FILE_MARK.len());
        }
        let stream = ArrowStream::open(input)?;
        let page = page_column(&stream.names())?;
        let about = about(stream.about_json.clone(), "arrow")?;
        Ok(Self::new(Tables::Arrow(stream), page, about, reading))
    }

    /// Arrow tables in memory.
    pub(crate) fn memory(
        reader: Box<dyn RecordBatchReader + Send + 'a>,
        reading: Reading,
    ) -> Result<Self, Error> {
        let tables = ArrowTables::new(reader);
        let page = page_column(&tables.names())?;
        let about = about(tables.about_json(), "arrow")?;
        Ok(Self::new(Tables::Memory(tables), page, about, reading))
    }

    fn new(tables: Tables<'a>, page: String, about: About, reading: Reading) -> Self {
        Self {
            tables,
            page,
            size: reading.sizes.then_some(SIZE),
            about,
            rows: 0,
            last: 0,
            open: None,
        }
    }

    fn next_table(&mut self) -> Result<Option<Table>, Error> {
        let mut wanted = vec![self.page.as_str(), "time", "run", "op", "task"];
        wanted.extend(self.size);
        match &mut self.tables {
            Tables::Arrow(stream) => stream.next(),
            Tables::Parquet(groups) => groups.next(&wanted),
            Tables::Memory(tables) => tables.next(&wanted),
        }
    }

    /// Appends about a batch of references of a table, from a row on, with its runs unfolded.
    ///
    /// Returns the row at which to go on.
    fn unfold(&mut self, table: &Table, from: usize, batch: &mut Batch) -> Result<usize, Error> {
        let pages = table
            .column(&self.page)
            .ok_or_else(|| Error::Columns("the page column is gone".to_owned()))?;
        let columns = RowColumns {
            pages,
            time: table.column("time"),
            run: table.column("run"),
            op: table.column("op"),
            task: table.column("task"),
            size: self.size.and_then(|name| table.column(name)),
        };
        for row in from..table.rows.min(pages.len()) {
            if batch.len() >= crate::BATCH {
                return Ok(row);
            }
            self.unfold_row(&columns, row, batch)
                .map_err(|what| Error::Malformed {
                    place: format!("row {}", self.rows + row as u64),
                    what,
                })?;
        }
        Ok(table.rows)
    }

    fn unfold_row(
        &mut self,
        columns: &RowColumns<'_>,
        row: usize,
        batch: &mut Batch,
    ) -> Result<(), String> {
        let run = columns.run.map_or(1, |run| run[row]);
        if run == 0 || run > LONGEST_RUN {
            return Err(format!("a run of {run} references"));
        }
        let count = run as usize;
        batch.page.extend(repeat_n(columns.pages[row], count));
        let code = columns.op.map(|op| op[row] as u8);
        if let Some(time) = columns.time {
            let time = time[row];
            if time < self.last {
                return Err(format!("time goes back from {} to {time}", self.last));
            }
            let step = u64::from(is_paced(self.about.clock, code.map(Op)));
            for at in 0..run {
                batch.time.push(time.saturating_add(at * step));
            }
            self.last = time.saturating_add((run - 1) * step);
        } else if let Some(code) = code.filter(|_| self.about.clock == Clock::Instructions) {
            // The time is the number of fetches so far.
            let step = u64::from(is_paced(self.about.clock, Some(Op(code))));
            for at in 1..=run {
                batch.time.push(self.last.saturating_add(at * step));
            }
            self.last = self.last.saturating_add(run * step);
        }
        if let Some(code) = code {
            batch.op.extend(repeat_n(Op(code & 7), count));
        }
        if let Some(task) = columns.task {
            let task = task[row];
            let task = u16::try_from(task).map_err(|_| format!("task {task} is above 65535"))?;
            batch.task.extend(repeat_n(task, count));
        }
        if let Some(size) = columns.size {
            let size = object_size(size[row])?;
            batch.size.extend(repeat_n(size, count));
        }
        Ok(())
    }
}

/// The columns of a table that a page trace knows.
struct RowColumns<'t> {
    pages: &'t [u64],
    time: Option<&'t [u64]>,
    run: Option<&'t [u64]>,
    op: Option<&'t [u64]>,
    task: Option<&'t [u64]>,
    size: Option<&'t [u64]>,
}

/// What the metadata tell of the trace; of another program's file the page size is assumed.
fn about(json: Option<String>, format: &str) -> Result<About, Error> {
    let mut about = match json {
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
///
/// Errors: no column has a name for them.
pub fn page_column(names: &[String]) -> Result<String, Error> {
    for known in PAGE {
        let found = names.iter().find(|name| name.eq_ignore_ascii_case(known));
        if let Some(name) = found {
            return Ok(name.clone());
        }
    }
    Err(Error::Format(format!(
        "no column is called one of {}; there are {}",
        PAGE.join(", "),
        names.join(", ")
    )))
}

impl Source for Columns<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.is_empty() {
            let (table, from) = match self.open.take() {
                Some(open) => open,
                None => match self.next_table()? {
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

/// A writer of page rows.
trait RowWriter {
    fn push(&mut self, rows: &PageRows) -> Result<(), Error>;
}

impl<W: Write + Send> RowWriter for ParquetWriter<W> {
    fn push(&mut self, rows: &PageRows) -> Result<(), Error> {
        self.push(rows)
    }
}

impl<W: Write> RowWriter for StreamWriter<W> {
    fn push(&mut self, rows: &PageRows) -> Result<(), Error> {
        self.push(rows)
    }
}

/// The rows of a source of references.
pub(crate) struct RowsOf<'a> {
    source: &'a mut dyn Source,
    clock: Clock,
    batch: Batch,
}

impl<'a> RowsOf<'a> {
    pub(crate) fn new(source: &'a mut dyn Source) -> Self {
        let clock = source.about().clock;
        Self {
            source,
            clock,
            batch: Batch::default(),
        }
    }
}

impl RowSource for RowsOf<'_> {
    fn fill_rows(&mut self, rows: &mut PageRows) -> Result<bool, Error> {
        let is_more = self.source.fill(&mut self.batch)?;
        *rows = PageRows::of(&self.batch, self.clock);
        Ok(is_more)
    }

    fn about(&self) -> About {
        self.source.about()
    }
}

/// Writes a source's rows with the writer that `begin` makes for the first of them.
///
/// Returns the writer, and how many references were written.
fn write_rows<W: RowWriter>(
    source: &mut dyn RowSource,
    begin: impl FnOnce(&PageRows, &About) -> Result<W, Error>,
) -> Result<(W, u64), Error> {
    let mut first = PageRows::default();
    source.fill_rows(&mut first)?;
    if first.is_empty() {
        return Err(workingset::Error::Empty.into());
    }
    let mut writer = begin(&first, &source.about())?;
    writer.push(&first)?;
    let mut references = first.references();
    let mut rows = PageRows::default();
    while source.fill_rows(&mut rows)? {
        same_columns(&rows, &first)?;
        writer.push(&rows)?;
        references += rows.references();
    }
    Ok((writer, references))
}

/// Refuses rows that lack a column which the first rows have, or have one more.
fn same_columns(rows: &PageRows, first: &PageRows) -> Result<(), Error> {
    for column in ["time", "op", "task", "size"] {
        if rows.has(column) != first.has(column) {
            return Err(Error::Format(
                "some references have a time, an operation, a task or a size, and some have none"
                    .to_owned(),
            ));
        }
    }
    Ok(())
}

fn json(about: &About) -> Result<String, Error> {
    serde_json::to_string(about).map_err(|error| Error::Columns(error.to_string()))
}

/// Writes a source as Parquet. Returns the number of references.
pub(crate) fn to_parquet(source: &mut dyn RowSource, out: impl Write + Send) -> Result<u64, Error> {
    let (writer, references) = write_rows(source, |first, _| ParquetWriter::new(out, first))?;
    writer.finish(json(&source.about())?)?;
    Ok(references)
}

/// Writes a source as an Arrow stream. Returns the number of references.
///
/// The metadata come first in a stream, so they hold what is known of the trace at its start.
pub(crate) fn to_arrow(source: &mut dyn RowSource, out: impl Write) -> Result<u64, Error> {
    let (writer, references) = write_rows(source, |first, about| {
        StreamWriter::new(out, first, json(about)?)
    })?;
    writer.finish()?;
    Ok(references)
}
