//! Very many processes that do nothing.

#![allow(unsafe_code)]

use super::Words;
use anyhow::Result;
use std::io;

/// Starts this many processes, each of which waits until it is killed.
pub(super) fn crowd(words: &Words<'_>) -> Result<()> {
    for _ in 0..words.number::<u32>(0)? {
        // SAFETY: after fork a child may only call async-signal-safe functions. It calls only `pause`, and this process has
        // one thread, so no lock is held.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error().into()),
            0 => wait(),
            _ => {}
        }
    }
    wait()
}

/// Never returns: this process handles no signal, so the first one ends it.
fn wait() -> ! {
    loop {
        // SAFETY: `pause` takes no argument and touches no memory.
        unsafe { libc::pause() };
    }
}
