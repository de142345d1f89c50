//! Pressure on the clock of one process, for local replacement.
//!
//! Up: `1` into `clear_refs` takes all accessed bits back, and nothing else: the clock's next round finds its pages unused.
//! `MADV_COLD` would also move them to the end of the kernel's lists, which is more than the clock does. The kernel holds the
//! process's map lock for the walk, about 5 ms for each GiB resident, and its page faults wait so long.
//! Down: a byte of each resident page is read through `/proc/PID/mem`, which the kernel counts as a use of the page as it
//! counts the process's own. `MADV_WILLNEED` would bring in what is away and mark nothing that is there. At most [`MOST`]
//! pages, by address, about a microsecond each.
//!
//! Nothing is to be undone: the next use of a page sets its bit again.

use crate::procs::start_of;
use pressure::local::{Push, Way};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pages used by one act, at most: 64 MiB of 4 KiB.
const MOST: usize = 16_384;
const PAGE: u64 = 4096;
/// Of a page's entry in `pagemap`: it is in memory.
const PRESENT: u64 = 1 << 63;
/// Entries read at once.
const ENTRIES: u64 = 4096;

/// Presses on the process whose folder this is. One that has ended, or whose number has passed to another, is left alone.
pub(crate) fn press(folder: &Path, push: &Push) -> io::Result<()> {
    match pressed(folder, push) {
        Err(error) if is_gone(&error) => Ok(()),
        done => done,
    }
}

fn pressed(folder: &Path, push: &Push) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // An open folder stays of its process for ever.
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let mut stat = Vec::new();
    open(&folder, "stat", OFlags::RDONLY)?.read_to_end(&mut stat)?;
    if start_of(&stat) != Some(push.who.start) {
        return Ok(());
    }
    match push.way {
        Way::Up => open(&folder, "clear_refs", OFlags::WRONLY)?.write_all(b"1"),
        Way::Down => touch(&folder),
    }
}

/// Reads a byte of each resident page.
fn touch(folder: &OwnedFd) -> io::Result<()> {
    let mut text = String::new();
    open(folder, "maps", OFlags::RDONLY)?.read_to_string(&mut text)?;
    let (map, memory) = (open(folder, "pagemap", OFlags::RDONLY)?, open(folder, "mem", OFlags::RDONLY)?);
    let (mut left, mut entries) = (MOST, vec![0; ENTRIES as usize * 8]);
    for (from, to) in text.lines().filter_map(readable) {
        let mut page = from / PAGE;
        while page < to / PAGE && left > 0 {
            let wanted = (to / PAGE - page).min(ENTRIES) as usize * 8;
            let read = map.read_at(&mut entries[..wanted], page * 8)?;
            if read < 8 {
                break;
            }
            for entry in entries[..read].chunks_exact(8) {
                let entry = u64::from_le_bytes(entry.try_into().unwrap_or_default());
                if entry & PRESENT != 0 && left > 0 {
                    // A page of a device, or one that has just gone.
                    let _ = memory.read_at(&mut [0], page * PAGE);
                    left -= 1;
                }
                page += 1;
            }
        }
    }
    Ok(())
}

/// The range of a line of `maps`, if it may be read and is the process's own.
fn readable(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-').filter(|_| rest.starts_with('r') && !rest.contains("[v"))?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

fn open(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    Ok(File::from(openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())?))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracee::{Watch, Whom};
    use pressure::census::{Identity, Name};
    use units::Bytes;

    fn push(way: Way, start: u64) -> Push {
        let who = Identity { pid: std::process::id(), start };
        Push { way, who, name: Name::default(), size: Bytes::ZERO }
    }

    /// `up` and `down` are seen by the same accessed bits that reclaim looks at.
    #[test]
    fn pages_look_unused_and_used_again() {
        let memory = vec![1_u8; 32 << 20];
        let own = start_of(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        let watch = Watch::of(Path::new("/"), Whom::Process(std::process::id())).unwrap();
        let used = || watch.end().unwrap().unwrap().referenced;
        let folder = format!("/proc/{}", std::process::id());
        assert!(used() >= Bytes::mib(32));
        press(Path::new(&folder), &push(Way::Up, own + 1)).unwrap();
        assert!(used() >= Bytes::mib(32), "another process with the same number is left alone");
        press(Path::new(&folder), &push(Way::Up, own)).unwrap();
        assert!(used() < Bytes::mib(16), "{}", used());
        press(Path::new(&folder), &push(Way::Down, own)).unwrap();
        assert!(used() >= Bytes::mib(28), "{}", used());
        assert!(memory.contains(&1));
    }

    #[test]
    fn who_is_gone_is_no_trouble() {
        press(Path::new("/proc/4294967295"), &push(Way::Up, 1)).unwrap();
        assert_eq!(readable("7f00-7f10 r-xp 0 0 0 [vdso]"), None);
        assert_eq!(readable("7f0000-7f1000 r--p 0 0 0 /a"), Some((0x7f_0000, 0x7f_1000)));
    }
}
