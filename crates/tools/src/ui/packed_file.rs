//! Whole files that are compressed as their name says.

use super::atomic_file;
use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;

/// Zstandard's own default: twice this level takes several times as long and saves a few per cent.
const ZSTD_LEVEL: i32 = 3;

/// As [`atomic_file::write`]; a name that ends in `.gz` or `.zst` is compressed.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("gz") => atomic_file::write(path, |out| {
            let mut packed = GzEncoder::new(out, Compression::default());
            fill(&mut packed)?;
            packed.finish()?;
            Ok(())
        }),
        Some("zst") => atomic_file::write(path, |out| {
            let mut packed = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
            packed.include_checksum(true)?;
            fill(&mut packed)?;
            packed.finish()?;
            Ok(())
        }),
        _ => atomic_file::write(path, fill),
    }
}
