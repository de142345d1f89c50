//! OPT: the page with the latest next use is evicted. No policy of fixed memory that loads pages on
//! demand has fewer misses.
//!
//! A page in memory is a bit at the time of its next use. A reference hits iff the bit of its own
//! time is set, and the victim is the page of the last bit.
//!
//! - Rule: evict argmax over resident p of next use(p).
//! - Cost: O(log64 n) for each reference; n/8 B, and 4 B for each reference, which all runs on a
//!   trace share.
//! - Source: Belady, IBM Systems Journal 5(2), 1966 (MIN); on demand, without bypassing.
//! - Limits: it must know the future, so it is a yardstick and no policy for a system.

use super::interface::{Access, Evictions, Policy, Setup};
use super::spec::Spec;
use crate::next_use::NEVER;
use crate::{Error, Page};
use std::sync::Arc;

pub(super) const SPEC: Spec = Spec::of::<Opt>(
    "opt",
    "the optimum: the last to be used again goes",
    "Belady, IBM Systems Journal 5(2), 1966",
);

struct Opt {
    refs: Arc<Vec<Page>>,
    next: Arc<Vec<u32>>,
    coming: Bits,
    /// Pages in memory that are never used again.
    done: Vec<Page>,
    resident: usize,
    capacity: usize,
    at: usize,
}

impl Policy for Opt {
    fn new(setup: &Setup<'_>) -> Result<Self, Error> {
        Ok(Self {
            refs: setup.trace.shared().0,
            next: setup.trace.next_uses(),
            coming: Bits::new(setup.trace.len()),
            done: Vec::new(),
            resident: 0,
            capacity: setup.capacity,
            at: 0,
        })
    }

    #[inline]
    fn access(&mut self, page: Page, _: u64, evicted: &mut impl Evictions) -> Access {
        let at = self.at;
        self.at += 1;
        let hit = self.coming.take(at);
        if !hit {
            if self.resident == self.capacity {
                let victim = self
                    .done
                    .pop()
                    .or_else(|| Some(self.refs[self.coming.take_last()?]));
                if let Some(victim) = victim {
                    evicted.note(victim);
                }
            } else {
                self.resident += 1;
            }
        }
        match self.next[at] {
            NEVER => self.done.push(page),
            next => self.coming.put(next as usize),
        }
        if hit { Access::Hit } else { Access::Miss }
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

/// A set of numbers: words of 64 bits, and above each level another that has a bit for each word
/// that is not zero.
struct Bits {
    levels: Vec<Vec<u64>>,
}

impl Bits {
    fn new(size: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = size;
        while words > 1 || levels.is_empty() {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    #[inline]
    fn put(&mut self, mut number: usize) {
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            let before = *word;
            *word |= 1 << (number % 64);
            if before != 0 {
                return;
            }
            number /= 64;
        }
    }

    /// Removes a number. Returns true if it was in the set.
    #[inline]
    fn take(&mut self, mut number: usize) -> bool {
        if self.levels[0][number / 64] & 1 << (number % 64) == 0 {
            return false;
        }
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !(1 << (number % 64));
            if *word != 0 {
                break;
            }
            number /= 64;
        }
        true
    }

    /// Removes and returns the largest number.
    #[inline]
    fn take_last(&mut self) -> Option<usize> {
        let mut number = 0;
        for level in self.levels.iter().rev() {
            let word = level[number];
            if word == 0 {
                return None;
            }
            number = number * 64 + word.ilog2() as usize;
        }
        self.take(number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn bits_are_a_set(size in 1..10_000_usize, steps in prop::collection::vec((0..3_u8, any::<prop::sample::Index>()), 0..200)) {
            let mut bits = Bits::new(size);
            let mut set = BTreeSet::new();
            for (what, index) in steps {
                let number = index.index(size);
                match what {
                    0 => { bits.put(number); set.insert(number); }
                    1 => prop_assert_eq!(bits.take(number), set.remove(&number)),
                    _ => prop_assert_eq!(bits.take_last(), set.pop_last()),
                }
            }
        }
    }
}
