//! Linux's active and inactive lists, for anonymous and file pages, with refault distance.
//!
//! A page enters the inactive list. At that list's end, a page used once since is kept and marked, one used again
//! becomes active; one not used leaves, and its eviction is numbered. A page that returns within fewer evictions than
//! the other pages that stand in its way becomes active at once. The active list gives pages back while it is too large
//! for the inactive one.
//!
//! - Law: active on return iff R ≤ pages that compete with it, R = evictions and activations since it left.
//! - Cost: O(1) amortised, 13 B for each page.
//! - Source: mm/vmscan.c and mm/workingset.c of Linux 6.12: `folio_check_references`, `inactive_is_low`,
//!   `workingset_test_recent`, `get_scan_count` (the balance of anon and file by what their refaults cost).
//! - Limits: one page at a time instead of batches of 32; every page counts as mapped; executable pages are not told
//!   apart.

use super::floors::Learnt;
use super::{Floors, Frames, Kind, Moment};
use crate::links::Links;
use crate::{NONE, Page};

const IN: u8 = 1;
const YOUNG: u8 = 2;
const REFERENCED: u8 = 4;
const ACTIVE: u8 = 8;
const FILE: u8 = 16;
const CHANGED: u8 = 32;

const INACTIVE: usize = 0;
const SCAN: usize = 32;

/// The lists: inactive and active, of each kind.
#[derive(Debug)]
pub struct ActiveInactive {
    lists: Links<4>,
    state: Vec<u8>,
    /// The number of the eviction at which each page left.
    shadow: Vec<u32>,
    /// Evictions and activations.
    age: u32,
    cost: [f64; 2],
    credit: [f64; 2],
    swappiness: f64,
    /// Inactive times this is what active may be; 0 is by the size of memory.
    ratio: usize,
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
        self.lists.len(list(kind, INACTIVE as u8)) + self.lists.len(list(kind, ACTIVE))
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

    /// `inactive_is_low`.
    fn inactive_is_low(&self, kind: usize) -> bool {
        let inactive = self.lists.len(list(kind, 0));
        let active = self.lists.len(list(kind, ACTIVE));
        let gib = (inactive + active) >> 18;
        let ratio = match (self.ratio, gib) {
            (0, 0) => 1,
            (0, gib) => (10 * gib).isqrt(),
            (ratio, _) => ratio,
        };
        inactive * ratio < active
    }

    /// `shrink_active_list`.
    fn deactivate(&mut self, kind: usize) {
        for _ in 0..SCAN {
            if !self.inactive_is_low(kind) {
                return;
            }
            let Some(page) = self.lists.pop_back(list(kind, ACTIVE)) else {
                return;
            };
            self.state[page as usize] &= !(YOUNG | REFERENCED);
            self.put(page, 0);
        }
    }

    /// `get_scan_count`: the kind whose turn it is, by swappiness and the cost of its refaults.
    fn turn(&mut self, may: [bool; 2]) -> Option<usize> {
        match may {
            [false, false] => None,
            [true, false] => Some(0),
            [false, true] => Some(1),
            [true, true] => {
                let all = self.cost[0] + self.cost[1];
                let weight = |own: f64, share: f64| share * (2.0 * all + 1.0) / (all + own + 1.0);
                self.credit[0] += weight(self.cost[0], self.swappiness);
                self.credit[1] += weight(self.cost[1], 200.0 - self.swappiness);
                let kind = usize::from(self.credit[1] >= self.credit[0]);
                let least = self.credit[0].min(self.credit[1]);
                self.credit = [self.credit[0] - least, self.credit[1] - least];
                self.credit[kind] = 0.0;
                Some(kind)
            }
        }
    }

    /// Which kinds may give a page.
    fn may(&self, moment: Moment) -> [bool; 2] {
        let memory = moment.memory as f64;
        let anon = self.size(0);
        let file = self.size(1);
        let floor = |share: f64| (share * memory) as usize;
        let mut may = [moment.swap && anon > floor(self.floors.anon_min), file > 0];
        let hard = floor(self.floors.clean_min);
        may[1] &= hard == 0 || self.clean > hard || file > self.clean;
        let soft = floor(self.floors.clean_low);
        if may[0] && ((soft > 0 && self.clean <= soft) || self.learnt.spares(self.clean)) {
            may[1] = false;
        }
        may[0] &= anon > 0;
        may
    }

    /// Whether clean file pages are at their floor: changed ones can still be written and go.
    fn spares_clean(&self, moment: Moment) -> bool {
        let hard = (self.floors.clean_min * moment.memory as f64) as usize;
        hard > 0 && self.clean <= hard
    }

    /// `shrink_inactive_list`, one page.
    fn scan(&mut self, kind: usize, spares_clean: bool) -> Option<Page> {
        // Two turns: the first may find every page used.
        for _ in 0..=2 * self.size(kind) {
            if self.lists.is_empty(list(kind, 0)) {
                let page = self.lists.pop_back(list(kind, ACTIVE))?;
                self.state[page as usize] &= !(YOUNG | REFERENCED);
                self.put(page, 0);
            }
            let page = self.lists.pop_back(list(kind, 0))?;
            let state = self.state[page as usize];
            if spares_clean && Self::is_clean_file(state) {
                self.put(page, 0);
                continue;
            }
            if state & YOUNG == 0 {
                return Some(page);
            }
            self.state[page as usize] = (state | REFERENCED) & !YOUNG;
            if state & REFERENCED == 0 {
                self.put(page, 0);
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
        let mut active = 0;
        if shadow != NONE {
            let distance = self.age.wrapping_sub(shadow) as usize;
            self.cost[own] += 1.0;
            if self.cost[0] + self.cost[1] > (self.lists.len(0) + self.memory / 4) as f64 {
                self.cost = [self.cost[0] / 2.0, self.cost[1] / 2.0];
            }
            // workingset_test_recent: what stands in its way.
            let other = if own == 1 { self.size(0) } else { self.size(1) };
            if distance <= self.lists.len(list(own, ACTIVE)) + other {
                active = ACTIVE;
                self.age = self.age.wrapping_add(1);
            }
            if own == 1 {
                self.learnt.came_back(&self.floors, distance, self.memory);
            }
        }
        self.state[page as usize] = IN | YOUNG | if own == 1 { FILE } else { CHANGED };
        self.clean += usize::from(own == 1);
        self.put(page, active);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        self.memory = moment.memory;
        let may = self.may(moment);
        let kind = self.turn(may)?;
        self.deactivate(kind);
        let spares = self.spares_clean(moment);
        let page = self.scan(kind, spares).or_else(|| {
            if may[1 - kind] {
                self.scan(1 - kind, spares)
            } else {
                None
            }
        })?;
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
        *state = if used {
            *state | YOUNG
        } else {
            *state & !YOUNG
        };
    }
}
