//! Linux's active and inactive lists, for anonymous and file pages, with refault distance.
//!
//! A page enters the inactive list. At the end of that list a page used once since is kept and
//! marked, and a page used again becomes active. A page that was not used is evicted, and the
//! number of its eviction is remembered. A page that refaults soon becomes active at once. While
//! the active list is too large for the inactive one, it gives pages back.
//!
//! - Rule: a refaulting page becomes active iff R ≤ the pages that it competes with. R is the
//!   number of evictions and activations since it was evicted.
//! - Cost: O(1) for each reference, amortised; 13 B for each page.
//! - Source: mm/vmscan.c and mm/workingset.c of Linux 6.12: `folio_check_references`,
//!   `inactive_is_low`, `workingset_test_recent`, and `get_scan_count`, which weighs anonymous and
//!   file pages by the cost of their refaults.
//! - Limits: pages are evicted one by one, not in batches of 32. Every page counts as mapped.
//!   Executable pages are treated as others.

use super::floors::{Floors, Learnt};
use super::reclaim::{Frames, Kind, Moment};
use crate::links::Links;
use crate::{NONE, Page};

const IN: u8 = 1;
const YOUNG: u8 = 2;
const REFERENCED: u8 = 4;
const ACTIVE: u8 = 8;
const FILE: u8 = 16;
const CHANGED: u8 = 32;

const INACTIVE: u8 = 0;
/// The most pages that one eviction turns inactive: the kernel's `SWAP_CLUSTER_MAX`.
const SCAN: usize = 32;

/// The lists: inactive and active, of each kind.
#[derive(Debug)]
pub struct ActiveInactive {
    lists: Links<4>,
    state: Vec<u8>,
    /// The number of the eviction at which each page left.
    shadow: Vec<u32>,
    /// Evictions and activations so far: the clock of refault distances.
    age: u32,
    /// What the refaults of each kind have cost.
    cost: [f64; 2],
    /// How much each kind has yet to give, by [`Self::choose_kind`].
    credit: [f64; 2],
    swappiness: f64,
    /// The most active pages for each inactive one; 0 is by the size of memory, as in the kernel.
    ratio: usize,
    /// Clean file pages in memory.
    clean: usize,
    floors: Floors,
    learnt: Learnt,
    memory: usize,
}

fn list(kind: usize, active: u8) -> usize {
    kind * 2 + usize::from(active != 0)
}

impl ActiveInactive {
    /// With no page in memory; `swappiness` of 0 to 200.
    pub fn new(pages: usize, swappiness: f64, ratio: usize, floors: Floors) -> Self {
        Self {
            lists: Links::new(pages),
            state: vec![0; pages],
            shadow: vec![NONE; pages],
            age: 0,
            cost: [0.0; 2],
            credit: [0.0; 2],
            swappiness,
            ratio,
            clean: 0,
            floors,
            learnt: Learnt::default(),
            memory: pages,
        }
    }

    fn kind(&self, page: Page) -> usize {
        usize::from(self.state[page as usize] & FILE != 0)
    }

    fn size(&self, kind: usize) -> usize {
        let inactive = self.lists.len(list(kind, INACTIVE));
        let active = self.lists.len(list(kind, ACTIVE));
        inactive + active
    }

    fn put(&mut self, page: Page, active: u8) {
        let state = &mut self.state[page as usize];
        *state = *state & !ACTIVE | active;
        self.lists.push_front(list(self.kind(page), active), page);
    }

    fn take(&mut self, page: Page) {
        let at = list(self.kind(page), self.state[page as usize] & ACTIVE);
        self.lists.remove(at, page);
    }

    fn is_clean_file(state: u8) -> bool {
        state & FILE != 0 && state & CHANGED == 0
    }

    /// `inactive_is_low`: returns true if there are too few inactive pages for the active ones.
    fn inactive_is_low(&self, kind: usize) -> bool {
        let inactive = self.lists.len(list(kind, INACTIVE));
        let active = self.lists.len(list(kind, ACTIVE));
        if self.ratio != 0 {
            return inactive * self.ratio < active;
        }
        // 2^18 pages of 4 KiB are one GiB.
        let gib = (inactive + active) >> 18;
        let ratio = if gib == 0 { 1 } else { (10 * gib).isqrt() };
        inactive * ratio < active
    }

    /// `shrink_active_list`: turns active pages inactive while there are too few of those.
    fn deactivate(&mut self, kind: usize) {
        for _ in 0..SCAN {
            if !self.inactive_is_low(kind) {
                return;
            }
            let Some(page) = self.lists.pop_back(list(kind, ACTIVE)) else {
                return;
            };
            self.state[page as usize] &= !(YOUNG | REFERENCED);
            self.put(page, INACTIVE);
        }
    }

    /// `get_scan_count`: the kind that gives the next page, by swappiness and the cost of refaults.
    fn choose_kind(&mut self, may: [bool; 2]) -> Option<usize> {
        match may {
            [false, false] => None,
            [true, false] => Some(0),
            [false, true] => Some(1),
            [true, true] => {
                self.credit[0] += self.weight(self.cost[0], self.swappiness);
                self.credit[1] += self.weight(self.cost[1], 200.0 - self.swappiness);
                let kind = usize::from(self.credit[1] >= self.credit[0]);
                let least = self.credit[0].min(self.credit[1]);
                self.credit[0] -= least;
                self.credit[1] -= least;
                self.credit[kind] = 0.0;
                Some(kind)
            }
        }
    }

    /// The weight of a kind: its share by swappiness, and less the more its refaults have cost.
    fn weight(&self, own: f64, share: f64) -> f64 {
        let all = self.cost[0] + self.cost[1];
        share * (2.0 * all + 1.0) / (all + own + 1.0)
    }

    /// Which kinds may give a page.
    fn may(&self, moment: Moment) -> [bool; 2] {
        let memory = moment.memory as f64;
        let anon = self.size(0);
        let file = self.size(1);
        let clean_min = (self.floors.clean_min * memory) as usize;
        let mut may_anon = false;
        if moment.swap && anon > 0 {
            may_anon = anon > (self.floors.anon_min * memory) as usize;
        }
        // At its floor a clean page stays; a changed one can be written and evicted.
        let mut may_file = file > 0;
        may_file &= clean_min == 0 || self.clean > clean_min || file > self.clean;
        if may_anon {
            let clean_low = (self.floors.clean_low * memory) as usize;
            let is_below_low = clean_low > 0 && self.clean <= clean_low;
            if is_below_low || self.learnt.protects(self.clean) {
                may_file = false;
            }
        }
        [may_anon, may_file]
    }

    /// Returns true if clean file pages are at their floor.
    fn protects_clean(&self, moment: Moment) -> bool {
        let clean_min = (self.floors.clean_min * moment.memory as f64) as usize;
        clean_min > 0 && self.clean <= clean_min
    }

    /// `shrink_inactive_list`, for one page.
    fn scan(&mut self, kind: usize, protects_clean: bool) -> Option<Page> {
        // Two rounds: in the first every page may be found used.
        for _ in 0..=2 * self.size(kind) {
            if self.lists.is_empty(list(kind, INACTIVE)) {
                let page = self.lists.pop_back(list(kind, ACTIVE))?;
                self.state[page as usize] &= !(YOUNG | REFERENCED);
                self.put(page, INACTIVE);
            }
            let page = self.lists.pop_back(list(kind, INACTIVE))?;
            let state = self.state[page as usize];
            if protects_clean && Self::is_clean_file(state) {
                self.put(page, INACTIVE);
                continue;
            }
            if state & YOUNG == 0 {
                return Some(page);
            }
            self.state[page as usize] = (state | REFERENCED) & !YOUNG;
            if state & REFERENCED == 0 {
                self.put(page, INACTIVE);
            } else {
                self.put(page, ACTIVE);
                self.age = self.age.wrapping_add(1);
            }
        }
        None
    }

    fn lost(&mut self, page: Page) {
        let state = std::mem::take(&mut self.state[page as usize]);
        self.state[page as usize] = state & (CHANGED | FILE);
        self.clean -= usize::from(Self::is_clean_file(state));
    }
}

impl Frames for ActiveInactive {
    #[inline]
    fn used(&mut self, page: Page) {
        self.state[page as usize] |= YOUNG;
    }

    fn changed(&mut self, page: Page) {
        let state = &mut self.state[page as usize];
        self.clean -= usize::from(Self::is_clean_file(*state));
        *state |= YOUNG | CHANGED;
    }

    fn enter(&mut self, page: Page, kind: Kind, _: u64) {
        let own = kind as usize;
        let shadow = std::mem::replace(&mut self.shadow[page as usize], NONE);
        let mut active = INACTIVE;
        if shadow != NONE {
            let distance = self.age.wrapping_sub(shadow) as usize;
            self.cost[own] += 1.0;
            if self.cost[0] + self.cost[1] > (self.lists.len(0) + self.memory / 4) as f64 {
                self.cost[0] /= 2.0;
                self.cost[1] /= 2.0;
            }
            // workingset_test_recent: the pages that compete with it.
            let other = if own == 1 { self.size(0) } else { self.size(1) };
            if distance <= self.lists.len(list(own, ACTIVE)) + other {
                active = ACTIVE;
                self.age = self.age.wrapping_add(1);
            }
            if own == 1 {
                self.learnt.refaulted(&self.floors, distance, self.memory);
            }
        }
        self.state[page as usize] = IN | YOUNG | if own == 1 { FILE } else { CHANGED };
        self.clean += usize::from(own == 1);
        self.put(page, active);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        self.memory = moment.memory;
        let may = self.may(moment);
        let kind = self.choose_kind(may)?;
        self.deactivate(kind);
        let protects_clean = self.protects_clean(moment);
        let mut page = self.scan(kind, protects_clean);
        let other = 1 - kind;
        if page.is_none() && may[other] {
            page = self.scan(other, protects_clean);
        }
        let page = page?;
        self.shadow[page as usize] = self.age;
        self.age = self.age.wrapping_add(1);
        self.lost(page);
        self.learnt.evicted(moment.memory);
        Some(page)
    }

    fn leave(&mut self, page: Page) {
        if self.holds(page) {
            self.take(page);
            self.lost(page);
            self.state[page as usize] = 0;
        }
        self.shadow[page as usize] = NONE;
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
