//! A file mapped to be locked: never read, so a file that is cut short cannot end the process.
//!
//! - `mlock2(MLOCK_ONFAULT)` marks a range: what comes in stays. `MADV_POPULATE_READ` (5.14) brings a range in by
//!   this mapping, and answers with an error where a touch would be a signal. A kernel without it gets `mlock`,
//!   which brings in too. `mincore` tells what is there.

#![allow(unsafe_code, reason = "mappings; each call says why it is sound")]

use rustix::fs::makedev;
use rustix::io::Errno;
use rustix::mm::{
    Advice, MapFlags, MlockFlags, ProtFlags, madvise, mlock, mlock_with, mmap, munmap,
};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::null_mut;

/// Pages that `mincore` is asked about at once, each answered by a byte: a sparse file of 4 TiB has a billion of them.
const AT_ONCE: u64 = 64 << 10;

/// A mapping of a file. Its pages are never read or written.
#[derive(Debug)]
pub(crate) struct Map {
    at: *mut c_void,
    pages: u64,
    page: usize,
}

impl Map {
    /// Maps the first `pages` pages, of which there is one at least.
    pub(crate) fn of(file: &File, pages: u64) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let length = usize::try_from(pages)
            .ok()
            .and_then(|pages| pages.checked_mul(page))
            .ok_or(Errno::OVERFLOW)?;
        // SAFETY: the kernel chooses the place of this new mapping, so no object of this process is in it.
        let at = unsafe {
            mmap(
                null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        Ok(Self { at, pages, page })
    }

    /// From now on what is in memory of these pages, or comes in by [`Map::bring_in`], stays.
    pub(crate) fn keep(&self, first: u64, count: u64) -> io::Result<()> {
        let (at, length) = self.part(first, count)?;
        // SAFETY: `part` has checked that the range is inside the mapping, and locking changes no content.
        match unsafe { mlock_with(at, length, MlockFlags::ONFAULT) } {
            // Before 4.4 there is no such call; bring_in locks then.
            Err(Errno::NOSYS | Errno::INVAL) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Brings these pages in, from the disk if need be.
    pub(crate) fn bring_in(&self, first: u64, count: u64) -> io::Result<()> {
        let (at, length) = self.part(first, count)?;
        // SAFETY: `part` has checked that the range is inside the mapping, and populating changes no content.
        match unsafe { madvise(at, length, Advice::LinuxPopulateRead) } {
            // SAFETY: as above.
            Err(Errno::INVAL) => Ok(unsafe { mlock(at, length) }?),
            done => Ok(done?),
        }
    }

    /// How many of these pages are resident.
    pub(crate) fn resident(&self, first: u64, count: u64) -> io::Result<u64> {
        let mut there = vec![0_u8; count.min(AT_ONCE) as usize];
        let end = first.saturating_add(count);
        let mut from = first;
        let mut sum = 0;
        while from < end {
            let part = (end - from).min(AT_ONCE);
            let (at, length) = self.part(from, part)?;
            // SAFETY: `part` has checked that the range is inside the mapping, and `there` has a byte for each of its pages.
            if unsafe { libc::mincore(at, length, there.as_mut_ptr()) } != 0 {
                return Err(io::Error::last_os_error());
            }
            let bytes = &there[..part as usize];
            sum += bytes.iter().filter(|byte| **byte & 1 == 1).count() as u64;
            from += part;
        }
        Ok(sum)
    }

    /// The device of its file system, which is not always the one that `stat` has.
    pub(crate) fn device(&self) -> io::Result<u64> {
        let begins = format!("{:08x}-", self.at.addr());
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let line = maps.lines().find(|line| line.starts_with(&begins));
        let device = line.and_then(|line| line.split_ascii_whitespace().nth(3)?.split_once(':'));
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device =
            device.and_then(|(major, minor)| Some(makedev(number(major)?, number(minor)?)));
        device.ok_or_else(|| io::Error::other("/proc/self/maps: a mapping is not there"))
    }

    fn part(&self, first: u64, count: u64) -> io::Result<(*mut c_void, usize)> {
        if count == 0 || first.checked_add(count).is_none_or(|end| end > self.pages) {
            return Err(Errno::INVAL.into());
        }
        // Both fit: the mapping's own length does.
        let offset = first as usize * self.page;
        let length = count as usize * self.page;
        Ok((self.at.wrapping_byte_add(offset), length))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and nothing points into it: its pages are never accessed.
        let _ = unsafe { munmap(self.at, self.pages as usize * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    impl Map {
        /// Of this mapping: other tests lock memory of this process too.
        pub(crate) fn locked_kib(&self) -> usize {
            let range = self.at as usize..self.at as usize + self.pages as usize * self.page;
            let mut is_inside = false;
            let mut locked = 0;
            for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
                let begins = line
                    .split_once('-')
                    .and_then(|(from, _)| usize::from_str_radix(from, 16).ok());
                is_inside = begins.map_or(is_inside, |from| range.contains(&from));
                let kib = line.strip_prefix("Locked:").filter(|_| is_inside);
                locked += kib.map_or(0, |kib| kib.trim().trim_end_matches(" kB").parse().unwrap());
            }
            locked
        }

        /// Takes its pages from it, as the kernel does when it splits what it cannot move.
        pub(crate) fn split(&self) {
            let (at, length) = self.part(0, self.pages).unwrap();
            // SAFETY: nothing reads the pages, and the file has them.
            unsafe { madvise(at, length, Advice::LinuxDontneedLocked) }.unwrap();
        }
    }

    #[test]
    fn a_large_sparse_file_is_counted_in_parts() {
        let mut file = tempfile::tempfile().unwrap();
        let pages = 3 * AT_ONCE + 5;
        file.set_len(pages * 4096).unwrap();
        file.write_all(&[7; 8192]).unwrap();
        let map = Map::of(&file, pages).unwrap();
        assert_eq!(map.resident(0, pages).unwrap(), 2);
        assert_eq!(map.resident(1, pages - 1).unwrap(), 1);
        assert!(map.resident(1, pages).is_err());
    }

    #[test]
    fn pages_are_locked_counted_and_let_go_and_a_short_file_ends_nothing() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let map = Map::of(&file, 256).unwrap();
        assert_eq!(map.locked_kib(), 0);
        map.keep(0, 128).unwrap();
        map.bring_in(0, 128).unwrap();
        assert_eq!(map.resident(0, 256).unwrap(), 256);
        assert_eq!(map.locked_kib(), 512);
        assert!(map.keep(200, 57).is_err() && map.bring_in(0, 0).is_err());
        file.set_len(100 << 10).unwrap();
        assert!(
            map.bring_in(0, 64).is_err(),
            "an error where a touch would be SIGBUS"
        );
    }
}
