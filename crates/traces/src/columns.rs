//! The page trace: columns time, page, run, op and task in Parquet, and on pipes in an Arrow stream of the same schema.
//!
//! What is known of the trace as a whole stands as JSON under [`KEY`] in the file's key-value metadata. Other people's Parquet is read
//! where a column is called `page`, or another of the names that a CSV may have.

use crate::input::Input;
use crate::stream::Stream;
use crate::{Error, Source};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use workingset::{About, Batch, Op};

/// Under which the metadata hold the trace's [`About`].
pub(crate) const KEY: &str = "warmset.trace";

const PAGE: &[&str] = &["page", "page_number", "vpn", "pfn", "key", "obj_id", "id"];

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Columns(error.to_string())
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Columns(error.to_string())
    }
}

/// Columns of integers, by name.
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, Vec<u64>)>,
    pub(crate) rows: usize,
}

impl Table {
    fn column(&self, name: &str) -> Option<&[u64]> {
        self.columns.iter().find(|column| column.0 == name).map(|column| column.1.as_slice())
    }
}

enum Tables<'a> {
    Parquet(ParquetRecordBatchReader),
    Arrow(Stream<'a>),
}

/// A columnar trace, by the table.
pub(crate) struct Columns<'a> {
    tables: Tables<'a>,
    page: String,
    about: About,
    rows: u64,
}

impl<'a> Columns<'a> {
    /// A Parquet file: it is read whole, since its index is at its end.
    pub(crate) fn parquet(mut input: Input<'a>) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        let builder = contained(|| Ok(ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?))?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let told =
            metadata.and_then(|all| all.iter().find(|entry| entry.key == KEY)).and_then(|entry| entry.value.clone());
        let schema = Arc::clone(builder.schema());
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (page, about) = (page(&names)?, about(told, "parquet")?);
        let reader = contained(|| Ok(builder.with_batch_size(crate::BATCH).build()?))?;
        Ok(Self { tables: Tables::Parquet(reader), page, about, rows: 0 })
    }

    /// An Arrow stream.
    pub(crate) fn arrow(input: Input<'a>) -> Result<Self, Error> {
        let stream = Stream::open(input)?;
        let (page, about) = (page(&stream.names())?, about(stream.told.clone(), "arrow")?);
        Ok(Self { tables: Tables::Arrow(stream), page, about, rows: 0 })
    }

    fn next(&mut self) -> Result<Option<Table>, Error> {
        match &mut self.tables {
            Tables::Arrow(stream) => stream.next(),
            Tables::Parquet(reader) => {
                let wanted = [self.page.as_str(), "time", "run", "op", "task"];
                contained(|| reader.next().transpose()?.map(|rows| table(&rows, &wanted)).transpose())
            }
        }
    }

    /// One table's references, runs unfolded.
    fn unfold(&mut self, table: &Table, batch: &mut Batch) -> Result<(), Error> {
        let pages = table.column(&self.page).ok_or_else(|| Error::Columns("the page column is gone".to_owned()))?;
        let [time, run, op, task] = ["time", "run", "op", "task"].map(|name| table.column(name));
        for (row, page) in pages.iter().enumerate().take(table.rows) {
            let times = run.map_or(1, |run| run[row]);
            let wrong = |what: String| Err(Error::Malformed { place: format!("row {}", self.rows + row as u64), what });
            if times == 0 || times > LONGEST_RUN {
                return wrong(format!("a run of {times} references"));
            }
            let times = times as usize;
            batch.page.extend(std::iter::repeat_n(*page, times));
            batch.time.extend(time.into_iter().flat_map(|time| std::iter::repeat_n(time[row], times)));
            if let Some(op) = op {
                batch.op.extend(std::iter::repeat_n(Op(op[row] as u8 & 7), times));
            }
            if let Some(task) = task {
                let Ok(task) = u16::try_from(task[row]) else {
                    return wrong(format!("task {} is above 65535", task[row]));
                };
                batch.task.extend(std::iter::repeat_n(task, times));
            }
        }
        self.rows += table.rows as u64;
        Ok(())
    }
}

/// The Parquet library panics on some damaged files: that is an error like any other, and what it would print is not for users. Panics of other
/// threads in that moment are silent too.
fn contained<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(before);
    done.unwrap_or_else(|_| Err(Error::Columns("the Parquet file is damaged".to_owned())))
}

/// What one row may stand for: a batch, since a run is folded within one.
const LONGEST_RUN: u64 = 1 << 24;

fn about(told: Option<String>, format: &str) -> Result<About, Error> {
    let mut about = match told {
        Some(json) => {
            serde_json::from_str(&json).map_err(|error| Error::Columns(format!("the metadata under {KEY}: {error}")))?
        }
        None => About { page_size: 4096, ..About::default() },
    };
    format.clone_into(&mut about.format);
    Ok(about)
}

/// The name of the column that has the pages.
fn page(names: &[&str]) -> Result<String, Error> {
    let found = PAGE.iter().find_map(|known| names.iter().find(|name| name.eq_ignore_ascii_case(known)));
    found.map(|name| (*name).to_owned()).ok_or_else(|| {
        Error::Format(format!("no column is called one of {}; there are {}", PAGE.join(", "), names.join(", ")))
    })
}

/// The wanted columns of a record batch, as numbers.
fn table(rows: &RecordBatch, wanted: &[&str]) -> Result<Table, Error> {
    let fields = rows.schema_ref().fields().iter().enumerate();
    let fields = fields.filter(|(_, field)| wanted.contains(&field.name().as_str()));
    let columns = fields.map(|(at, field)| Ok((field.name().clone(), numbers(rows, at)?.values().to_vec())));
    Ok(Table { columns: columns.collect::<Result<_, Error>>()?, rows: rows.num_rows() })
}

fn numbers(rows: &RecordBatch, at: usize) -> Result<UInt64Array, Error> {
    let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
    let cast = arrow_cast::cast_with_options(rows.column(at), &DataType::UInt64, &strict)?;
    let numbers = cast.as_primitive::<UInt64Type>().clone();
    let nulls = numbers.null_count();
    if nulls > 0 {
        let name = rows.schema_ref().field(at).name().clone();
        return Err(Error::Columns(format!("{nulls} values of the column {name} are missing")));
    }
    Ok(numbers)
}

impl Source for Columns<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.is_empty() {
            let Some(table) = self.next()? else { return Ok(false) };
            self.unfold(&table, batch)?;
        }
        Ok(true)
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

/// The columns that a trace has, in their order.
fn schema(first: &Batch, about: &About) -> Result<SchemaRef, Error> {
    let mut fields = Vec::new();
    if !first.time.is_empty() {
        fields.push(Field::new("time", DataType::UInt64, false));
    }
    fields.push(Field::new("page", DataType::UInt64, false));
    fields.push(Field::new("run", DataType::UInt32, false));
    if !first.op.is_empty() {
        fields.push(Field::new("op", DataType::UInt8, false));
    }
    if !first.task.is_empty() {
        fields.push(Field::new("task", DataType::UInt16, false));
    }
    let json = serde_json::to_string(about).map_err(|error| Error::Columns(error.to_string()))?;
    Ok(Arc::new(Schema::new_with_metadata(fields, HashMap::from([(KEY.to_owned(), json)]))))
}

/// References that are the same one after the other become one row with their number.
fn fold(schema: &SchemaRef, batch: &Batch) -> Result<RecordBatch, Error> {
    let starts: Vec<usize> = (0..batch.len()).filter(|at| *at == 0 || !same(batch, at - 1, *at)).collect();
    let ends = starts.iter().skip(1).copied().chain([batch.len()]);
    let runs = starts.iter().zip(ends).map(|(start, end)| (end - start) as u32);
    let picked = |values: &[u64]| UInt64Array::from_iter_values(starts.iter().map(|at| values[*at]));
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in schema.fields() {
        columns.push(match field.name().as_str() {
            "time" => Arc::new(picked(&batch.time)),
            "page" => Arc::new(picked(&batch.page)),
            "run" => Arc::new(UInt32Array::from_iter_values(runs.clone())),
            "op" => Arc::new(UInt8Array::from_iter_values(starts.iter().map(|at| batch.op[*at].0))) as ArrayRef,
            _ => Arc::new(UInt16Array::from_iter_values(starts.iter().map(|at| batch.task[*at]))),
        });
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn same(batch: &Batch, one: usize, other: usize) -> bool {
    fn equal<T: PartialEq>(column: &[T], one: usize, other: usize) -> bool {
        column.is_empty() || column[one] == column[other]
    }
    equal(&batch.page, one, other)
        && equal(&batch.time, one, other)
        && equal(&batch.op, one, other)
        && equal(&batch.task, one, other)
}

fn whole(schema: &SchemaRef, batch: &Batch) -> Result<(), Error> {
    let has = |name: &str| schema.field_with_name(name).is_ok();
    if has("time") == batch.time.is_empty() || has("op") == batch.op.is_empty() || has("task") == batch.task.is_empty()
    {
        return Err(Error::Format(
            "some references have a time, an operation or a task, and some have none".to_owned(),
        ));
    }
    Ok(())
}

/// Writes a source as Parquet.
pub(crate) fn to_parquet(source: &mut dyn Source, out: impl Write + Send) -> Result<u64, Error> {
    let (mut batch, mut references) = (Batch::default(), 0);
    source.fill(&mut batch)?;
    let schema = schema(&batch, &source.about())?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_encoding(ColumnPath::from("time"), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled(ColumnPath::from("time"), false)
        .build();
    let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
    while !batch.is_empty() {
        whole(&schema, &batch)?;
        writer.write(&fold(&schema, &batch)?)?;
        references += batch.len() as u64;
        source.fill(&mut batch)?;
    }
    let json = serde_json::to_string(&source.about()).map_err(|error| Error::Columns(error.to_string()))?;
    writer.append_key_value_metadata(parquet::file::metadata::KeyValue::new(KEY.to_owned(), json));
    writer.close()?;
    Ok(references)
}

/// Writes a source as an Arrow stream.
pub(crate) fn to_arrow(source: &mut dyn Source, out: impl Write) -> Result<u64, Error> {
    let (mut batch, mut references) = (Batch::default(), 0);
    source.fill(&mut batch)?;
    let schema = schema(&batch, &source.about())?;
    let mut writer = StreamWriter::try_new(out, &schema)?;
    while !batch.is_empty() {
        whole(&schema, &batch)?;
        writer.write(&fold(&schema, &batch)?)?;
        references += batch.len() as u64;
        source.fill(&mut batch)?;
    }
    writer.finish()?;
    Ok(references)
}
