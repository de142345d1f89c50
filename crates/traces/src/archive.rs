//! A zip archive of one file. Its list stands at its end, so that the archive is read into memory first; its content is not.

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::io::{Cursor, Error, Read, Result};
use zip::{CompressionMethod, ZipArchive};

pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";

/// The plain bytes of the only file in an archive.
///
/// Errors: none, several, one with a password, or packed in a way that is not known.
pub(crate) fn only_member<'a>(mut input: impl Read) -> Result<Box<dyn Read + Send + 'a>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(Error::other)?;
    let mut files = Vec::new();
    for at in 0..archive.len() {
        let member = archive.by_index_raw(at).map_err(Error::other)?;
        if !member.is_dir() {
            files.push((at, member.name().to_owned()));
        }
    }
    let at = match files.as_slice() {
        [(at, _)] => *at,
        [] => return Err(Error::other("this zip archive has no file")),
        [(_, first), (_, second), ..] => {
            let count = files.len();
            return Err(Error::other(format!(
                "this zip archive has {count} files, {first:?} and {second:?} among them: unzip it, and name one"
            )));
        }
    };
    let member = archive.by_index_raw(at).map_err(Error::other)?;
    let name = member.name().to_owned();
    if member.encrypted() {
        return Err(Error::other(format!(
            "{name:?} in this zip archive has a password: unzip it first"
        )));
    }
    let start = member
        .data_start()
        .ok_or_else(|| Error::other(format!("{name:?} in this zip archive has no place")))?;
    let length = member.compressed_size();
    let expected = member.crc32();
    let method = member.compression();
    drop(member);
    let mut packed = archive.into_inner();
    packed.set_position(start);
    let packed = packed.take(length);
    let plain: Box<dyn Read + Send> = match method {
        CompressionMethod::Stored => Box::new(packed),
        CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
        other => {
            return Err(Error::other(format!(
                "{name:?} in this zip archive is packed by {other}: unzip it first"
            )));
        }
    };
    Ok(Box::new(Checked {
        plain: CrcReader::new(plain),
        expected,
    }))
}

/// The content of a file, and at its end its checksum.
struct Checked {
    plain: CrcReader<Box<dyn Read + Send>>,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let count = self.plain.read(out)?;
        let is_end = count == 0 && !out.is_empty();
        if is_end && self.plain.crc().sum() != self.expected {
            return Err(Error::other(
                "the checksum of the file in the zip archive is wrong: it is damaged",
            ));
        }
        Ok(count)
    }
}
