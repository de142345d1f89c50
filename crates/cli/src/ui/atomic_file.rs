//! Writing a file so that a reader sees the whole of it or nothing.

use super::hinted::Hinted;
use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Zstandard's own default: twice this level takes several times as long and saves a few per cent.
const ZSTD_LEVEL: i32 = 3;
/// Readable by all, as files made by a shell are; the temporary file is readable by its owner only.
const MODE: u32 = 0o644;

/// Writes a file under a temporary name and renames it when it is whole; `-` is standard output.
///
/// A name that ends in `.gz` or `.zst` is compressed. On an error nothing is left behind.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout());
        fill(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    let failed = || format!("{}: cannot write", path.display());
    let mut file = tempfile::Builder::new()
        .prefix(".warmset-")
        .tempfile_in(directory_of(path))
        .with_context(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    match path.extension().and_then(|end| end.to_str()) {
        Some("gz") => {
            let mut packed = GzEncoder::new(&mut out, Compression::default());
            fill(&mut packed).map_err(|error| naming_file(error, path))?;
            packed.finish().with_context(failed)?;
        }
        Some("zst") => {
            let mut packed = zstd::stream::write::Encoder::new(&mut out, ZSTD_LEVEL)?;
            packed.include_checksum(true)?;
            fill(&mut packed).map_err(|error| naming_file(error, path))?;
            packed.finish().with_context(failed)?;
        }
        _ => fill(&mut out).map_err(|error| naming_file(error, path))?,
    }
    out.flush().with_context(failed)?;
    drop(out);
    file.as_file()
        .set_permissions(Permissions::from_mode(MODE))
        .with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// Where the temporary file goes: a rename must stay on one file system.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// Names the file in the error, unless the error has a hint: that one has nothing to do with the file.
fn naming_file(error: anyhow::Error, path: &Path) -> anyhow::Error {
    if error.is::<Hinted>() {
        return error;
    }
    error.context(format!("{}: cannot write", path.display()))
}
