//! Idle page tracking: a bit for each frame of memory, set by us, taken back by the kernel when the page is used.

use host::Error;
use host::processes::pagemap::{FRAME, PRESENT, entries};
use host::writes::PAGE_IDLE;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kernel's bitmap is by frames, which are as large as our pages there.
const PAGE: usize = 4096;

/// The kernel's bitmap, and the frames of one process in it.
#[derive(Debug)]
pub(super) struct Idle {
    bitmap: File,
    path: PathBuf,
    /// Page and frame, by page.
    frames: Vec<(u64, u64)>,
}

impl Idle {
    /// `None` where the kernel has none, or we may not use it.
    pub(super) fn open(root: &Path) -> Option<Self> {
        if rustix::param::page_size() != PAGE {
            return None;
        }
        let path = root.join("sys/kernel/mm/page_idle/bitmap");
        let bitmap = PAGE_IDLE.open(&path, OFlags::RDWR).ok()?;
        Some(Self {
            bitmap,
            path,
            frames: Vec::new(),
        })
    }

    /// Forgets all frames.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// Adds the resident pages of a mapping, of which there are so many; `false` if we may not know where they are.
    pub(super) fn add(
        &mut self,
        map: &File,
        pages: Range<u64>,
        mut resident: u64,
    ) -> io::Result<bool> {
        let mut is_told = true;
        entries(map, pages, |page, entry| {
            if entry & PRESENT != 0 {
                is_told &= entry & FRAME != 0;
                self.frames.push((page, entry & FRAME));
                resident = resident.saturating_sub(1);
            }
            if is_told && resident > 0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(is_told)
    }

    /// Marks all of them as idle.
    pub(super) fn mark(&self) -> Result<(), Error> {
        for (word, bits) in self.words() {
            self.bitmap
                .write_all_at(&bits.to_le_bytes(), word * 8)
                .map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    /// Pages that are no longer idle, in order.
    pub(super) fn used(&self) -> Result<Vec<u64>, Error> {
        let mut idle = BTreeMap::new();
        for word in self.words().into_keys() {
            let mut bytes = [0; 8];
            self.bitmap
                .read_exact_at(&mut bytes, word * 8)
                .map_err(|error| self.error(error))?;
            idle.insert(word, u64::from_le_bytes(bytes));
        }
        let is_used = |frame: u64| {
            idle.get(&(frame / 64))
                .is_some_and(|bits| bits & (1 << (frame % 64)) == 0)
        };
        Ok(self
            .frames
            .iter()
            .filter(|(_, frame)| is_used(*frame))
            .map(|(page, _)| *page)
            .collect())
    }

    /// The bits of our frames, by word.
    fn words(&self) -> BTreeMap<u64, u64> {
        let mut words = BTreeMap::new();
        for (_, frame) in &self.frames {
            *words.entry(frame / 64).or_insert(0) |= 1 << (frame % 64);
        }
        words
    }

    fn error(&self, error: io::Error) -> Error {
        Error::unreadable(&self.path, error)
    }
}
