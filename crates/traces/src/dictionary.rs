//! A column of the page trace in Parquet, as numbers of a dictionary.
//!
//! The numbers have whole bytes, which Parquet allows, and not the fewest bits, as its library
//! writes them: a program's loops repeat byte for byte then, and zstd finds them. So the page trace
//! of a program takes a tenth of the space.

use crate::Error;
use ::parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use ::parquet::column::page::{CompressedPage, Page, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;
use std::collections::HashMap;

/// The most different values: numbers of two bytes. More are a column in which little repeats.
const MOST: usize = 1 << 16;
/// Values whose number is found without the hash table, a power of two: as many as a small first cache holds.
const RECENT: usize = 1 << 10;
/// zstd's level: a third less than with 3 on programs, for a twentieth of the recording's time. More takes as long as it saves.
const LEVEL: i32 = 5;

/// Different values, and the number of each one in a column.
struct Dictionary {
    values: Vec<u64>,
    numbers: Vec<u16>,
}

impl Dictionary {
    /// `None` if there are more values than numbers.
    fn of(column: impl ExactSizeIterator<Item = u64>) -> Option<Self> {
        let mut values = Vec::new();
        let mut numbers = Vec::with_capacity(column.len());
        let mut known: HashMap<u64, u16> = HashMap::new();
        let mut recent = vec![(u64::MAX, 0); RECENT];
        for value in column {
            let place = &mut recent[value as usize & (RECENT - 1)];
            if place.0 != value || values.is_empty() {
                let next = values.len();
                let number = match known.get(&value) {
                    Some(number) => *number,
                    None if next == MOST => return None,
                    None => {
                        values.push(value);
                        known.insert(value, next as u16);
                        next as u16
                    }
                };
                *place = (value, number);
            }
            numbers.push(place.1);
        }
        Some(Self { values, numbers })
    }

    /// The values, as Parquet has them plain.
    fn plain(&self, kind: Type) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.values.len() * 8);
        for value in &self.values {
            let all = value.to_le_bytes();
            let width = if kind == Type::INT32 { 4 } else { 8 };
            bytes.extend_from_slice(&all[..width]);
        }
        bytes
    }

    /// The numbers, as Parquet's hybrid of runs and of packed numbers has them.
    fn packed(&self) -> Vec<u8> {
        let width = if self.values.len() <= 256 { 1 } else { 2 };
        let mut bytes = vec![8 * width];
        let count = self.numbers.len() as u64;
        if self.values.len() == 1 {
            varint(count << 1, &mut bytes);
            bytes.push(0);
            return bytes;
        }
        let groups = count.div_ceil(8);
        varint(groups << 1 | 1, &mut bytes);
        if width == 1 {
            bytes.extend(self.numbers.iter().map(|number| *number as u8));
        } else {
            bytes.extend(self.numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        let padding = (groups * 8 - count) * u64::from(width);
        bytes.extend(std::iter::repeat_n(0, padding as usize));
        bytes
    }
}

/// Appends a number in groups of seven bits, the lowest first.
fn varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A column's part in a row group, to be appended. `None` if too many of its values are different.
pub(crate) fn chunk(
    column: impl ExactSizeIterator<Item = u64>,
    description: ColumnDescPtr,
) -> Result<Option<(Bytes, ColumnCloseResult)>, Error> {
    let rows = column.len();
    let Some(dictionary) = Dictionary::of(column) else {
        return Ok(None);
    };
    let values = dictionary.plain(description.physical_type());
    let numbers = dictionary.packed();
    let pages = [
        Page::DictionaryPage {
            buf: packed(&values)?,
            num_values: dictionary.values.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        },
        Page::DataPage {
            buf: packed(&numbers)?,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        },
    ];
    let mut out = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut out);
    let mut starts = Vec::new();
    let mut uncompressed = 0;
    for (page, size) in pages.into_iter().zip([values.len(), numbers.len()]) {
        let written = writer.write_page(CompressedPage::new(page, size))?;
        starts.push(written.offset as i64);
        uncompressed += written.uncompressed_size as i64;
    }
    let bytes = Bytes::from(out.into_inner()?);
    let metadata = ColumnChunkMetaData::builder(description)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_encodings(vec![
            Encoding::PLAIN,
            Encoding::RLE,
            Encoding::RLE_DICTIONARY,
        ])
        .set_num_values(rows as i64)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(uncompressed)
        .set_dictionary_page_offset(Some(starts[0]))
        .set_data_page_offset(starts[1])
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok(Some((bytes, close)))
}

fn packed(bytes: &[u8]) -> Result<Bytes, Error> {
    Ok(Bytes::from(zstd::bulk::compress(bytes, LEVEL)?))
}
