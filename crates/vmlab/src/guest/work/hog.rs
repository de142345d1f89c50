//! The runaway: takes memory until it is killed.

use super::code::Code;
use super::memory::{MIB, take};
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::Advice;
use std::fs;

/// Zeros compress to nothing in zram; noise does not compress at all.
pub(super) fn hog(words: &Words<'_>) -> Result<()> {
    let noise = words.text(0)? == "noise";
    let step: usize = words.number(1)?;
    grow(words, noise, step, |_| {})
}

/// The same at this pace, and for each MiB it runs through this many pages of its code, as a program does that makes something of
/// its memory.
///
/// When its code is evicted it grows as slowly as the disk reads.
pub(super) fn browse(words: &Words<'_>) -> Result<()> {
    let kib_a_second: f64 = words.number(0)?;
    let pause = 1024.0 * 1e3 / kib_a_second;
    let pages: u64 = words.number(1)?;
    let code = Code::of(words.text(2)?)?;
    let mut dice = Dice::seeded(words.own());
    grow(words, true, 1, |out| {
        for _ in 0..pages {
            code.touch(&mut dice);
        }
        sleep_until(now() + pause, out.window.until);
    })
}

/// Takes memory in steps of so many MiB, and does this after each.
fn grow(words: &Words<'_>, noise: bool, step: usize, mut after: impl FnMut(&Out)) -> Result<()> {
    let out = Out::new();
    let mut dice = Dice::seeded(words.own());
    Out::hog();
    let capacity = capacity();
    let locked_before = locked();
    let mut is_over = false;
    let mut held = Vec::new();
    while out.goes_on() {
        let mut memory = take(step, Advice::NoHugePage)?;
        if noise {
            dice.fill(&mut memory);
        } else {
            memory.fill(0);
        }
        held.push(memory);
        out.sum("hog_mib", step as f64);
        let bytes = held.len() * step * MIB;
        // What a guard has locked since then cannot be had any more.
        let left = capacity.saturating_sub(locked().saturating_sub(locked_before));
        if bytes > left && !is_over {
            is_over = true;
            Out::over();
        }
        after(&out);
    }
    Ok(())
}

/// What the kernel calls available, and free swap: all that a new program can have before others lose what they use.
fn capacity() -> usize {
    bytes("MemAvailable:") + bytes("SwapFree:")
}

/// Bytes that are locked.
fn locked() -> usize {
    bytes("Unevictable:")
}

/// A value of `/proc/meminfo`, in bytes.
fn bytes(name: &str) -> usize {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let value = memory
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_default();
    let kib: usize = value.trim_end_matches("kB").trim().parse().unwrap_or(0);
    kib * 1024
}
