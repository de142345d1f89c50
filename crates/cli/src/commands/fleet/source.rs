//! The recordings that are named on the command line.

use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// A host's recordings, oldest first.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) files: Vec<PathBuf>,
}

impl Source {
    /// Parses `PATH` or `NAME=PATH`. Without a name, the host has that of the file or directory, without the endings of a
    /// recording.
    pub(super) fn of(text: &str) -> Result<Self> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !name.contains('/') && !name.is_empty() => {
                (Some(name), Path::new(path))
            }
            _ => (None, Path::new(text)),
        };
        let files = files_of(path)?;
        if let Some(name) = name {
            return Ok(Self {
                name: name.to_owned(),
                files,
            });
        }
        let last = match path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => "host".to_owned(),
        };
        let plain = last.split(".rec").next().unwrap_or(&last);
        Ok(Self {
            name: plain.to_owned(),
            files,
        })
    }
}

/// The file, or the recordings in the directory by their names, which have their time in them.
fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let name = path.display();
    let cannot_read = || format!("{name}: cannot read");
    if !fs::metadata(path).with_context(cannot_read)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(cannot_read)? {
        let entry = entry.with_context(cannot_read)?;
        if entry.file_name().to_string_lossy().contains(".rec") {
            files.push(entry.path());
        }
    }
    files.sort();
    ensure!(
        !files.is_empty(),
        "{name}: no recording (*.rec, *.rec.gz) in it"
    );
    Ok(files)
}
