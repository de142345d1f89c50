//! The marks from where to where a machine is recorded: no-operations with a number that `qemu/machine.c` looks for.

#![allow(unsafe_code)]

use anyhow::Result;

/// Executes the mark of this name: `begin` or `end`.
pub(crate) fn named(name: &str) -> Result<()> {
    match name {
        "begin" => begin(),
        "end" => end(),
        _ => anyhow::bail!("there is no mark '{name}': begin or end"),
    }
    Ok(())
}

/// From here on the machine is recorded, if it is to be.
pub(crate) fn begin() {
    // SAFETY: the instruction is a no-operation, `nopl MARK(%rax,%rax)`. It is aligned, so that it is on one page.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            ".p2align 3",
            ".byte 0x0f, 0x1f, 0x84, 0x00, 0x55, 0x53, 0x45, 0x42",
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// The recording is whole.
pub(crate) fn end() {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            ".p2align 3",
            ".byte 0x0f, 0x1f, 0x84, 0x00, 0x55, 0x53, 0x45, 0x45",
            options(nomem, nostack, preserves_flags)
        );
    }
}
