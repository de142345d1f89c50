//! Pressure on the clock of one process.
//!
//! Up: `1` written to `clear_refs` takes all accessed bits back, and does nothing else, so that the
//! next round of reclaim finds the pages unused. `MADV_COLD` would also move them to the end of the
//! kernel's lists, which is more than the report's clock does. The kernel holds the map lock of the
//! process for the walk, about 5 ms for each GiB resident, and its page faults wait for that.
//!
//! Down: a byte of each resident page is read through `/proc/PID/mem`, which the kernel counts as a
//! use of the page, as it counts the process's own. `MADV_WILLNEED` would bring in pages that are
//! not there and mark none that is. About a microsecond a page.

use crate::processes::start_of;
use crate::rule::Way;
use crate::tick::Push;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pages used by one press, at most: 64 MiB of 4 KiB, so some 16 ms.
const MOST_PAGES: usize = 16_384;
/// Bytes of an entry of `pagemap`, one for each page (`Documentation/admin-guide/mm/pagemap.rst`).
const ENTRY: usize = 8;
/// Bit 63 of an entry, in its highest byte: the page is in RAM.
const PRESENT: u8 = 1 << 7;
/// Entries of `pagemap` read at once: 4 KiB of them, for 2 MiB of memory.
const AT_ONCE: usize = 512;

/// Presses on a process of the machine at `root`. A process that has ended is left alone, and so is
/// another one that has got its number.
pub(crate) fn press(root: &Path, push: &Push) -> io::Result<()> {
    match pressed(root, push) {
        Err(error) if is_gone(&error) => Ok(()),
        done => done,
    }
}

fn pressed(root: &Path, push: &Push) -> io::Result<()> {
    let pid = push.process.pid;
    let directory = Directory::open(root, pid)?;
    let stat = directory.read("stat")?;
    if start_of(&stat) != Some(push.process.start) {
        return Ok(());
    }
    match push.way {
        Way::Up => {
            let mut file = directory.file("clear_refs", OFlags::WRONLY)?;
            file.write_all(b"1")
        }
        Way::Down => use_resident_pages(&directory),
    }
}

fn is_gone(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::SRCH))
}

/// The directory of a process in `/proc`. While it is open it stays that of this process, whatever
/// becomes of the number.
struct Directory(OwnedFd);

impl Directory {
    fn open(root: &Path, pid: u32) -> io::Result<Self> {
        let path = root.join(format!("proc/{pid}"));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self(opened))
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC;
        let opened = openat(&self.0, name, flags, Mode::empty())?;
        Ok(File::from(opened))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = self.file(name, OFlags::RDONLY)?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Uses at most [`MOST_PAGES`] pages that are in RAM, by address.
fn use_resident_pages(directory: &Directory) -> io::Result<()> {
    let maps = directory.read("maps")?;
    let maps = String::from_utf8_lossy(&maps);
    let pagemap = directory.file("pagemap", OFlags::RDONLY)?;
    let memory = directory.file("mem", OFlags::RDONLY)?;
    let page_size = rustix::param::page_size() as u64;
    let mut used = 0;
    for line in maps.lines() {
        let Some((from, to)) = readable(line) else {
            continue;
        };
        let first = from / page_size;
        let end = to / page_size;
        for page in resident(&pagemap, first, end)? {
            if used == MOST_PAGES {
                return Ok(());
            }
            let address = page * page_size;
            // A page of a device, or one that has just gone, cannot be read.
            if let Ok(1) = memory.read_at(&mut [0], address) {
                used += 1;
            }
        }
    }
    Ok(())
}

/// Numbers of those pages in `first..end` that are in RAM.
fn resident(pagemap: &File, first: u64, end: u64) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    let mut page = first;
    while page < end && found.len() <= MOST_PAGES {
        let mut entries = [0; ENTRY * AT_ONCE];
        let wanted = AT_ONCE.min((end - page) as usize);
        let wanted = &mut entries[..ENTRY * wanted];
        let offset = page * ENTRY as u64;
        let length = pagemap.read_at(wanted, offset)?;
        if length < ENTRY {
            break;
        }
        for entry in entries[..length].chunks_exact(ENTRY) {
            // The kernels of the lab are of x86-64: the highest byte comes last.
            if entry[ENTRY - 1] & PRESENT != 0 {
                found.push(page);
            }
            page += 1;
        }
    }
    Ok(found)
}

/// The range of a line of `maps`, if it may be read and is the process's own.
fn readable(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let may_be_read = rest.starts_with('r');
    let is_the_kernels = rest.contains("[v");
    if !may_be_read || is_the_kernels {
        return None;
    }
    let (from, to) = range.split_once('-')?;
    let from = u64::from_str_radix(from, 16).ok()?;
    let to = u64::from_str_radix(to, 16).ok()?;
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;
    use crate::processes::tests::sample;
    use units::Bytes;

    fn own_start() -> u64 {
        start_of(&std::fs::read("/proc/self/stat").unwrap()).unwrap()
    }

    fn push(way: Way, start: u64) -> Push {
        let process = Process {
            start,
            ..sample(std::process::id(), 1)
        };
        Push { way, process }
    }

    /// Memory of this process with its accessed bit set.
    fn referenced() -> Bytes {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = text
            .lines()
            .find(|line| line.starts_with("Referenced:"))
            .unwrap();
        let kib = line.split_ascii_whitespace().nth(1).unwrap();
        Bytes::kib(kib.parse().unwrap())
    }

    /// The bits that are set and taken back here are the ones that reclaim looks at.
    #[test]
    fn pages_look_unused_and_used_again() {
        let root = Path::new("/");
        let memory = vec![1_u8; 32 << 20];
        let own = own_start();
        assert!(referenced() >= Bytes::mib(32));
        press(root, &push(Way::Up, own + 1)).unwrap();
        assert!(
            referenced() >= Bytes::mib(32),
            "another process with the same number is left alone"
        );
        press(root, &push(Way::Up, own)).unwrap();
        assert!(referenced() < Bytes::mib(16), "{}", referenced());
        press(root, &push(Way::Down, own)).unwrap();
        assert!(referenced() >= Bytes::mib(28), "{}", referenced());
        assert!(memory.contains(&1));
    }

    #[test]
    fn a_process_that_has_ended_is_no_error() {
        let gone = Push {
            way: Way::Up,
            process: sample(u32::MAX, 1),
        };
        press(Path::new("/"), &gone).unwrap();
    }

    #[test]
    fn only_memory_of_the_process_itself_is_read() {
        assert_eq!(readable("7f00-7f10 r-xp 0 0 0 [vdso]"), None);
        assert_eq!(readable("7f0000-7f1000 ---p 0 0 0"), None);
        assert_eq!(
            readable("7f0000-7f1000 r--p 0 0 0 /a"),
            Some((0x7f_0000, 0x7f_1000))
        );
    }
}
