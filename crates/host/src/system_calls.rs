//! System calls that the library has no safe wrapper for: the only `unsafe` code of this crate.

#![allow(unsafe_code, reason = "system calls that rustix does not have")]

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munlock, munmap};
use std::io;
use std::ops::Range;
use std::ptr::null_mut;

/// The number of `cachestat(2)`, which libc does not name; a call that is this new has one number on every architecture
/// but Alpha.
const CACHESTAT: libc::c_long = 451;

/// `process_mrelease(2)`, since 5.15: frees the memory of a process that SIGKILL was sent to.
///
/// A refusal, or a kernel without the call, changes nothing: the process frees its memory itself.
pub fn process_mrelease(process: &OwnedFd) {
    // SAFETY: the arguments are a descriptor, which the borrow keeps open for the time of the call, and flags that must
    // be 0. The call reads and writes no memory of this process.
    unsafe {
        libc::syscall(libc::SYS_process_mrelease, process.as_raw_fd(), 0);
    }
}

/// What the page cache has of a range of a file, in pages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CacheStat {
    /// In the page cache.
    pub cached: u64,
    /// Of them, changed and not written yet.
    pub dirty: u64,
    /// Of them, being written.
    pub writeback: u64,
    /// Reclaimed, so that the kernel still has a mark of them; of a tmpfs, swapped out.
    pub evicted: u64,
    /// Of those, so recently that they would be active at once if they came back now.
    pub recently_evicted: u64,
}

/// `cachestat(2)`, since 6.5, of `length` bytes of a file from `offset`; a length of 0 means to the end. Reads nothing in.
///
/// Errors: `ENOSYS` before 6.5; `EPERM` for a file of others that the caller may not write to, since 6.14 and in stable
/// kernels of early 2025 (CVE-2025-21691), and in containers that refuse unknown calls; `EOPNOTSUPP` for hugetlbfs. A
/// file of an overlay is answered with zeros, since the pages are those of the layer below.
///
/// Cost: 20 ns for each page that is there or has a mark; holes cost nothing.
pub fn cachestat(file: impl AsFd, offset: u64, length: u64) -> io::Result<CacheStat> {
    let range = [offset, length];
    let mut pages = [0_u64; 5];
    // SAFETY: the descriptor is open for the time of the call. `range` is laid out as `struct cachestat_range`, two
    // numbers, and `pages` as `struct cachestat`, five; both outlive the call. Flags must be 0.
    let code = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_fd().as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0,
        )
    };
    if code != 0 {
        return Err(io::Error::last_os_error());
    }
    let [cached, dirty, writeback, evicted, recently_evicted] = pages;
    Ok(CacheStat {
        cached,
        dirty,
        writeback,
        evicted,
        recently_evicted,
    })
}

/// Pages that `mincore` is asked about at once, each answered by a byte: a sparse file of 4 TiB has a billion of them.
const AT_ONCE: u64 = 64 << 10;

/// How many of the first `pages` pages of a file are resident, by `mincore(2)` on a mapping that nothing may access. Reads
/// nothing in.
///
/// Since 5.2 the kernel says of a file of others that the caller may not write to that all is resident: the caller of this
/// must have looked for that.
///
/// Errors: the file cannot be mapped.
pub fn resident_pages(file: impl AsFd, pages: u64) -> io::Result<u64> {
    let page = rustix::param::page_size() as u64;
    let mut answers = vec![0_u8; pages.min(AT_ONCE) as usize];
    let mut from = 0;
    let mut sum = 0;
    while from < pages {
        let count = (pages - from).min(AT_ONCE);
        let length = (count * page) as usize;
        // SAFETY: the kernel chooses the place of this new mapping, so no object of this process is in it. Nothing points
        // into it: it may not even be read, so a file that is cut short ends nothing.
        let at = unsafe {
            mmap(
                null_mut(),
                length,
                ProtFlags::empty(),
                MapFlags::SHARED,
                &file,
                from * page,
            )
        }?;
        // SAFETY: the range is the whole mapping, and `answers` has a byte for each of its pages.
        let code = unsafe { libc::mincore(at, length, answers.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: this is the whole mapping from above, which nothing uses any more.
        unsafe { munmap(at, length) }?;
        if code != 0 {
            return Err(error);
        }
        let there = answers[..count as usize].iter();
        sum += there.filter(|answer| **answer & 1 == 1).count() as u64;
        from += count;
    }
    Ok(sum)
}

/// A part of this program as it lies in memory: code or constants, mapped from its file and never written.
#[derive(Debug)]
pub(crate) struct ImagePart(Range<*const u8>);

/// The program as it lies in memory.
#[derive(Debug)]
pub(crate) struct ProgramImage {
    /// What only its start, a reload or its end needs.
    pub(crate) startup: Vec<ImagePart>,
    /// All other code and constants.
    pub(crate) lasting: Vec<ImagePart>,
}

/// The parts that `packaging/startup.ld` names; none in a program that is linked without it.
#[cfg(not(startup_apart))]
pub(crate) fn program_image() -> ProgramImage {
    ProgramImage {
        startup: Vec::new(),
        lasting: Vec::new(),
    }
}

/// The parts that `packaging/startup.ld` names.
#[cfg(startup_apart)]
pub(crate) fn program_image() -> ProgramImage {
    // SAFETY: the linker's script defines them. Only their addresses are taken.
    unsafe extern "C" {
        safe static warmset_startup_begin: u8;
        safe static warmset_startup_end: u8;
        safe static warmset_relocations_begin: u8;
        safe static warmset_relocations_end: u8;
        safe static warmset_unwinding_begin: u8;
        safe static warmset_unwinding_end: u8;
        safe static warmset_text_begin: u8;
        safe static warmset_text_end: u8;
        safe static warmset_constants_begin: u8;
        safe static warmset_constants_end: u8;
    }
    let part = |begin: &'static u8, end: &'static u8| ImagePart(&raw const *begin..&raw const *end);
    ProgramImage {
        startup: vec![
            part(&warmset_startup_begin, &warmset_startup_end),
            part(&warmset_relocations_begin, &warmset_relocations_end),
            part(&warmset_unwinding_begin, &warmset_unwinding_end),
        ],
        lasting: vec![
            part(&warmset_text_begin, &warmset_text_end),
            part(&warmset_constants_begin, &warmset_constants_end),
        ],
    }
}

/// Unlocks the whole pages of a part, and takes them out of this process's memory. At the next access the kernel reads them from
/// the file.
pub(crate) fn give_back(part: ImagePart) -> io::Result<()> {
    let page = rustix::param::page_size();
    let first = part.0.start.addr().next_multiple_of(page);
    let end = part.0.end.addr() / page * page;
    if first >= end {
        return Ok(());
    }
    let begin = part.0.start.with_addr(first).cast_mut().cast();
    let length = end - first;
    // SAFETY: the pages are the program's own, mapped privately from its file and never written, so that what is read again
    // is what was there. Nothing is unmapped.
    unsafe {
        munlock(begin, length)?;
        madvise(begin, length, Advice::LinuxDontNeed)?;
    }
    Ok(())
}

/// Reads a byte of each page of a part: from then on it is in memory.
pub(crate) fn bring_in(part: ImagePart) {
    let page = rustix::param::page_size();
    let length = part.0.end.addr() - part.0.start.addr();
    for offset in (0..length).step_by(page) {
        // SAFETY: the offset is within the part, which is mapped and readable as long as the program runs.
        let byte = unsafe { part.0.start.add(offset).read_volatile() };
        std::hint::black_box(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::mlock;

    /// `Rss` and `Locked` of the mapping that begins at an address, in KiB.
    fn resident_and_locked(at: usize) -> (usize, usize) {
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("it works here");
        let begins = format!("{at:x}-");
        let own = smaps.lines().skip_while(|line| !line.starts_with(&begins));
        let number = |name: &str| {
            let mut lines = own.clone();
            let line = lines.find(|line| line.starts_with(name)).expect("a line");
            let word = line.split_ascii_whitespace().nth(1).expect("a number");
            word.parse().expect("a number")
        };
        (number("Rss:"), number("Locked:"))
    }

    #[test]
    fn a_part_that_is_given_back_is_neither_there_nor_locked_and_reads_as_before() {
        let page = rustix::param::page_size();
        let length = 8 * page;
        let content = vec![7_u8; length];
        let mut file = tempfile::tempfile().expect("a file");
        io::Write::write_all(&mut file, &content).expect("written");
        // SAFETY: the kernel chooses the place. The file is not cut short, and the mapping stays until the test ends.
        let at = unsafe {
            mmap(
                null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                &file,
                0,
            )
        };
        let begin = at.expect("mapped").cast::<u8>().cast_const();
        let part = || ImagePart(begin..begin.wrapping_add(length));
        let whole = length / 1024;

        bring_in(part());
        assert_eq!(resident_and_locked(begin.addr()), (whole, 0));
        // SAFETY: the range is the whole mapping.
        unsafe { mlock(begin.cast_mut().cast(), length) }.expect("32 KiB may be locked");
        assert_eq!(resident_and_locked(begin.addr()), (whole, whole));

        give_back(part()).expect("given back");
        assert_eq!(resident_and_locked(begin.addr()), (0, 0));
        // SAFETY: the mapping is readable, and as long as this.
        let read = unsafe { std::slice::from_raw_parts(begin, length) };
        assert_eq!(read, content);
    }
}
