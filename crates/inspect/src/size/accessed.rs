//! How much memory a target uses within a window, by accessed bits: what wss does, for all processes of a unit at once.
//!
//! - How: `clear_refs` takes the bits back, `smaps_rollup` counts those that are set since.
//! - What several processes have mapped counts once: each has its share of it (`Pss`), and the same part of that as used.
//! - Cannot see: page cache that is only read and written, memory of the kernel. A huge page is all or nothing.
//! - Disturbs: reclaim takes what is used for unused until it is used again. So it is not asked while memory is taken.
//! - Cost: two walks of the page tables, about 5 ms for each GiB resident.
//! - Source: B. Gregg, "How To Measure the Working Set Size on Linux", 2018; Documentation/filesystems/proc.rst.

use super::target::{Target, members};
use crate::tracee::rollup::{self, Rollup};
use crate::tracee::watch::alive;
use host::Error;
use std::fs;
use std::path::{Path, PathBuf};
use units::Bytes;

/// The processes of a target.
#[derive(Debug)]
pub struct Accessed {
    root: PathBuf,
    target: Target,
}

/// What was used within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Used.
    pub used: Bytes,
    /// Resident.
    pub resident: Bytes,
    /// In swap.
    pub swapped: Bytes,
    /// Processes.
    pub processes: usize,
}

impl Accessed {
    /// Reads nothing yet.
    pub fn of(root: &Path, target: &Target) -> Self {
        Self {
            root: root.to_owned(),
            target: target.clone(),
        }
    }

    /// Begins a window. Returns false if no process is left.
    ///
    /// Errors: no right to take the bits back.
    pub fn begin(&self) -> Result<bool, Error> {
        let mut any = false;
        for pid in members(&self.root, &self.target)? {
            any |= rollup::forget(&self.root, pid)?;
        }
        Ok(any)
    }

    /// Ends a window; `None` if no process is left.
    ///
    /// Errors: no right to look, or a text that is not the kernel's.
    pub fn end(&self) -> Result<Option<Window>, Error> {
        let mut sum = Window::default();
        for pid in members(&self.root, &self.target)? {
            let path = self.root.join(format!("proc/{pid}/smaps_rollup"));
            let Some(text) = alive(fs::read(&path), &path)? else {
                continue;
            };
            // A kernel thread, and a process that is about to end, have no mappings.
            if text.is_empty() {
                continue;
            }
            let rollup = Rollup::of(&text).map_err(|error| Error::malformed(&path, &error))?;
            sum.used += rollup.used();
            sum.resident += rollup.share;
            sum.swapped += rollup.swapped;
            sum.processes += 1;
        }
        Ok((sum.processes > 0).then_some(sum))
    }
}
