//! Squeezed cgroups: read every few seconds, and asked by the worker for a little of what they do not use.
//!
//! `memory.reclaim` sets no limit, so there is nothing to put back: what was taken and is missed, the unit reads again.

use super::directory::Directory;
use super::reclaim::{RECLAIM, take};
use super::usage::{Usage, waiting_for_memory};
use crate::parse::process::printable;
use pressure::groups::{MAX_SQUEEZED, Squeezed};
use rustix::fs::{Access, AtFlags, accessat};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Bytes, Span};

/// All squeezed cgroups.
#[derive(Debug, Default)]
pub(super) struct SqueezedCgroups {
    all: Vec<SqueezedCgroup>,
    /// What could not be squeezed, since the last call of `take_warnings`.
    warnings: Vec<String>,
}

#[derive(Debug)]
struct SqueezedCgroup {
    shared: Arc<Squeezable>,
    told: Squeezed,
}

/// A cgroup as the worker takes of it. The descriptor is of this cgroup, whatever takes its path later.
#[derive(Debug)]
pub(crate) struct Squeezable {
    directory: Directory,
    asked: AtomicU64,
    taken: AtomicU64,
}

impl SqueezedCgroups {
    /// Squeezes the cgroups that were found, and no others. One that is known stays as it is.
    pub(super) fn replace(&mut self, found: Vec<Directory>) {
        self.all
            .retain(|one| found.iter().any(|directory| directory.inode == one.told.id));
        for directory in found {
            let is_known = self.all.iter().any(|one| one.told.id == directory.inode);
            if is_known || self.all.len() >= MAX_SQUEEZED {
                continue;
            }
            let path = directory.path.clone();
            match SqueezedCgroup::open(directory) {
                Ok(one) => self.all.push(one),
                Err(lacks) => self.warn(&path, lacks),
            }
        }
    }

    /// One line for a cgroup; the same line again says nothing new.
    fn warn(&mut self, path: &Path, lacks: &str) {
        let line = format!(
            "{} is not squeezed: it has no {lacks}; memory.reclaim needs Linux 5.19, memory.pressure needs psi=1",
            path.display()
        );
        if !self.warnings.contains(&line) {
            self.warnings.push(line);
        }
    }

    /// What could not be squeezed, and why.
    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Reads all of them; one that is gone is forgotten.
    pub(super) fn read(&mut self, at: Span) {
        self.all.retain_mut(|one| one.read(at).is_some());
    }

    /// Puts their state into the sample.
    pub(super) fn tell(&self, squeezed: &mut Vec<Squeezed>) {
        squeezed.clear();
        squeezed.extend(self.all.iter().map(|one| one.told));
    }

    /// What the worker takes of.
    pub(super) fn shared(&self, id: u64) -> Option<Arc<Squeezable>> {
        let one = self.all.iter().find(|one| one.told.id == id)?;
        Some(Arc::clone(&one.shared))
    }
}

impl SqueezedCgroup {
    /// An error names the file that it lacks.
    fn open(directory: Directory) -> Result<Self, &'static str> {
        accessat(&directory.file, RECLAIM, Access::EXISTS, AtFlags::empty())
            .map_err(|_| RECLAIM)?;
        let waited = waiting_for_memory(&directory.file).ok_or("memory.pressure")?;
        let unit = directory
            .path
            .file_name()
            .map_or(&b""[..], OsStrExt::as_bytes);
        let told = Squeezed {
            id: directory.inode,
            unit: printable(unit),
            at: Span::default(),
            used: Bytes::ZERO,
            refaulted: Bytes::ZERO,
            waited,
            asked: Bytes::ZERO,
            taken: Bytes::ZERO,
        };
        let shared = Arc::new(Squeezable {
            directory,
            asked: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        });
        Ok(Self { shared, told })
    }

    /// Reads it; `None` if the cgroup is gone.
    fn read(&mut self, at: Span) -> Option<()> {
        let file = &self.shared.directory.file;
        let usage = Usage::of(file)?;
        let page_size = rustix::param::page_size() as u64;
        let told = &mut self.told;
        told.used = usage.used;
        told.refaulted = Bytes::new(usage.refaulted?.saturating_mul(page_size));
        told.waited = waiting_for_memory(file)?;
        told.asked = Bytes::new(self.shared.asked.load(Ordering::Relaxed));
        told.taken = Bytes::new(self.shared.taken.load(Ordering::Relaxed));
        told.at = at;
        Some(())
    }
}

impl Squeezable {
    /// Its path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.directory.path
    }

    /// Takes so much, and counts what was got. The caller may wait in the kernel for seconds.
    pub(crate) fn take(&self, asked: Bytes) -> io::Result<()> {
        let taken = take(&self.directory.file, asked);
        if let Ok(Some(got)) = taken {
            self.taken.fetch_add(got.get(), Ordering::Relaxed);
        }
        self.asked.fetch_add(asked.get(), Ordering::Relaxed);
        taken.map(drop)
    }
}
