//! Linux's Multi-Gen LRU: pages in up to four generations by when they were last seen used. Walks
//! find the used pages, not the end of a list.
//!
//! A page enters the youngest generation. When few generations are left, a walk moves every page
//! used since the last walk to the youngest, and opens a new one. The oldest generation is evicted,
//! but a page used since the walk is moved to the youngest. With `fd` uses, a page is moved one
//! generation up if its tier refaults more often than tier 0.
//!
//! - Rule: tier = log2(uses + 1). Tier t is protected iff refaulted_t·(evicted_0 + 64)·2 >
//!   (refaulted_0 + 1)·evicted_t·3, the kernel's controller without its integral part. The same
//!   comparison, weighted by swappiness, chooses the kind to evict.
//! - Cost: O(1) for each reference, amortised, and O(memory) for each walk; 14 B for each page.
//! - Source: mm/vmscan.c of Linux 6.12: `inc_max_seq`, `try_to_inc_min_seq`, `sort_folio`,
//!   `get_type_to_scan`, `get_tier_idx`, `positive_ctrl_err`; `lru_gen_age_node` for `min_ttl`.
//! - Limits: there are no Bloom filters and no look-around: a walk sees every page.

use super::floors::Floors;
use super::reclaim::{Frames, Kind, Moment};
use crate::links::Links;
use crate::{NONE, Page};

/// `MAX_NR_GENS`.
const GENERATIONS: usize = 4;
/// `MIN_NR_GENS`.
const FEWEST: u32 = 2;
/// `MAX_NR_TIERS`.
const TIERS: usize = 4;
/// `MIN_LRU_BATCH`: refaults fewer than this prove nothing.
const BATCH: f64 = 64.0;

const IN: u8 = 1;
const YOUNG: u8 = 2;
const FILE: u8 = 4;
const CHANGED: u8 = 8;

/// The settings of Multi-Gen LRU.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// 0 to 200: above 100 prefers to evict anonymous pages.
    pub swappiness: f64,
    /// Whether uses are reads and writes of files. They set no bit; tiers count them.
    pub by_descriptor: bool,
    /// A generation younger than this is not evicted; memory is out instead. In the time of
    /// [`Moment::now`]; 0 is off.
    pub min_ttl: u64,
    /// Shares of memory that are left alone.
    pub floors: Floors,
}

/// The counts that the controller compares, of a kind or a tier.
#[derive(Clone, Copy)]
struct Position {
    refaulted: f64,
    evicted: f64,
    gain: f64,
}

/// The generations of each kind.
#[derive(Debug)]
pub struct Generations {
    /// Generation g of kind k is the list 4k + g mod 4.
    lists: Links<8>,
    state: Vec<u8>,
    /// Uses since the page entered its generation, by descriptor.
    uses: Vec<u8>,
    /// Generation and tier at eviction: generation·4 + tier.
    shadow: Vec<u32>,
    youngest: u32,
    oldest: [u32; 2],
    /// When each generation was opened.
    born: [u64; GENERATIONS],
    evicted: [[f64; TIERS]; 2],
    refaulted: [[f64; TIERS]; 2],
    /// Clean file pages in memory.
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
        let mut size = 0;
        for generation in 0..GENERATIONS {
            size += self.lists.len(kind * GENERATIONS + generation);
        }
        size
    }

    /// Takes a page out of its generation.
    fn take(&mut self, page: Page, generation: u32) {
        self.lists.remove(list(self.kind(page), generation), page);
    }

    fn tier(&self, page: Page) -> usize {
        let uses = u32::from(self.uses[page as usize]);
        let tier = (uses + 1).ilog2() as usize;
        tier.min(TIERS - 1)
    }

    /// `inc_max_seq`: walks over the pages in memory, and opens a new generation.
    fn walk(&mut self, now: u64) {
        for kind in 0..2 {
            if self.youngest - self.oldest[kind] + 1 == GENERATIONS as u32 {
                self.close_oldest(kind);
            }
            for generation in self.oldest[kind]..self.youngest {
                let from = list(kind, generation);
                let pages = self.lists.iter(from);
                let used: Vec<Page> = pages.filter(|page| self.is_young(*page)).collect();
                for page in used {
                    self.lists.remove(from, page);
                    self.rejuvenate(page);
                }
            }
            let newest: Vec<Page> = self.lists.iter(list(kind, self.youngest)).collect();
            for page in newest {
                self.state[page as usize] &= !YOUNG;
            }
        }
        self.youngest += 1;
        self.born[self.youngest as usize % GENERATIONS] = now;
        for table in [&mut self.evicted, &mut self.refaulted] {
            for count in table.iter_mut().flatten() {
                *count /= 2.0;
            }
        }
    }

    fn is_young(&self, page: Page) -> bool {
        self.state[page as usize] & YOUNG != 0
    }

    fn rejuvenate(&mut self, page: Page) {
        self.state[page as usize] &= !YOUNG;
        let to = list(self.kind(page), self.youngest);
        self.lists.push_front(to, page);
    }

    /// Moves the oldest generation's pages to the end of the next.
    fn close_oldest(&mut self, kind: usize) {
        let from = list(kind, self.oldest[kind]);
        let to = list(kind, self.oldest[kind] + 1);
        while let Some(page) = self.lists.front(from) {
            self.lists.remove(from, page);
            self.lists.push_back(to, page);
        }
        self.oldest[kind] += 1;
    }

    /// `positive_ctrl_err`: returns true if the refaults of `other` are few, or no more frequent
    /// than those of `own`.
    fn bears(own: Position, other: Position) -> bool {
        if other.refaulted < BATCH {
            return true;
        }
        let other_rate = other.refaulted * (own.evicted + BATCH) * own.gain;
        let own_rate = (own.refaulted + 1.0) * other.evicted * other.gain;
        other_rate <= own_rate
    }

    fn position(&self, kind: usize, tier: usize, gain: f64) -> Position {
        Position {
            refaulted: self.refaulted[kind][tier],
            evicted: self.evicted[kind][tier],
            gain,
        }
    }

    /// `get_type_to_scan`: the kind that gives the next page.
    fn choose_kind(&self, may: [bool; 2]) -> Option<usize> {
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
    fn highest_unprotected(&self, kind: usize) -> usize {
        let base = self.position(kind, 0, 2.0);
        for tier in 1..TIERS {
            if !Self::bears(base, self.position(kind, tier, 3.0)) {
                return tier - 1;
            }
        }
        TIERS - 1
    }

    fn may(&self, moment: Moment) -> [bool; 2] {
        let floor = |share: f64| (share * moment.memory as f64) as usize;
        let floors = &self.tuning.floors;
        let anon = self.size(0);
        let file = self.size(1);
        let clean_min = floor(floors.clean_min);
        let clean_low = floor(floors.clean_low);
        let may_anon = moment.swap && anon > floor(floors.anon_min);
        let mut may_file = file > 0;
        may_file &= clean_min == 0 || self.clean > clean_min || file > self.clean;
        if may_anon && clean_low > 0 && self.clean <= clean_low {
            may_file = false;
        }
        [may_anon, may_file]
    }

    /// Takes a page of the oldest generation that has one.
    fn evict(&mut self, kind: usize, moment: Moment) -> Option<Page> {
        let highest = self.highest_unprotected(kind);
        let clean_min = (self.tuning.floors.clean_min * moment.memory as f64) as usize;
        let protects_clean = clean_min > 0 && self.clean <= clean_min;
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
            let is_protected = protects_clean && Self::is_clean_file(self.state[page as usize]);
            if is_protected || self.is_young(page) {
                self.rejuvenate(page);
                continue;
            }
            let tier = self.tier(page);
            if self.tuning.by_descriptor && tier > highest {
                self.evicted[kind][tier] += 1.0;
                self.lists.push_front(list(kind, oldest + 1), page);
                self.uses[page as usize] = 0;
            } else {
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
        // A page that a fault loads is of the youngest generation, one that a read loads of the
        // oldest.
        let generation = if self.tuning.by_descriptor && own == 1 {
            self.oldest[own]
        } else {
            self.youngest
        };
        self.lists.push_front(list(own, generation), page);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        let may = self.may(moment);
        let kind = self.choose_kind(may)?;
        let mut page = self.evict(kind, moment);
        let other = 1 - kind;
        if page.is_none() && may[other] {
            page = self.evict(other, moment);
        }
        let page = page?;
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
        // No page knows its generation: it is looked for in the at most four lists.
        for generation in 0..GENERATIONS as u32 {
            let is_there = self.lists.iter(list(kind, generation)).any(|at| at == page);
            if is_there {
                self.take(page, generation);
                break;
            }
        }
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
        if used {
            *state |= YOUNG;
        } else {
            *state &= !YOUNG;
        }
    }
}
