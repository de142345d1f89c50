//! Very many processes that do nothing.

#![allow(unsafe_code)]

use super::Words;
use anyhow::Result;
use std::io;

/// So many processes beside its own, each of which waits until it is ended.
pub(super) fn crowd(words: &Words<'_>) -> Result<()> {
    for _ in 0..words.number::<u32>(0)? {
        // SAFETY: this process has one thread, and its child calls nothing but `pause`.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error().into()),
            0 => wait(),
            _ => {}
        }
    }
    wait()
}

/// For ever: no signal is handled, so whichever comes ends the process.
fn wait() -> ! {
    loop {
        // SAFETY: it takes nothing and touches no memory.
        unsafe { libc::pause() };
    }
}
