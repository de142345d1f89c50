//! The runaway: takes memory until it is killed.

use super::memory::{MIB, take};
use super::{Dice, Out, Words};
use crate::clock::sleep_until;
use anyhow::Result;
use memmap2::Advice;

/// Zeros compress to nothing in zram; noise does not compress at all.
pub(super) fn hog(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let (noise, step): (bool, usize) = (words.text(0)? == "noise", words.number(1)?);
    let mut dice = Dice::seeded(words.own());
    Out::hog();
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
    }
    drop(held);
    // At the end of the load it waits to be ended rather than to give so much back.
    sleep_until(out.window.until + (MIB as f64), out.window.until);
    Ok(())
}
