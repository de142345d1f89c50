//! gzip, xz and zstd, told by their first bytes.

use std::io::{Cursor, Read, Result};

/// The bytes behind whatever compresses them. A stream that ends early is an error.
pub(crate) fn plain<'a>(mut input: impl Read + Send + 'a) -> Result<Box<dyn Read + Send + 'a>> {
    let mut head = Vec::new();
    input.by_ref().take(6).read_to_end(&mut head)?;
    let magic = head.clone();
    let rest = Cursor::new(head).chain(input);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(rest)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(lzma_rust2::XzReader::new(rest, true)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::new(rest)?),
        _ => Box::new(rest),
    })
}
