//! Linux's Multi-Gen LRU: pages in up to four generations by when they were last seen used, found by walking, not by a
//! list's end.
//!
//! A page enters the youngest generation. When few generations are left, a walk moves every page used since the last
//! one to the youngest, and opens a new one. The oldest gives: a page used since the walk is moved to the youngest;
//! with `fd` uses, a page of a tier whose refaults are more frequent than those of tier 0 is moved one generation up.
//!
//! - Law: tier = log2(uses + 1); tier t is protected iff refaulted_t·(evicted_0 + 64)·2 > (refaulted_0 +
//!   1)·evicted_t·3, the kernel's controller without its integral part; the kind that gives is chosen by the same
//!   comparison, weighted by swappiness.
//! - Cost: O(1) amortised and O(memory) for each walk; 11 B for each page.
//! - Source: mm/vmscan.c of Linux 6.12: `inc_max_seq`, `try_to_inc_min_seq`, `sort_folio`, `get_type_to_scan`,
//!   `get_tier_idx`, `positive_ctrl_err`; `lru_gen_age_node` for `min_ttl`.
//! - Limits: no Bloom filters and no look-around: a walk sees every page.

use super::{Floors, Frames, Kind, Moment};
use crate::links::Links;
use crate::{NONE, Page};

const GENERATIONS: usize = 4;
const FEWEST: u32 = 2;
const TIERS: usize = 4;
/// `MIN_LRU_BATCH`.
const BATCH: f64 = 64.0;

const IN: u8 = 1;
const YOUNG: u8 = 2;
const FILE: u8 = 4;
const CHANGED: u8 = 8;

/// How it is set.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// 0 to 200.
    pub swappiness: f64,
    /// Whether uses are reads and writes of files, that set no bit: tiers tell them apart.
    pub by_descriptor: bool,
    /// A generation younger than this is not evicted: memory is out instead. In the time of [`Moment::now`]; 0 is off.
    pub min_ttl: u64,
    /// Shares that are left alone.
    pub floors: Floors,
}

/// The generations of each kind.
#[derive(Debug)]
pub struct Generations {
    /// Generation g of kind k is list 4k + g mod 4.
    lists: Links<8>,
    state: Vec<u8>,
    /// Uses since the page entered its generation, by descriptor.
    uses: Vec<u8>,
    /// Generation and tier at eviction: generation·4 + tier.
    shadow: Vec<u32>,
    youngest: u32,
    oldest: [u32; 2],
    born: [u64; GENERATIONS],
    evicted: [[f64; TIERS]; 2],
    refaulted: [[f64; TIERS]; 2],
    clean: usize,
    tuning: Tuning,
}

fn list(kind: usize, generation: u32) -> usize {
    kind * GENERATIONS + generation as usize % GENERATIONS
}

impl Generations {
    /// With no page in memory.
    pub fn new(pages: usize, tuning: Tuning) -> Self {
        Self {
            lists: Links::new(pages),
            state: vec![0; pages],
            uses: vec![0; pages],
            shadow: vec![NONE; pages],
            youngest: FEWEST,
            oldest: [0; 2],
            born: [0; GENERATIONS],
            evicted: [[0.0; TIERS]; 2],
            refaulted: [[0.0; TIERS]; 2],
            clean: 0,
            tuning,
        }
    }

    fn kind(&self, page: Page) -> usize {
        usize::from(self.state[page as usize] & FILE != 0)
    }

    fn size(&self, kind: usize) -> usize {
        (0..GENERATIONS)
            .map(|generation| self.lists.len(kind * GENERATIONS + generation))
            .sum()
    }

    /// Where a page is; lists hold no generation numbers, so it is found among the at most four.
    fn take(&mut self, page: Page, generation: u32) {
        self.lists.remove(list(self.kind(page), generation), page);
    }

    fn tier(&self, page: Page) -> usize {
        ((u32::from(self.uses[page as usize]) + 1).ilog2() as usize).min(TIERS - 1)
    }

    /// `inc_max_seq`: a walk over what is in memory.
    fn walk(&mut self, now: u64) {
        for kind in 0..2 {
            if self.youngest - self.oldest[kind] + 1 == GENERATIONS as u32 {
                self.close_oldest(kind);
            }
            for generation in self.oldest[kind]..self.youngest {
                let from = list(kind, generation);
                let used: Vec<Page> = self
                    .lists
                    .iter(from)
                    .filter(|page| self.state[*page as usize] & YOUNG != 0)
                    .collect();
                for page in used {
                    self.lists.remove(from, page);
                    self.rejuvenate(page);
                }
            }
            let newest: Vec<Page> = self.lists.iter(list(kind, self.youngest)).collect();
            newest
                .into_iter()
                .for_each(|page| self.state[page as usize] &= !YOUNG);
        }
        self.youngest += 1;
        self.born[self.youngest as usize % GENERATIONS] = now;
        let halve = |table: &mut [[f64; TIERS]; 2]| {
            table.iter_mut().flatten().for_each(|count| *count /= 2.0);
        };
        halve(&mut self.evicted);
        halve(&mut self.refaulted);
    }

    fn rejuvenate(&mut self, page: Page) {
        self.state[page as usize] &= !YOUNG;
        self.lists
            .push_front(list(self.kind(page), self.youngest), page);
    }

    /// Its pages join the next generation's end.
    fn close_oldest(&mut self, kind: usize) {
        let from = list(kind, self.oldest[kind]);
        let to = list(kind, self.oldest[kind] + 1);
        while let Some(page) = self.lists.front(from) {
            self.lists.remove(from, page);
            self.lists.push_back(to, page);
        }
        self.oldest[kind] += 1;
    }

    /// `positive_ctrl_err`: whether `other`'s refaults are few, or no more frequent than `own`'s.
    fn bears(own: (f64, f64, f64), other: (f64, f64, f64)) -> bool {
        other.0 < BATCH || other.0 * (own.1 + BATCH) * own.2 <= (own.0 + 1.0) * other.1 * other.2
    }

    fn position(&self, kind: usize, tier: usize, gain: f64) -> (f64, f64, f64) {
        (self.refaulted[kind][tier], self.evicted[kind][tier], gain)
    }

    /// `get_type_to_scan`.
    fn turn(&self, may: [bool; 2]) -> Option<usize> {
        match may {
            [false, false] => None,
            [true, false] => Some(0),
            [false, true] => Some(1),
            [true, true] => {
                let swappiness = self.tuning.swappiness;
                let anon = self.position(0, 0, swappiness);
                let file = self.position(1, 0, 200.0 - swappiness);
                Some(usize::from(Self::bears(anon, file)))
            }
        }
    }

    /// `get_tier_idx`: the highest tier that is not protected.
    fn spared_above(&self, kind: usize) -> usize {
        let base = self.position(kind, 0, 2.0);
        (1..TIERS)
            .find(|tier| !Self::bears(base, self.position(kind, *tier, 3.0)))
            .unwrap_or(TIERS)
            - 1
    }

    fn may(&self, moment: Moment) -> [bool; 2] {
        let floor = |share: f64| (share * moment.memory as f64) as usize;
        let floors = &self.tuning.floors;
        let anon = self.size(0);
        let file = self.size(1);
        let mut may = [moment.swap && anon > floor(floors.anon_min), file > 0];
        let hard = floor(floors.clean_min);
        let soft = floor(floors.clean_low);
        may[1] &= hard == 0 || self.clean > hard || file > self.clean;
        may[1] &= !(may[0] && soft > 0 && self.clean <= soft);
        [may[0], may[1]]
    }

    /// Takes a page of the oldest generation that has one.
    fn evict(&mut self, kind: usize, moment: Moment) -> Option<Page> {
        let highest = self.spared_above(kind);
        let hard = (self.tuning.floors.clean_min * moment.memory as f64) as usize;
        let spares_clean = hard > 0 && self.clean <= hard;
        for _ in 0..=3 * self.size(kind) + 2 * GENERATIONS {
            if self.oldest[kind] + FEWEST > self.youngest {
                self.walk(moment.now);
            }
            let oldest = self.oldest[kind];
            let Some(page) = self.lists.back(list(kind, oldest)) else {
                self.oldest[kind] += 1;
                continue;
            };
            let age = moment
                .now
                .saturating_sub(self.born[oldest as usize % GENERATIONS]);
            if self.tuning.min_ttl > 0 && age < self.tuning.min_ttl {
                return None;
            }
            self.take(page, oldest);
            let spared = spares_clean && Self::is_clean_file(self.state[page as usize]);
            if spared || self.state[page as usize] & YOUNG != 0 {
                self.rejuvenate(page);
            } else if self.tuning.by_descriptor && self.tier(page) > highest {
                let tier = self.tier(page);
                self.evicted[kind][tier] += 1.0;
                self.lists.push_front(list(kind, oldest + 1), page);
                self.uses[page as usize] = 0;
            } else {
                let tier = self.tier(page);
                self.evicted[kind][tier] += 1.0;
                self.shadow[page as usize] = oldest * TIERS as u32 + tier as u32;
                return Some(page);
            }
        }
        None
    }

    fn is_clean_file(state: u8) -> bool {
        state & FILE != 0 && state & CHANGED == 0
    }
}

impl Frames for Generations {
    #[inline]
    fn used(&mut self, page: Page) {
        if self.tuning.by_descriptor {
            let uses = &mut self.uses[page as usize];
            *uses = uses.saturating_add(1);
        } else {
            self.state[page as usize] |= YOUNG;
        }
    }

    fn changed(&mut self, page: Page) {
        let state = &mut self.state[page as usize];
        self.clean -= usize::from(Self::is_clean_file(*state));
        *state |= CHANGED | YOUNG;
    }

    fn enter(&mut self, page: Page, kind: Kind, _: u64) {
        let own = kind as usize;
        let shadow = std::mem::replace(&mut self.shadow[page as usize], NONE);
        if shadow != NONE && self.youngest - shadow / TIERS as u32 <= GENERATIONS as u32 {
            self.refaulted[own][shadow as usize % TIERS] += 1.0;
        }
        self.state[page as usize] = IN | if own == 1 { FILE } else { CHANGED };
        self.uses[page as usize] = 0;
        self.clean += usize::from(own == 1);
        // What a fault brings is of the youngest generation, what a read brings of the oldest.
        let generation = if self.tuning.by_descriptor && own == 1 {
            self.oldest[own]
        } else {
            self.youngest
        };
        self.lists.push_front(list(own, generation), page);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        let may = self.may(moment);
        let kind = self.turn(may)?;
        let page = self.evict(kind, moment).or_else(|| {
            if may[1 - kind] {
                self.evict(1 - kind, moment)
            } else {
                None
            }
        })?;
        self.clean -= usize::from(Self::is_clean_file(self.state[page as usize]));
        self.state[page as usize] &= CHANGED | FILE;
        Some(page)
    }

    fn leave(&mut self, page: Page) {
        self.shadow[page as usize] = NONE;
        if !self.holds(page) {
            return;
        }
        self.clean -= usize::from(Self::is_clean_file(self.state[page as usize]));
        let kind = self.kind(page);
        let home = (0..GENERATIONS as u32).find(|generation| {
            self.lists
                .iter(list(kind, *generation))
                .any(|at| at == page)
        });
        home.into_iter()
            .for_each(|generation| self.take(page, generation));
        self.state[page as usize] = 0;
    }

    #[inline]
    fn holds(&self, page: Page) -> bool {
        self.state[page as usize] & IN != 0
    }

    fn is_changed(&self, page: Page) -> bool {
        self.state[page as usize] & CHANGED != 0
    }

    fn len(&self) -> usize {
        self.size(0) + self.size(1)
    }

    fn press(&mut self, page: Page, used: bool) {
        let state = &mut self.state[page as usize];
        *state = if used {
            *state | YOUNG
        } else {
            *state & !YOUNG
        };
    }
}
