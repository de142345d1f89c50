//! Writing a file so that a reader sees the whole of it or nothing.

use crate::hinted::Hinted;
use anyhow::{Context as _, Result};
use std::fs::{OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Readable by all, as files made by a shell are; the temporary file is readable by its owner only.
const MODE: u32 = 0o644;

/// Whether a command may replace a file that is there.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Replacing {
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

impl Replacing {
    /// An error if the file is there and may not be replaced. A device or a pipe is written to in any case.
    ///
    /// It is asked before the work, which may take hours.
    pub fn check(self, path: &Path) -> Result<()> {
        if self.force || !path.is_file() {
            return Ok(());
        }
        let what = format!("{}: this file is there already", path.display());
        Err(Hinted::new(what, "name another one, or add --force to replace it").into())
    }
}

/// Writes a file under a temporary name and renames it when it is whole; `-` is standard output. A device or a pipe is
/// written to as it is: a rename would put a file in its place, and root may do that even to `/dev/null`.
///
/// On an error nothing is left behind.
pub fn write(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut out = BufWriter::new(io::stdout());
        fill(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    let failed = || format!("{}: cannot write", path.display());
    if path.exists() && !path.is_file() {
        let file = OpenOptions::new()
            .write(true)
            .open(path)
            .with_context(failed)?;
        return fill_buffered(file, path, fill);
    }
    let mut file = tempfile::Builder::new()
        .prefix(".warmset-")
        .tempfile_in(directory_of(path))
        .with_context(failed)?;
    fill_buffered(file.as_file_mut(), path, fill)?;
    file.as_file()
        .set_permissions(Permissions::from_mode(MODE))
        .with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

fn fill_buffered(
    file: impl Write + Send,
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out).map_err(|error| naming_file(error, path))?;
    out.flush()
        .with_context(|| format!("{}: cannot write", path.display()))
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
