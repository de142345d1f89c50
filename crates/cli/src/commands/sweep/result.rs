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
    /// Where a value is not known, there is none.
    Maybe(Vec<Option<i64>>),
}

impl Column {
    /// In Parquet's schema language; `#` is the name.
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "REQUIRED BYTE_ARRAY # (UTF8); ",
            Self::Whole(_) => "REQUIRED INT64 #; ",
            Self::Real(_) => "REQUIRED DOUBLE #; ",
            Self::Maybe(_) => "OPTIONAL INT64 #; ",
        }
    }

    fn put(&self, writer: &mut ColumnWriter<'_>) -> Result<usize> {
        Ok(match (self, writer) {
            (Self::Text(texts), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
                writer.write_batch(&texts, None, None)?
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
            _ => anyhow::bail!("a column of another kind than its schema says"),
        })
    }
}

/// A table of columns of one length.
pub(super) fn write(out: &mut (dyn Write + Send), columns: &[(&str, Column)]) -> Result<()> {
    let fields: Vec<String> = columns
        .iter()
        .map(|(name, column)| column.kind().replace('#', name))
        .collect();
    let schema = Arc::new(parse_message_type(&format!(
        "message sweep {{ {} }}",
        fields.concat()
    ))?);
    let packed = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(packed))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        let mut writer = group.next_column()?.context("a column too few")?;
        column.put(writer.untyped())?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}
