//! Short-lived demand: a process that takes memory at once and ends, and one that grows.

use super::memory::{MIB, PAGE, take, touch_mib, touch_page};
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::{Advice, MmapMut};
use std::thread;
use std::time::Duration;

/// Time for which a burst keeps its memory: long enough that two of them overlap.
const HOLD: Duration = Duration::from_millis(300);
/// A huge page.
const HUGE: usize = 2 * MIB;

/// The compiler of the founding table: takes small pages one by one, then huge pages, keeps them for a moment, ends.
pub(super) fn burst(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let small: usize = words.number(0)?;
    let huge: usize = words.number(1)?;
    let began = now();
    let mut memory = take(small, Advice::NoHugePage)?;
    let worst = touch_all(&mut memory, PAGE);
    out.took("fault_worst", began, worst);
    let mut large = take(huge, Advice::HugePage)?;
    let worst = touch_all(&mut large, HUGE);
    out.took("huge_fault_worst", began, worst);
    out.op("burst", began);
    out.sum("bursts", 1.0);
    thread::sleep(HOLD);
    Ok(())
}

/// Touches one page in each step of this many bytes. Returns the longest time that one took, in milliseconds.
pub(super) fn touch_all(memory: &mut MmapMut, step: usize) -> f64 {
    let mut worst = 0.0_f64;
    for at in (0..memory.len()).step_by(step) {
        let began = now();
        touch_page(memory, at / PAGE);
        worst = worst.max(now() - began);
    }
    worst
}

/// Grows steadily to its most, holds it, gives all back, again: demand with a trend.
pub(super) fn ramp(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let rate: f64 = words.number(0)?;
    let most: usize = words.number(1)?;
    while out.goes_on() {
        let mut memory = take(most, Advice::NoHugePage)?;
        for mib in 0..most {
            let began = now();
            touch_mib(&mut memory, mib);
            out.op("ramp", began);
            out.sum("ramp_mib", 1.0);
            if !sleep_until(began + 1e3 / rate, out.window.until) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Grows as programs that leak do: by requests, sometimes few, sometimes many, with a large one among them. The seed is
/// the time: a forecast must not be tried on the same growth each time.
pub(super) fn leak(words: &Words<'_>) -> Result<()> {
    const STEP_MS: f64 = 250.0;
    let out = Out::new();
    let rate: u64 = words.number(0)?;
    let most: usize = words.number(1)?;
    let mut dice = Dice::seeded(now() as u64 ^ words.own());
    while out.goes_on() {
        let mut memory = take(most, Advice::NoHugePage)?;
        let pages = memory.len() / PAGE;
        let mut page = 0;
        while page < pages {
            let mut grown = dice.below(rate / 2 + 1) * 1024 / PAGE as u64;
            if dice.below(40) == 0 {
                grown *= 10;
            }
            let end = page + grown as usize;
            for page in page..end.min(pages) {
                touch_page(&mut memory, page);
            }
            page = end;
            if !sleep_until(now() + STEP_MS, out.window.until) {
                return Ok(());
            }
        }
        out.sum("leaks", 1.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_fault_is_returned() {
        let mut memory = take(4, Advice::NoHugePage).unwrap();
        let first = touch_all(&mut memory, PAGE);
        assert!(first > 0.0);
        assert!(memory.chunks(PAGE).all(|page| page[0] == 1));
    }
}
