//! The runaway: takes memory until it is killed.

use super::memory::{MIB, PAGE, take};
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::Advice;
use std::fs;

/// Zeros compress to nothing in zram; noise does not compress at all.
pub(super) fn hog(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let (noise, step): (bool, usize) = (words.text(0)? == "noise", words.number(1)?);
    let mut dice = Dice::seeded(words.own());
    Out::hog();
    let capacity = capacity();
    let mut over = None;
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
        if held.len() * step * MIB > capacity.saturating_sub(locked()) {
            out.op("hog_over", *over.get_or_insert_with(now));
        }
    }
    drop(held);
    // At the end of the load it waits to be ended rather than to give so much back.
    sleep_until(out.window.until + (MIB as f64), out.window.until);
    Ok(())
}

/// What can be held at most: memory and swap, less what the kernel keeps back. More than this fits nowhere.
fn capacity() -> usize {
    let zones = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    let min = |line: &str| {
        line.trim_start()
            .strip_prefix("min ")?
            .trim()
            .parse::<usize>()
            .ok()
    };
    let kept: usize = zones.lines().filter_map(min).sum();
    (bytes("MemTotal:") + bytes("SwapTotal:")).saturating_sub(kept * PAGE)
}

/// What nobody may take, as it is locked.
fn locked() -> usize {
    bytes("Unevictable:")
}

/// A line of `/proc/meminfo`.
fn bytes(name: &str) -> usize {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_default();
    line.trim_end_matches("kB")
        .trim()
        .parse::<usize>()
        .unwrap_or(0)
        * 1024
}
