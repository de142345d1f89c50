//! LRU and CLOCK over the frames of several programs.

use super::reclaim::{Frames, Kind, Moment};
use crate::Page;
use crate::links::Links;

const IN: u8 = 1;
const CHANGED: u8 = 2;
const USED: u8 = 4;
const ANON: u8 = 8;

/// LRU: it sees every use, which no system can afford, and serves as the yardstick.
#[derive(Debug)]
pub struct Lru {
    list: Links<1>,
    state: Vec<u8>,
}

impl Lru {
    /// With no page in memory.
    pub fn new(pages: usize) -> Self {
        Self {
            list: Links::new(pages),
            state: vec![0; pages],
        }
    }
}

/// The first page from the back that may be evicted: without swap an anonymous page may not.
fn first(list: &Links<1>, state: &[u8], swap: bool) -> Option<Page> {
    let mut at = list.back(0);
    while let Some(page) = at {
        if swap || state[page as usize] & ANON == 0 {
            return Some(page);
        }
        at = list.towards_front(page);
    }
    None
}

fn entered(kind: Kind) -> u8 {
    match kind {
        Kind::Anon => IN | ANON | CHANGED,
        Kind::File => IN,
    }
}

impl Frames for Lru {
    fn used(&mut self, page: Page) {
        self.list.to_front(0, page);
    }

    fn changed(&mut self, page: Page) {
        self.state[page as usize] |= CHANGED;
    }

    fn enter(&mut self, page: Page, kind: Kind, _: u64) {
        self.state[page as usize] = entered(kind);
        self.list.push_front(0, page);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        let page = first(&self.list, &self.state, moment.swap)?;
        self.list.remove(0, page);
        self.state[page as usize] &= !IN;
        Some(page)
    }

    fn leave(&mut self, page: Page) {
        if self.holds(page) {
            self.list.remove(0, page);
            self.state[page as usize] = 0;
        }
    }

    fn holds(&self, page: Page) -> bool {
        self.state[page as usize] & IN != 0
    }

    fn is_changed(&self, page: Page) -> bool {
        self.state[page as usize] & CHANGED != 0
    }

    fn len(&self) -> usize {
        self.list.len(0)
    }

    fn press(&mut self, page: Page, used: bool) {
        if self.holds(page) {
            self.list.remove(0, page);
            if used {
                self.list.push_front(0, page);
            } else {
                self.list.push_back(0, page);
            }
        }
    }
}

/// One clock over the frames of all programs: the founding report's replacement policy.
#[derive(Debug)]
pub struct Clock {
    list: Links<1>,
    state: Vec<u8>,
}

impl Clock {
    /// With no page in memory.
    pub fn new(pages: usize) -> Self {
        Self {
            list: Links::new(pages),
            state: vec![0; pages],
        }
    }
}

impl Frames for Clock {
    fn used(&mut self, page: Page) {
        self.state[page as usize] |= USED;
    }

    fn changed(&mut self, page: Page) {
        self.state[page as usize] |= CHANGED | USED;
    }

    fn enter(&mut self, page: Page, kind: Kind, _: u64) {
        self.state[page as usize] = entered(kind) | USED;
        self.list.push_front(0, page);
    }

    fn victim(&mut self, moment: Moment) -> Option<Page> {
        for _ in 0..=2 * self.list.len(0) {
            let page = self.list.back(0)?;
            let state = &mut self.state[page as usize];
            let stays = *state & USED != 0 || (!moment.swap && *state & ANON != 0);
            *state &= !USED;
            if !stays {
                self.list.remove(0, page);
                self.state[page as usize] &= !IN;
                return Some(page);
            }
            self.list.to_front(0, page);
        }
        None
    }

    fn leave(&mut self, page: Page) {
        if self.holds(page) {
            self.list.remove(0, page);
            self.state[page as usize] = 0;
        }
    }

    fn holds(&self, page: Page) -> bool {
        self.state[page as usize] & IN != 0
    }

    fn is_changed(&self, page: Page) -> bool {
        self.state[page as usize] & CHANGED != 0
    }

    fn len(&self) -> usize {
        self.list.len(0)
    }

    fn press(&mut self, page: Page, used: bool) {
        let state = &mut self.state[page as usize];
        if used {
            *state |= USED;
        } else {
            *state &= !USED;
        }
    }
}
