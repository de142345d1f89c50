//! gzip, xz and zstd, told by their first bytes.

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::io::{Cursor, Read, Result};
use zstd::stream::read::Decoder as ZstdDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The plain bytes of an input, compressed or not. A stream that ends early is an error.
pub(crate) fn plain<'a>(mut input: impl Read + Send + 'a) -> Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::new();
    input
        .by_ref()
        .take(XZ.len() as u64)
        .read_to_end(&mut head)?;
    let magic = head.clone();
    let whole = Cursor::new(head).chain(input);
    if magic.starts_with(GZIP) {
        return Ok(Box::new(MultiGzDecoder::new(whole)));
    }
    if magic.starts_with(XZ) {
        return Ok(Box::new(XzReader::new(whole, true)));
    }
    if magic.starts_with(ZSTD) {
        return Ok(Box::new(ZstdDecoder::new(whole)?));
    }
    Ok(Box::new(whole))
}
