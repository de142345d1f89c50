//! The numbers of all processes.

use host::Error;
use std::fs;
use std::path::Path;

/// The processes that run now, in ascending order. Any of them may end before it is looked at.
///
/// Errors: `/proc` cannot be read.
pub(crate) fn pids(root: &Path) -> Result<Vec<u32>, Error> {
    let proc = root.join("proc");
    let entries = fs::read_dir(&proc).map_err(|error| Error::unreadable(&proc, error))?;
    let mut pids: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}
