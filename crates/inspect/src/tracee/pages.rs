//! Which pages a process uses between two looks: the accessed bits of its page tables, mapping by mapping or page by page.
//!
//! - How: where the kernel has idle page tracking, each resident page is marked idle and asked for afterwards: exact pages.
//!   Elsewhere `clear_refs` takes the bits back and `smaps` counts, for each mapping, those set since. The kernel tells how
//!   many then, not which: the first pages of the mapping stand for them.
//! - Resolution: the time between two looks, whole pages; a huge page is all or nothing.
//! - Cannot see: how often, in what order, by which thread; use by `read` and `write` that no mapping shows; pages with a
//!   translation that a CPU still holds (at most its TLB's, 1500 to 4000 small pages). `PAGEMAP_SCAN` tells of writes only,
//!   and only of the process that asks for it.
//! - Disturbs: reclaim sees fewer pages as used than there are, for as long as it looks.
//! - Cost: two walks of the page tables, about 5 ms for each GiB resident; with idle pages eight bytes and a look at all
//!   processes that map it for each page.
//! - Source: Documentation/filesystems/proc.rst and admin-guide/mm/{pagemap,idle_page_tracking}.rst of Linux.

use super::idle::Idle;
use super::maps::{Mapping, mapping};
use super::watch::{alive, kilobytes};
use host::error::{Error, Malformed};
use host::writes::CLEAR_REFS;
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const PAGE: u64 = 4096;

/// The pages of a process, looked at again and again.
#[derive(Debug)]
pub struct Pages {
    /// Its directory in `/proc`, open: a later process with the same number is another.
    directory: OwnedFd,
    path: PathBuf,
    idle: Option<Idle>,
}

/// Pages of a mapping that were used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The mapping.
    pub mapping: Mapping,
    /// Page numbers, first and how many, in order.
    pub pages: Vec<(u64, u64)>,
}

/// A mapping and how much of it is resident, and was referenced, in pages.
struct Area {
    mapping: Mapping,
    resident: u64,
    referenced: u64,
}

impl Area {
    /// By page numbers.
    fn range(&self) -> Range<u64> {
        self.mapping.from / PAGE..self.mapping.to / PAGE
    }
}

impl Pages {
    /// Of this process.
    ///
    /// Errors: there is none, or it may not be looked at.
    pub fn of(root: &Path, pid: u32) -> Result<Self, Error> {
        let path = root.join(format!("proc/{pid}"));
        let directory = openat(
            rustix::fs::CWD,
            &path,
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|error| Error::unreadable(&path, error.into()))?;
        let pages = Self {
            directory,
            path,
            idle: Idle::open(root),
        };
        CLEAR_REFS
            .open_at(&pages.directory, "clear_refs", OFlags::empty())
            .map_err(|error| Error::unreadable(&pages.path, error))?;
        Ok(pages)
    }

    /// Whether single pages are told apart.
    pub fn are_exact(&self) -> bool {
        self.idle.is_some()
    }

    /// Forgets what was used so far; `false` if the process has ended.
    pub fn begin(&mut self) -> Result<bool, Error> {
        if let Some(lives) = self.begin_exactly()? {
            return Ok(lives);
        }
        let path = self.path.join("clear_refs");
        let done = CLEAR_REFS
            .open_at(&self.directory, "clear_refs", OFlags::empty())
            .and_then(|file| File::from(file).write_all(b"1"));
        Ok(alive(done, &path)?.is_some())
    }

    /// `None` where single pages cannot be told apart, or not by us.
    fn begin_exactly(&mut self) -> Result<Option<bool>, Error> {
        if self.idle.is_none() {
            return Ok(None);
        }
        let path = self.path.join("pagemap");
        let Some(areas) = self.areas()? else {
            return Ok(Some(false));
        };
        let Some(map) = alive(self.open("pagemap"), &path)? else {
            return Ok(Some(false));
        };
        let Some(idle) = &mut self.idle else {
            return Ok(None);
        };
        idle.clear();
        for area in areas.iter().filter(|area| area.resident > 0) {
            match alive(idle.add(&map, area.range(), area.resident), &path)? {
                Some(true) => {}
                Some(false) => {
                    self.idle = None;
                    return Ok(None);
                }
                None => return Ok(Some(false)),
            }
        }
        idle.mark()?;
        Ok(Some(true))
    }

    /// What was used since the beginning, by address; `None` if the process has ended.
    pub fn end(&mut self) -> Result<Option<Vec<Touched>>, Error> {
        let Some(areas) = self.areas()? else {
            return Ok(None);
        };
        if let Some(idle) = &mut self.idle {
            let used = idle.used()?;
            let of = |area: &Area| {
                let place = |page| used.partition_point(|used| *used < page);
                used[place(area.range().start)..place(area.range().end)]
                    .iter()
                    .map(|page| (*page, 1))
                    .collect()
            };
            return Ok(Some(touched(areas, of)));
        }
        let first = |area: &Area| vec![(area.mapping.from / PAGE, area.referenced)];
        Ok(Some(touched(areas, first)))
    }

    /// The mappings; `None` if the process has ended. A process that has none of its own, as the kernel's, is none.
    fn areas(&self) -> Result<Option<Vec<Area>>, Error> {
        let mut text = Vec::new();
        let read = self
            .open("smaps")
            .and_then(|mut file| file.read_to_end(&mut text));
        if alive(read, &self.path.join("smaps"))?.is_none() || text.is_empty() {
            return Ok(None);
        }
        let malformed = |line: &[u8]| {
            Error::malformed(&self.path.join("smaps"), &Malformed::new("mapping", line))
        };
        let mut areas: Vec<Area> = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            if line
                .first()
                .is_some_and(|first| first.is_ascii_digit() || (b'a'..=b'f').contains(first))
            {
                let head =
                    mapping(&String::from_utf8_lossy(line)).ok_or_else(|| malformed(line))?;
                areas.push(Area {
                    mapping: head,
                    resident: 0,
                    referenced: 0,
                });
            } else if let Some(area) = areas.last_mut() {
                let pages = |name| kilobytes(line, name).map(|bytes| bytes.get() / PAGE);
                area.resident = pages("Rss").unwrap_or(area.resident);
                area.referenced = pages("Referenced").unwrap_or(area.referenced);
            }
        }
        Ok(Some(areas))
    }

    fn open(&self, name: &str) -> std::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(openat(&self.directory, name, flags, Mode::empty())?.into())
    }
}

fn touched(areas: Vec<Area>, pages: impl Fn(&Area) -> Vec<(u64, u64)>) -> Vec<Touched> {
    let mut touched = Vec::new();
    for area in areas {
        if area.resident == 0 {
            continue;
        }
        let mut pages = pages(&area);
        pages.retain(|(_, count)| *count > 0);
        if !pages.is_empty() {
            touched.push(Touched {
                mapping: area.mapping,
                pages,
            });
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_touched_is_told_and_what_is_not_is_not() {
        let _ours = crate::tracee::ACCESSED_BITS.lock();
        let mut memory = vec![1_u8; 64 << 20];
        let here = memory.as_ptr() as u64;
        let mut pages = Pages::of(Path::new("/"), std::process::id()).unwrap();
        let used = |pages: &mut Pages| {
            let all = pages.end().unwrap().unwrap();
            let it = all
                .iter()
                .find(|one| (one.mapping.from..one.mapping.to).contains(&(here + (32 << 20))));
            it.map_or(0, |one| one.pages.iter().map(|run| run.1).sum::<u64>())
        };
        assert!(pages.begin().unwrap());
        let idle = used(&mut pages);
        memory.iter_mut().step_by(4096).for_each(|byte| *byte += 1);
        let busy = used(&mut pages);
        assert!(
            busy >= 12_000 && idle < 4000,
            "of 16384, less what the CPU remembers: {idle} {busy}"
        );
        assert!(memory.contains(&2));
    }

    #[test]
    fn a_process_that_is_not_there_or_has_no_memory_is_told() {
        assert!(Pages::of(Path::new("/"), u32::MAX).is_err());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mut pages = Pages::of(Path::new("/"), child.id()).unwrap();
        child.wait().unwrap();
        assert!(!pages.begin().unwrap());
        assert_eq!(pages.end().unwrap(), None);
    }

    /// The files of a kernel that has idle page tracking: pages 1, 2 and 3 of a mapping, of which 2 is not resident.
    #[test]
    fn single_pages_are_told_where_the_kernel_knows_them() {
        let root = tempfile::tempdir().unwrap();
        let process = root.path().join("proc/7");
        let tracking = root.path().join("sys/kernel/mm/page_idle");
        fs::create_dir_all(&process).unwrap();
        fs::create_dir_all(&tracking).unwrap();
        fs::write(process.join("clear_refs"), "").unwrap();
        fs::write(
            process.join("smaps"),
            "1000-4000 rw-p 0 0 0\nRss:   8 kB\nReferenced:   0 kB\n",
        )
        .unwrap();
        let here = |frame: u64| (1 << 63 | frame).to_le_bytes();
        fs::write(
            process.join("pagemap"),
            [[0; 8], here(70), [0; 8], here(3)].concat(),
        )
        .unwrap();
        fs::write(tracking.join("bitmap"), [0; 32]).unwrap();
        let mut pages = Pages::of(root.path(), 7).unwrap();
        assert!(pages.are_exact() && pages.begin().unwrap());
        let marked: Vec<u8> = [1_u64 << 3, 1 << 6, 0, 0]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert_eq!(fs::read(tracking.join("bitmap")).unwrap(), marked);
        // Frame 70, the first page, is used.
        fs::write(
            tracking.join("bitmap"),
            [(1_u64 << 3).to_le_bytes(), [0; 8], [0; 8], [0; 8]].concat(),
        )
        .unwrap();
        assert_eq!(pages.end().unwrap().unwrap()[0].pages, [(1, 1)]);
        // Without the right to know where pages are, every frame is told as 0.
        fs::write(
            process.join("pagemap"),
            [[0; 8], here(0), [0; 8], here(0)].concat(),
        )
        .unwrap();
        assert!(pages.begin().unwrap() && !pages.are_exact());
        assert_eq!(fs::read_to_string(process.join("clear_refs")).unwrap(), "1");
    }
}
