//! The runaway: takes memory until it is killed.

use super::memory::{MIB, PAGE, take};
use super::{Dice, Out, Words};
use crate::clock::now;
use anyhow::Result;
use memmap2::Advice;
use std::fs;

/// Zeros compress to nothing in zram; noise does not compress at all.
pub(super) fn hog(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let noise = words.text(0)? == "noise";
    let step: usize = words.number(1)?;
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
        let bytes = held.len() * step * MIB;
        if bytes > capacity.saturating_sub(locked()) {
            // The last such line has the time from when it could not fit to when it was killed.
            let since = *over.get_or_insert_with(now);
            out.op("hog_over", since);
        }
    }
    Ok(())
}

/// Most bytes that can be held: memory and swap, less the min watermarks, which the kernel reserves.
fn capacity() -> usize {
    let zones = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
    let reserved: usize = zones.lines().filter_map(min_watermark).sum();
    let all = bytes("MemTotal:") + bytes("SwapTotal:");
    all.saturating_sub(reserved * PAGE)
}

/// Pages of a line of `/proc/zoneinfo` with a zone's min watermark.
fn min_watermark(line: &str) -> Option<usize> {
    let rest = line.trim_start().strip_prefix("min ")?;
    rest.trim().parse().ok()
}

/// Bytes that are locked, so that the hog can never have them.
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
