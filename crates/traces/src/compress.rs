//! gzip, xz, zstd, bzip2, lz4 and zip, told by their first bytes.

use crate::archive;
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use lzma_rust2::XzReader;
use std::io::{Cursor, Read, Result};
use zstd::stream::read::Decoder as ZstdDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = b"\xfd7zXZ\0";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The mark, the version, and after a digit for the size of a block, that of the first block: a text may begin with the mark.
const BZIP2: &[u8] = b"BZh";
const BZIP2_BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
const LZ4: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
/// Bytes that are looked at.
const LONGEST: usize = 10;

/// The plain bytes of an input, compressed or not. A stream that ends early is an error.
pub(crate) fn plain<'a>(mut input: impl Read + Send + 'a) -> Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::new();
    input.by_ref().take(LONGEST as u64).read_to_end(&mut head)?;
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
    if magic.starts_with(BZIP2) && magic.ends_with(BZIP2_BLOCK) {
        return Ok(Box::new(MultiBzDecoder::new(whole)));
    }
    if magic.starts_with(LZ4) {
        return Ok(Box::new(FrameDecoder::new(whole)));
    }
    if magic.starts_with(archive::MAGIC) {
        return archive::only_member(whole);
    }
    Ok(Box::new(whole))
}
