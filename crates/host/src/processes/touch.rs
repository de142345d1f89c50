//! Uses pages of another process: a byte of each is read through `/proc/PID/mem`.
//!
//! The kernel counts it as a use by the process itself, and brings in what is in swap, with its neighbours there. It changes
//! nothing that the process could see. `MADV_WILLNEED` would mark nothing that is in memory.
//!
//! Cost: about a microsecond for each page in memory, a read of the swap device for each cluster that is not.

use super::pagemap::entries;
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Uses at most `most` pages of a process, by address: those that have `bit` in their entry of `pagemap`. Returns how many.
/// `directory` is that of the process in `/proc`.
pub(crate) fn touch(directory: &OwnedFd, bit: u64, most: usize) -> io::Result<usize> {
    let mut text = Vec::new();
    open(directory, "maps", OFlags::RDONLY)?.read_to_end(&mut text)?;
    let map = open(directory, "pagemap", OFlags::RDONLY)?;
    let memory = open(directory, "mem", OFlags::RDONLY)?;
    let size = rustix::param::page_size() as u64;
    let mut used = 0;
    for (from, to) in String::from_utf8_lossy(&text).lines().filter_map(readable) {
        entries(&map, from / size..to / size, |page, entry| {
            if used == most {
                return ControlFlow::Break(());
            }
            // A page of a device, or one that has just gone, cannot be read.
            let is_used = entry & bit != 0
                && memory
                    .read_at(&mut [0], page * size)
                    .is_ok_and(|read| read == 1);
            used += usize::from(is_used);
            ControlFlow::Continue(())
        })?;
    }
    Ok(used)
}

/// Opens a file of a process's directory.
pub(crate) fn open(directory: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    Ok(File::from(openat(
        directory,
        name,
        flags | OFlags::CLOEXEC,
        Mode::empty(),
    )?))
}

/// The range of a line of `maps`, if it may be read and is the process's own.
fn readable(line: &str) -> Option<(u64, u64)> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range
        .split_once('-')
        .filter(|_| rest.starts_with('r') && !rest.contains("[v"))?;
    Some((
        u64::from_str_radix(from, 16).ok()?,
        u64::from_str_radix(to, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::pagemap::PRESENT;

    #[test]
    fn what_is_the_processes_own_can_be_read() {
        assert_eq!(readable("7f00-7f10 r-xp 0 0 0 [vdso]"), None);
        assert_eq!(readable("7f0000-7f1000 ---p 0 0 0"), None);
        assert_eq!(
            readable("7f0000-7f1000 r--p 0 0 0 /a"),
            Some((0x7f_0000, 0x7f_1000))
        );
    }

    #[test]
    fn no_more_is_used_than_asked_for() {
        let own = rustix::fs::open(
            "/proc/self",
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap();
        assert_eq!(touch(&own, PRESENT, 3).unwrap(), 3);
        assert!(touch(&own, PRESENT, usize::MAX).unwrap() > 100);
    }
}
