//! An Arrow IPC stream of integer columns, as far as a page trace needs it.
//!
//! The frames and their metadata are read here, every offset checked, because the Arrow library
//! trusts them and panics on those of a damaged stream. Flat, plain, without dictionaries and
//! without missing values: what `warmset` and `pyarrow` write of such a table.

use crate::Error;
use crate::input::Input;
use crate::table::{KEY, PageRows, Table};
use arrow_array::{ArrayRef, RecordBatch, UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_ipc::writer::StreamWriter as IpcWriter;
use arrow_ipc::{Message, MessageHeader, Type, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

/// The mark before every message, since Arrow 0.15.
const CONTINUES: [u8; 4] = [0xff; 4];
/// The largest message that is read, in bytes. A damaged length is often far above; it must not
/// fill memory.
const LARGEST: u64 = 1 << 31;

struct Field {
    name: String,
    bytes: usize,
    signed: bool,
}

/// An Arrow stream that is being read.
pub(crate) struct ArrowStream<'a> {
    input: Input<'a>,
    fields: Vec<Field>,
    /// What the schema's metadata hold under [`KEY`].
    pub(crate) about_json: Option<String>,
    ended: bool,
}

fn damaged(what: &str) -> Error {
    Error::Columns(format!("the Arrow stream is damaged: {what}"))
}

impl<'a> ArrowStream<'a> {
    /// Reads the schema.
    pub(crate) fn open(input: Input<'a>) -> Result<Self, Error> {
        let mut stream = Self {
            input,
            fields: Vec::new(),
            about_json: None,
            ended: false,
        };
        let metadata = stream
            .metadata()?
            .ok_or_else(|| damaged("it has no schema"))?;
        let message = root_as_message(&metadata).map_err(|error| damaged(&error.to_string()))?;
        let schema = message
            .header_as_schema()
            .ok_or_else(|| damaged("it does not begin with a schema"))?;
        for field in schema.fields().iter().flatten() {
            stream.fields.push(integer_field(&field)?);
        }
        for pair in schema.custom_metadata().iter().flatten() {
            if pair.key() == Some(KEY) {
                stream.about_json = pair.value().map(str::to_owned);
                break;
            }
        }
        Ok(stream)
    }

    /// The columns' names.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.fields.iter().map(|field| field.name.clone());
        names.collect()
    }

    /// The next record batch.
    pub(crate) fn next(&mut self) -> Result<Option<Table>, Error> {
        if self.ended {
            return Ok(None);
        }
        let Some(metadata) = self.metadata()? else {
            return Ok(None);
        };
        let message = root_as_message(&metadata).map_err(|error| damaged(&error.to_string()))?;
        let body = self.bytes(u64::try_from(message.bodyLength()).unwrap_or(u64::MAX))?;
        match message.header_type() {
            MessageHeader::RecordBatch => self.table(&message, &body).map(Some),
            MessageHeader::Schema => Err(damaged("a second schema")),
            _ => Err(Error::Columns(
                "dictionaries in an Arrow stream are not read".to_owned(),
            )),
        }
    }

    fn table(&self, message: &Message<'_>, body: &[u8]) -> Result<Table, Error> {
        let batch = message
            .header_as_record_batch()
            .ok_or_else(|| damaged("an empty record batch"))?;
        if batch.compression().is_some() {
            return Err(Error::Columns(
                "compressed Arrow buffers are not read: compress the stream as a whole".to_owned(),
            ));
        }
        let rows = usize::try_from(batch.length()).map_err(|_| damaged("a negative length"))?;
        let nodes = batch.nodes().ok_or_else(|| damaged("no buffers"))?;
        let buffers = batch.buffers().ok_or_else(|| damaged("no buffers"))?;
        if nodes.len() != self.fields.len() || buffers.len() != 2 * self.fields.len() {
            return Err(damaged("columns and schema differ"));
        }
        let mut columns = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            let node = nodes.get(at);
            if node.null_count() != 0 {
                return Err(Error::Columns(format!(
                    "{} values of the column {} are missing",
                    node.null_count(),
                    field.name
                )));
            }
            let data = buffers.get(2 * at + 1);
            let start = usize::try_from(data.offset()).map_err(|_| damaged("a negative offset"))?;
            let size = rows
                .checked_mul(field.bytes)
                .ok_or_else(|| damaged("a length above 2^64"))?;
            let end = start.checked_add(size);
            let bytes = end.and_then(|end| body.get(start..end));
            let bytes = bytes.filter(|_| node.length() == batch.length());
            let bytes = bytes.ok_or_else(|| damaged("a column longer than its message"))?;
            let mut values = Vec::with_capacity(rows);
            for value in bytes.chunks_exact(field.bytes) {
                values.push(number(value, field)?);
            }
            columns.push((field.name.clone(), values));
        }
        Ok(Table { columns, rows })
    }

    /// The next message's metadata; `None` at the end mark.
    fn metadata(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let head = self.bytes(8)?;
        if head[..4] != CONTINUES {
            return Err(damaged("a message does not begin as one"));
        }
        let size = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if size == 0 {
            self.ended = true;
            return Ok(None);
        }
        self.bytes(u64::from(size)).map(Some)
    }

    fn bytes(&mut self, size: u64) -> Result<Vec<u8>, Error> {
        if size > LARGEST {
            return Err(damaged(&format!("a message of {size} bytes")));
        }
        let mut bytes = Vec::new();
        self.input.by_ref().take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size {
            return Err(damaged(
                "it ends without its end mark: its writer was cut off",
            ));
        }
        Ok(bytes)
    }
}

/// What is needed of a field of the schema: it must be of plain integers.
fn integer_field(field: &arrow_ipc::Field<'_>) -> Result<Field, Error> {
    let name = field.name().unwrap_or_default().to_owned();
    let mut int = None;
    if field.type_type() == Type::Int && field.dictionary().is_none() {
        int = field.type_as_int();
    }
    match int {
        Some(int) if [8, 16, 32, 64].contains(&int.bitWidth()) => Ok(Field {
            name,
            bytes: int.bitWidth() as usize / 8,
            signed: int.is_signed(),
        }),
        _ => Err(Error::Columns(format!(
            "the column {name} of the Arrow stream is no column of integers"
        ))),
    }
}

fn number(bytes: &[u8], field: &Field) -> Result<u64, Error> {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(word);
    let sign = 1 << (field.bytes * 8 - 1);
    if field.signed && value & sign != 0 {
        return Err(Error::Columns(format!(
            "a negative value in the column {}",
            field.name
        )));
    }
    Ok(value)
}

/// A stream that is being written, by the Arrow library.
pub(crate) struct StreamWriter<W: Write> {
    stream: IpcWriter<W>,
    schema: SchemaRef,
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Columns(error.to_string())
    }
}

impl<W: Write> StreamWriter<W> {
    /// Begins a stream for rows that have the columns of `like`.
    pub(crate) fn new(out: W, like: &PageRows, about: String) -> Result<Self, Error> {
        let all = [
            ("time", DataType::UInt64),
            ("page", DataType::UInt64),
            ("run", DataType::UInt32),
            ("op", DataType::UInt8),
            ("task", DataType::UInt16),
            ("size", DataType::UInt32),
        ];
        let mut fields = Vec::new();
        for (name, kind) in all {
            if like.has(name) {
                fields.push(arrow_schema::Field::new(name, kind, false));
            }
        }
        let metadata = HashMap::from([(KEY.to_owned(), about)]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(Self {
            stream: IpcWriter::try_new(out, &schema)?,
            schema,
        })
    }

    pub(crate) fn push(&mut self, rows: &PageRows) -> Result<(), Error> {
        let mut columns = Vec::new();
        for field in self.schema.fields() {
            columns.push(array(rows, field.name()));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.stream.write(&batch)?;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        Ok(self.stream.finish()?)
    }
}

/// A column of the rows as the schema has it.
fn array(rows: &PageRows, name: &str) -> ArrayRef {
    match name {
        "time" => Arc::new(UInt64Array::from(rows.time.clone())),
        "page" => Arc::new(UInt64Array::from(rows.page.clone())),
        "run" => Arc::new(UInt32Array::from(rows.run.clone())),
        "op" => {
            let codes = rows.op.iter().map(|op| op.0);
            Arc::new(UInt8Array::from_iter_values(codes))
        }
        "size" => Arc::new(UInt32Array::from(rows.size.clone())),
        _ => Arc::new(UInt16Array::from(rows.task.clone())),
    }
}
