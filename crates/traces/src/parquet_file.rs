//! The page trace in Parquet, by the library's own column readers and writers. The Arrow layer
//! above them is not used: it would make the program larger.

use crate::Error;
use crate::dictionary::chunk;
use crate::table::{KEY, PageRows, Table};
use ::parquet::basic::{Compression, Encoding, LogicalType, ZstdLevel};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::{ColumnDescPtr, ColumnPath};
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Columns(error.to_string())
    }
}

/// Runs `work`, and turns a panic into an error: the library panics on some damaged files.
///
/// The panic's own message is not printed. The hook is the whole process's, so panics of other
/// threads are silent, too, while `work` runs.
fn without_panics<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(before);
    done.unwrap_or_else(|_| Err(Error::Columns("the Parquet file is damaged".to_owned())))
}

/// A file that is being read, one row group after the other.
pub(crate) struct RowGroups {
    reader: SerializedFileReader<bytes::Bytes>,
    next: usize,
}

impl RowGroups {
    pub(crate) fn open(bytes: Vec<u8>) -> Result<Self, Error> {
        let reader = without_panics(|| Ok(SerializedFileReader::new(bytes::Bytes::from(bytes))?))?;
        Ok(Self { reader, next: 0 })
    }

    /// What the metadata hold under [`KEY`].
    pub(crate) fn about_json(&self) -> Option<String> {
        let metadata = self.reader.metadata().file_metadata();
        let entries = metadata.key_value_metadata()?;
        let own = entries.iter().find(|entry| entry.key == KEY)?;
        own.value.clone()
    }

    /// The columns' names.
    pub(crate) fn names(&self) -> Vec<String> {
        let metadata = self.reader.metadata().file_metadata();
        let columns = metadata.schema_descr().columns();
        let names = columns.iter().map(|column| column.path().string());
        names.collect()
    }

    /// The wanted columns of the next row group.
    pub(crate) fn next(&mut self, wanted: &[&str]) -> Result<Option<Table>, Error> {
        if self.next == self.reader.num_row_groups() {
            return Ok(None);
        }
        let at = self.next;
        self.next += 1;
        let names = self.names();
        without_panics(|| {
            let group = self.reader.get_row_group(at)?;
            let rows = usize::try_from(group.metadata().num_rows())
                .map_err(|_| damaged("a negative number of rows"))?;
            let mut columns = Vec::new();
            for (at, name) in names.into_iter().enumerate() {
                if wanted.contains(&name.as_str()) {
                    let values = column(&*group, at, &name, rows)?;
                    columns.push((name, values));
                }
            }
            Ok(Some(Table { columns, rows }))
        })
    }
}

fn damaged(what: &str) -> Error {
    Error::Columns(format!("the Parquet file is damaged: {what}"))
}

/// Returns true if the column's integers are signed; Parquet's are, unless its logical type says
/// otherwise.
fn is_signed(group: &dyn RowGroupReader, at: usize) -> bool {
    let description = group.metadata().column(at).column_descr_ptr();
    match description.logical_type_ref() {
        Some(LogicalType::Integer(int)) => int.is_signed,
        _ => true,
    }
}

/// A column of a row group as numbers.
fn column(
    group: &dyn RowGroupReader,
    at: usize,
    name: &str,
    rows: usize,
) -> Result<Vec<u64>, Error> {
    let signed = is_signed(group, at);
    let mut numbers = Vec::with_capacity(rows.min(GROUP));
    match group.get_column_reader(at)? {
        ColumnReader::Int64ColumnReader(reader) => {
            for value in values::<Int64Type>(reader, name, rows)? {
                numbers.push(if signed {
                    not_negative(value, name)?
                } else {
                    value as u64
                });
            }
            Ok(numbers)
        }
        ColumnReader::Int32ColumnReader(reader) => {
            for value in values::<Int32Type>(reader, name, rows)? {
                numbers.push(if signed {
                    not_negative(i64::from(value), name)?
                } else {
                    u64::from(value as u32)
                });
            }
            Ok(numbers)
        }
        _ => Err(Error::Columns(format!(
            "the column {name} is no column of integers"
        ))),
    }
}

fn not_negative(value: i64, name: &str) -> Result<u64, Error> {
    u64::try_from(value)
        .map_err(|_| Error::Columns(format!("a negative value in the column {name}")))
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    name: &str,
    rows: usize,
) -> Result<Vec<T::T>, Error> {
    let mut values = Vec::new();
    let mut levels = Vec::new();
    let mut seen = 0;
    while seen < rows {
        let (records, _, _) =
            reader.read_records(rows - seen, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(damaged(&format!("the column {name} ends early")));
        }
        seen += records;
    }
    if values.len() != rows {
        return Err(Error::Columns(format!(
            "{} values of the column {name} are missing",
            rows.saturating_sub(values.len())
        )));
    }
    Ok(values)
}

/// The columns in their order, in Parquet's schema language; `#` stands for the name.
const COLUMNS: &[(&str, &str)] = &[
    ("time", "REQUIRED INT64 # (INTEGER(64,false)); "),
    ("page", "REQUIRED INT64 # (INTEGER(64,false)); "),
    ("run", "REQUIRED INT32 # (INTEGER(32,false)); "),
    ("op", "REQUIRED INT32 # (INTEGER(8,false)); "),
    ("task", "REQUIRED INT32 # (INTEGER(16,false)); "),
    ("size", "REQUIRED INT32 # (INTEGER(32,false)); "),
];

/// Rows of a group. A group is held in memory while it is written: 24 MB with all columns. Smaller
/// groups compress less.
const GROUP: usize = 1 << 20;

/// A file that is being written.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: PageRows,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file for rows that have the columns of `like`.
    pub(crate) fn new(out: W, like: &PageRows) -> Result<Self, Error> {
        let mut columns = String::new();
        for (name, kind) in COLUMNS {
            if like.has(name) {
                columns += &kind.replace('#', name);
            }
        }
        let message = format!("message trace {{ {columns} }}");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_encoding(ColumnPath::from("time"), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(ColumnPath::from("time"), false)
            // The columns that we encode have no index of pages, and the library wants one in all or in none.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let file = SerializedFileWriter::new(
            out,
            Arc::new(parse_message_type(&message)?),
            Arc::new(properties),
        )?;
        Ok(Self {
            file,
            rows: PageRows::default(),
        })
    }

    pub(crate) fn push(&mut self, rows: &PageRows) -> Result<(), Error> {
        self.rows.append(rows);
        if self.rows.run.len() >= GROUP {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        if rows.run.is_empty() {
            return Ok(());
        }
        let descriptions = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        // The file has no column that is not known.
        for description in descriptions {
            match description.name() {
                "time" => write_column::<W, Int64Type>(&mut group, rows.time.iter().copied())?,
                "page" => {
                    let pages = rows.page.iter().copied();
                    write_numbered::<W, Int64Type>(&mut group, pages, description)?;
                }
                "run" => {
                    let runs = rows.run.iter().map(|run| u64::from(*run));
                    write_numbered::<W, Int32Type>(&mut group, runs, description)?;
                }
                "op" => {
                    let ops = rows.op.iter().map(|op| u64::from(op.0));
                    write_numbered::<W, Int32Type>(&mut group, ops, description)?;
                }
                "size" => {
                    let sizes = rows.size.iter().map(|size| u64::from(*size));
                    write_numbered::<W, Int32Type>(&mut group, sizes, description)?;
                }
                _ => {
                    let tasks = rows.task.iter().map(|task| u64::from(*task));
                    write_numbered::<W, Int32Type>(&mut group, tasks, description)?;
                }
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the rows that are left, and the metadata.
    pub(crate) fn finish(mut self, about: String) -> Result<(), Error> {
        self.flush()?;
        self.file
            .append_key_value_metadata(KeyValue::new(KEY.to_owned(), about));
        self.file.close()?;
        Ok(())
    }
}

/// Parquet's integers, which are signed; their logical type says that ours are not.
trait Signed: DataType {
    fn signed(value: u64) -> Self::T;
}

impl Signed for Int64Type {
    fn signed(value: u64) -> i64 {
        value as i64
    }
}

impl Signed for Int32Type {
    fn signed(value: u64) -> i32 {
        value as i32
    }
}

/// Writes the group's next column by numbers of its different values, or plainly if they are too many.
fn write_numbered<W: Write + Send, T: Signed>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl ExactSizeIterator<Item = u64> + Clone,
    description: ColumnDescPtr,
) -> Result<(), Error> {
    match chunk(values.clone(), description)? {
        Some((bytes, close)) => Ok(group.append_column(&bytes, close)?),
        None => write_column::<W, T>(group, values),
    }
}

/// Writes the group's next column.
fn write_column<W: Write + Send, T: Signed>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = u64>,
) -> Result<(), Error> {
    let values: Vec<T::T> = values.map(T::signed).collect();
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| damaged("a column too few"))?;
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()?;
    Ok(())
}
