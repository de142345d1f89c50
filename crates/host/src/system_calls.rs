//! System calls that the library has no safe wrapper for: the only `unsafe` code of this crate.

#![allow(unsafe_code, reason = "system calls that rustix does not have")]

use rustix::fd::{AsRawFd, OwnedFd};

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

/// `cachestat(2)`, since 6.5, of `length` bytes of a file from `offset`; a length of 0 means to the end.
///
/// Returns the number of pages that were evicted so recently that they would be active if they came back now; `None`
/// where the kernel does not say.
pub fn recently_evicted(file: &OwnedFd, offset: u64, length: u64) -> Option<u64> {
    let range = [offset, length];
    // In cache, dirty, under writeback, evicted, recently evicted.
    let mut pages = [0_u64; 5];
    // SAFETY: the descriptor is open for the time of the call. `range` is laid out as `struct cachestat_range`, two
    // numbers, and `pages` as `struct cachestat`, five; both outlive the call. Flags must be 0.
    let code = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0,
        )
    };
    (code == 0).then_some(pages[4])
}
