//! What the page tables of a process say of its memory: `/proc/PID/smaps_rollup`, and accessed bits taken back.

use super::watch::{alive, kilobytes};
use host::error::{Error, Malformed};
use host::writes::CLEAR_REFS;
use rustix::fs::OFlags;
use std::io::Write;
use std::path::Path;
use units::Bytes;

/// Sums over all mappings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rollup {
    /// With the accessed bit set.
    pub(crate) referenced: Bytes,
    pub(crate) resident: Bytes,
    /// Resident, where a page that several processes map counts by its share (`Pss`).
    pub(crate) share: Bytes,
    pub(crate) swapped: Bytes,
}

impl Rollup {
    /// From the text of the file.
    pub(crate) fn of(text: &[u8]) -> Result<Self, Malformed<'_>> {
        let field =
            |name: &'static str| kilobytes(text, name).ok_or_else(|| Malformed::new(name, text));
        Ok(Self {
            referenced: field("Referenced")?,
            resident: field("Rss")?,
            share: field("Pss")?,
            swapped: field("Swap")?,
        })
    }

    /// Of its share, what has the accessed bit: the same part as of all that is resident.
    pub(crate) fn used(&self) -> Bytes {
        self.referenced
            .scaled(self.share.get(), self.resident.get().max(1))
    }
}

/// Takes the accessed bits of a process back; `false` if it has ended.
pub(crate) fn forget(root: &Path, pid: u32) -> Result<bool, Error> {
    let path = root.join(format!("proc/{pid}/clear_refs"));
    let done = CLEAR_REFS
        .open(&path, OFlags::empty())
        .and_then(|mut file| file.write_all(b"1"));
    Ok(alive(done, &path)?.is_some())
}
