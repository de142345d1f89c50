//! Short-lived demand: a process that takes memory at once and ends, and one that grows.

use super::memory::{MIB, PAGE, take, touch_page};
use super::{Dice, Out, Words};
use crate::clock::{now, sleep_until};
use anyhow::Result;
use memmap2::{Advice, MmapMut};
use std::thread;
use std::time::Duration;

const HOLD: Duration = Duration::from_millis(300);
const HUGE: usize = 2 * MIB;

/// The compiler of the founding table: small pages one by one, then huge pages, a moment, the end.
pub(super) fn burst(words: &Words<'_>) -> Result<()> {
    let out = Out::new();
    let (small, huge): (usize, usize) = (words.number(0)?, words.number(1)?);
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

/// Touches one page in each step; the longest time one took, in milliseconds.
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
    let (rate, most): (f64, usize) = (words.number(0)?, words.number(1)?);
    while out.goes_on() {
        let mut memory = take(most, Advice::NoHugePage)?;
        for mib in 0..most {
            let began = now();
            (0..MIB / PAGE).for_each(|page| touch_page(&mut memory, mib * (MIB / PAGE) + page));
            out.op("ramp", began);
            out.sum("ramp_mib", 1.0);
            if !sleep_until(began + 1e3 / rate, out.window.until) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Grows as programs that leak do: by requests, now few, now many, a large one among them. The dice are thrown by the
/// clock: what a forecast is tried on must not be the same each time.
pub(super) fn leak(words: &Words<'_>) -> Result<()> {
    const STEP_MS: f64 = 250.0;
    let out = Out::new();
    let (rate, most): (u64, usize) = (words.number(0)?, words.number(1)?);
    let mut dice = Dice::seeded(now() as u64 ^ words.own());
    while out.goes_on() {
        let mut memory = take(most, Advice::NoHugePage)?;
        let (mut page, pages) = (0, memory.len() / PAGE);
        while page < pages {
            let usual = dice.below(rate / 2 + 1) * 1024 / PAGE as u64;
            let grown = if dice.below(40) == 0 {
                usual * 10
            } else {
                usual
            } as usize;
            (page..(page + grown).min(pages)).for_each(|page| touch_page(&mut memory, page));
            page += grown;
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
    fn the_longest_fault_is_told() {
        let mut memory = take(4, Advice::NoHugePage).unwrap();
        let first = touch_all(&mut memory, PAGE);
        assert!(first > 0.0);
        assert!(memory.chunks(PAGE).all(|page| page[0] == 1));
    }
}
