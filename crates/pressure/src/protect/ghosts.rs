//! Pages to which something happened, and when: what is needed to know one again when it happens once more.
//!
//! - Law: a set of four places by the hash of a page; the page of longest ago makes room.
//! - Cost: O(1), 16 bytes a place; no allocation after the first.
//! - Limit: a page is known by 64 bits of hash; two of a million are mistaken for each other once in 10⁷ tables.

use std::time::Duration;

const WAYS: usize = 4;

/// A page that was evicted, or used.
#[derive(Debug, Clone, Copy, Default)]
struct Ghost {
    /// Zero for an empty place.
    page: u64,
    /// Milliseconds.
    at: u64,
}

/// Such pages, a fixed number at most.
#[derive(Debug, Clone)]
pub(super) struct Ghosts {
    sets: Vec<[Ghost; WAYS]>,
}

impl Ghosts {
    /// Room for `4·2^bits` pages.
    pub(super) fn new(bits: u32) -> Self {
        Self {
            sets: vec![[Ghost::default(); WAYS]; 1 << bits],
        }
    }

    /// Remembers that it happened to `page` at `at`.
    pub(super) fn put(&mut self, page: u64, at: Duration) {
        let (page, at) = (page | 1, at.as_millis() as u64);
        let set = self.set(page);
        let old = set.iter().position(|ghost| ghost.page == page);
        let place = old.unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|way| (set[*way].page != 0, set[*way].at));
            oldest.unwrap_or(0)
        });
        set[place] = Ghost { page, at };
    }

    /// When it happened to `page`, if that is remembered; it is forgotten with the answer.
    pub(super) fn take(&mut self, page: u64) -> Option<Duration> {
        let page = page | 1;
        let ghost = self.set(page).iter_mut().find(|ghost| ghost.page == page)?;
        Some(Duration::from_millis(std::mem::take(ghost).at))
    }

    fn set(&mut self, page: u64) -> &mut [Ghost; WAYS] {
        // The low bit says that the place is taken, so the set is by the high ones.
        let index = (page >> 16) as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }
}

/// Spreads a page's name over 64 bits (the finisher of SplitMix64, Steele et al. 2014, thrice).
pub(super) fn name(device: u64, inode: u64, index: u64) -> u64 {
    [device, inode, index]
        .into_iter()
        .fold(0x9e37_79b9_7f4a_7c15, |hash, word| {
            let z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// With room for all, it is a map.
        #[test]
        fn it_remembers_what_left_and_when(steps in prop::collection::vec((any::<bool>(), 0..40u64), 0..400)) {
            let mut ghosts = Ghosts::new(12);
            let mut model = HashMap::new();
            for (time, (leaves, index)) in steps.into_iter().enumerate() {
                let (page, at) = (name(8, 77, index), Duration::from_millis(time as u64 + 1));
                if leaves {
                    ghosts.put(page, at);
                    model.insert(index, at);
                } else {
                    prop_assert_eq!(ghosts.take(page), model.remove(&index));
                }
            }
        }

        /// Without room, it forgets, and never says what did not happen.
        #[test]
        fn what_it_says_is_true(steps in prop::collection::vec((any::<bool>(), 0..400u64), 0..900)) {
            let mut ghosts = Ghosts::new(3);
            let mut model = HashMap::new();
            for (time, (leaves, index)) in steps.into_iter().enumerate() {
                let (page, at) = (name(8, 77, index), Duration::from_millis(time as u64 + 1));
                if leaves {
                    ghosts.put(page, at);
                    model.insert(index, at);
                } else if let Some(said) = ghosts.take(page) {
                    prop_assert_eq!(Some(said), model.remove(&index));
                }
            }
        }
    }

    #[test]
    fn the_page_longest_gone_makes_room() {
        let mut ghosts = Ghosts::new(0);
        let pages: Vec<u64> = (0..5).map(|index| name(1, 1, index)).collect();
        for (time, page) in pages.iter().enumerate() {
            ghosts.put(*page, Duration::from_millis(time as u64 + 1));
        }
        assert_eq!(ghosts.take(pages[0]), None);
        assert!(pages[1..].iter().all(|page| ghosts.take(*page).is_some()));
    }
}
