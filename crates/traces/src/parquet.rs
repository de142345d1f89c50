//! The page trace in Parquet, by the library's own columns: no Arrow in between, so that the program stays small.

use crate::Error;
use crate::columns::{KEY, Rows, Table};
use ::parquet::basic::{Compression, Encoding, LogicalType, ZstdLevel};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Columns(error.to_string())
    }
}

/// The library panics on some damaged files: that is an error like any other, and what it would print is not for users.
/// Panics of other threads in that moment are silent too.
fn contained<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(before);
    done.unwrap_or_else(|_| Err(Error::Columns("the Parquet file is damaged".to_owned())))
}

/// A file that is read, one row group after the other.
pub(crate) struct Groups {
    reader: SerializedFileReader<bytes::Bytes>,
    next: usize,
}

impl Groups {
    pub(crate) fn open(bytes: Vec<u8>) -> Result<Self, Error> {
        let reader = contained(|| Ok(SerializedFileReader::new(bytes::Bytes::from(bytes))?))?;
        Ok(Self { reader, next: 0 })
    }

    /// What the metadata hold under [`KEY`].
    pub(crate) fn told(&self) -> Option<String> {
        let entries = self
            .reader
            .metadata()
            .file_metadata()
            .key_value_metadata()?;
        entries.iter().find(|entry| entry.key == KEY)?.value.clone()
    }

    /// The columns' names.
    pub(crate) fn names(&self) -> Vec<String> {
        let columns = self
            .reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .columns();
        columns
            .iter()
            .map(|column| column.path().string())
            .collect()
    }

    /// The wanted columns of the next row group.
    pub(crate) fn next(&mut self, wanted: &[&str]) -> Result<Option<Table>, Error> {
        if self.next == self.reader.num_row_groups() {
            return Ok(None);
        }
        let at = self.next;
        self.next += 1;
        let names = self.names();
        contained(|| {
            let group = self.reader.get_row_group(at)?;
            let rows = usize::try_from(group.metadata().num_rows())
                .map_err(|_| damaged("a negative number of rows"))?;
            let columns = names
                .into_iter()
                .enumerate()
                .filter(|(_, name)| wanted.contains(&name.as_str()));
            let columns =
                columns.map(|(at, name)| Ok((name.clone(), column(&*group, at, &name, rows)?)));
            Ok(Some(Table {
                columns: columns.collect::<Result<_, Error>>()?,
                rows,
            }))
        })
    }
}

fn damaged(what: &str) -> Error {
    Error::Columns(format!("the Parquet file is damaged: {what}"))
}

/// A column of a row group as numbers.
fn column(
    group: &dyn RowGroupReader,
    at: usize,
    name: &str,
    rows: usize,
) -> Result<Vec<u64>, Error> {
    let about = group.metadata().column(at).column_descr_ptr();
    let signed =
        !matches!(about.logical_type_ref(), Some(LogicalType::Integer(int)) if !int.is_signed);
    let negative = || Error::Columns(format!("a negative value in the column {name}"));
    let whole = |value: i64| u64::try_from(value).map_err(|_| negative());
    match group.get_column_reader(at)? {
        ColumnReader::Int64ColumnReader(reader) => {
            let values = values::<Int64Type>(reader, name, rows)?;
            if !signed {
                return Ok(values.into_iter().map(|value| value as u64).collect());
            }
            values.into_iter().map(whole).collect()
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let values = values::<Int32Type>(reader, name, rows)?;
            if !signed {
                return Ok(values
                    .into_iter()
                    .map(|value| u64::from(value as u32))
                    .collect());
            }
            values
                .into_iter()
                .map(|value| whole(i64::from(value)))
                .collect()
        }
        _ => Err(Error::Columns(format!(
            "the column {name} is no column of integers"
        ))),
    }
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    name: &str,
    rows: usize,
) -> Result<Vec<T::T>, Error> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
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

/// The columns in their order, as Parquet's schema language has them; `#` is the name.
const COLUMNS: &[(&str, &str)] = &[
    ("time", "REQUIRED INT64 # (INTEGER(64,false)); "),
    ("page", "REQUIRED INT64 # (INTEGER(64,false)); "),
    ("run", "REQUIRED INT32 # (INTEGER(32,false)); "),
    ("op", "REQUIRED INT32 # (INTEGER(8,false)); "),
    ("task", "REQUIRED INT32 # (INTEGER(16,false)); "),
];

/// Rows in a group: what is held in memory while writing.
const GROUP: usize = 1 << 20;

/// A file that is written.
pub(crate) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Rows,
}

impl<W: Write + Send> Writer<W> {
    /// For rows with the columns that these have.
    pub(crate) fn new(out: W, like: &Rows) -> Result<Self, Error> {
        let columns = COLUMNS.iter().filter(|(name, _)| like.has(name));
        let columns: Vec<String> = columns
            .map(|(name, kind)| kind.replace('#', name))
            .collect();
        let message = format!("message trace {{ {} }}", columns.concat());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_encoding(ColumnPath::from("time"), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(ColumnPath::from("time"), false)
            .build();
        let file = SerializedFileWriter::new(
            out,
            Arc::new(parse_message_type(&message)?),
            Arc::new(properties),
        )?;
        Ok(Self {
            file,
            rows: Rows::default(),
        })
    }

    pub(crate) fn push(&mut self, rows: &Rows) -> Result<(), Error> {
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
        let mut group = self.file.next_row_group()?;
        let long = |values: &[u64]| {
            values
                .iter()
                .map(|value| *value as i64)
                .collect::<Vec<i64>>()
        };
        let longs = [&rows.time, &rows.page];
        for values in longs.into_iter().filter(|values| !values.is_empty()) {
            let mut column = group
                .next_column()?
                .ok_or_else(|| damaged("a column too few"))?;
            column
                .typed::<Int64Type>()
                .write_batch(&long(values), None, None)?;
            column.close()?;
        }
        let op: Vec<i32> = rows.op.iter().map(|op| i32::from(op.0)).collect();
        let task: Vec<i32> = rows.task.iter().map(|task| i32::from(*task)).collect();
        let run: Vec<i32> = rows.run.iter().map(|run| *run as i32).collect();
        for values in [run, op, task]
            .into_iter()
            .filter(|values| !values.is_empty())
        {
            let mut column = group
                .next_column()?
                .ok_or_else(|| damaged("a column too few"))?;
            column
                .typed::<Int32Type>()
                .write_batch(&values, None, None)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes what is left, and what is known of the whole.
    pub(crate) fn finish(mut self, about: String) -> Result<(), Error> {
        self.flush()?;
        self.file
            .append_key_value_metadata(KeyValue::new(KEY.to_owned(), about));
        self.file.close()?;
        Ok(())
    }
}
