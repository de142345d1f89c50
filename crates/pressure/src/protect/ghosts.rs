//! Pages to which something happened, and when: enough to recognise a page when it happens again.
//!
//! - Law: sets of four places, chosen by a hash of the page; the oldest page of a set makes way.
//! - Cost: O(1), 16 bytes a place; no allocation after the first.
//! - Limit: a page is known by 64 bits of hash, so two pages can be mistaken for each other: among a
//!   million pages, in one of 10⁷ tables.

use std::time::Duration;

/// Places in a set. More compare longer; fewer forget a recent page sooner when pages collide.
const WAYS: usize = 4;

/// A page that was evicted, or used.
#[derive(Debug, Clone, Copy, Default)]
struct Ghost {
    /// Hash of the page; zero for an empty place.
    page: u64,
    /// When it happened, in milliseconds.
    at: u64,
}

/// Such pages, a fixed number at most.
#[derive(Debug, Clone)]
pub(super) struct Ghosts {
    sets: Vec<[Ghost; WAYS]>,
}

impl Ghosts {
    /// Places for `4·2^bits` pages.
    pub(super) fn new(bits: u32) -> Self {
        Self {
            sets: vec![[Ghost::default(); WAYS]; 1 << bits],
        }
    }

    /// Remembers that it happened to `page` at `at`.
    pub(super) fn put(&mut self, page: u64, at: Duration) {
        let page = taken(page);
        let set = self.set(page);
        let known = set.iter().position(|ghost| ghost.page == page);
        let way = known.unwrap_or_else(|| oldest(set));
        set[way] = Ghost {
            page,
            at: at.as_millis() as u64,
        };
    }

    /// When it happened to `page`, if that is remembered. The page is forgotten with the answer.
    pub(super) fn take(&mut self, page: u64) -> Option<Duration> {
        let page = taken(page);
        let ghost = self.set(page).iter_mut().find(|ghost| ghost.page == page)?;
        Some(Duration::from_millis(std::mem::take(ghost).at))
    }

    fn set(&mut self, page: u64) -> &mut [Ghost; WAYS] {
        // The low bit marks a taken place, so the set is chosen by higher bits.
        let index = (page >> 16) as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }
}

/// The hash with its low bit set, so that it differs from that of an empty place.
fn taken(page: u64) -> u64 {
    page | 1
}

/// The first empty place of a set, or the oldest.
fn oldest(set: &[Ghost; WAYS]) -> usize {
    (0..WAYS)
        .min_by_key(|way| (set[*way].page != 0, set[*way].at))
        .unwrap_or(0)
}

/// Spreads a page's name over 64 bits: the finisher of SplitMix64 (Steele et al. 2014), three times.
pub(super) fn name(device: u64, inode: u64, index: u64) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = GOLDEN;
    for word in [device, inode, index] {
        hash = mix((hash ^ word).wrapping_add(GOLDEN));
    }
    hash
}

fn mix(word: u64) -> u64 {
    let mut z = word;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// With places for all, it is a map.
        #[test]
        fn it_remembers_what_left_and_when(steps in prop::collection::vec((any::<bool>(), 0..40u64), 0..400)) {
            let mut ghosts = Ghosts::new(12);
            let mut model = HashMap::new();
            for (time, (leaves, index)) in steps.into_iter().enumerate() {
                let page = name(8, 77, index);
                let at = Duration::from_millis(time as u64 + 1);
                if leaves {
                    ghosts.put(page, at);
                    model.insert(index, at);
                } else {
                    prop_assert_eq!(ghosts.take(page), model.remove(&index));
                }
            }
        }

        /// With too few places it forgets, and never says what did not happen.
        #[test]
        fn what_it_says_is_true(steps in prop::collection::vec((any::<bool>(), 0..400u64), 0..900)) {
            let mut ghosts = Ghosts::new(3);
            let mut model = HashMap::new();
            for (time, (leaves, index)) in steps.into_iter().enumerate() {
                let page = name(8, 77, index);
                let at = Duration::from_millis(time as u64 + 1);
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
    fn the_oldest_page_makes_way() {
        let mut ghosts = Ghosts::new(0);
        let pages: Vec<u64> = (0..5).map(|index| name(1, 1, index)).collect();
        for (time, page) in pages.iter().enumerate() {
            ghosts.put(*page, Duration::from_millis(time as u64 + 1));
        }
        assert_eq!(ghosts.take(pages[0]), None);
        assert!(pages[1..].iter().all(|page| ghosts.take(*page).is_some()));
    }
}
