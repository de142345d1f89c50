//! Results as Parquet.

use anyhow::{Context as _, Result};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// A column of a table.
pub(super) enum Column {
    Text(Vec<String>),
    Whole(Vec<i64>),
    Real(Vec<f64>),
    /// Whole numbers, some of them unknown.
    Maybe(Vec<Option<i64>>),
}

impl Column {
    /// The column in Parquet's schema language; `#` stands for its name.
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "REQUIRED BYTE_ARRAY # (UTF8); ",
            Self::Whole(_) => "REQUIRED INT64 #; ",
            Self::Real(_) => "REQUIRED DOUBLE #; ",
            Self::Maybe(_) => "OPTIONAL INT64 #; ",
        }
    }

    /// Writes the column; returns the number of its values.
    fn put(&self, writer: &mut ColumnWriter<'_>) -> Result<usize> {
        let written = match (self, writer) {
            (Self::Text(texts), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let bytes: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
                writer.write_batch(&bytes, None, None)?
            }
            (Self::Whole(numbers), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(numbers, None, None)?
            }
            (Self::Real(numbers), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(numbers, None, None)?
            }
            (Self::Maybe(numbers), ColumnWriter::Int64ColumnWriter(writer)) => {
                let known: Vec<i64> = numbers.iter().flatten().copied().collect();
                let levels: Vec<i16> = numbers
                    .iter()
                    .map(|number| i16::from(number.is_some()))
                    .collect();
                writer.write_batch(&known, Some(&levels), None)?
            }
            _ => anyhow::bail!("a column does not have the type of its schema"),
        };
        Ok(written)
    }
}

/// Writes a table as Parquet. The columns must have one length.
pub(super) fn write(out: &mut (dyn Write + Send), columns: &[(&str, Column)]) -> Result<()> {
    let fields: Vec<String> = columns
        .iter()
        .map(|(name, column)| column.kind().replace('#', name))
        .collect();
    let schema = format!("message sweep {{ {} }}", fields.concat());
    let schema = Arc::new(parse_message_type(&schema)?);
    let packed = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(packed))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        let mut writer = group
            .next_column()?
            .context("the table has more columns than its schema")?;
        column.put(writer.untyped())?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}
