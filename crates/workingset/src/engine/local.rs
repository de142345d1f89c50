//! Memory that each process has for itself: a fixed share, its working set, or what its fault frequency earns.
//!
//! - Law: share: the asking process gives its own least recently used page once it has c/n; working set: a page not
//!   used for θ of its process's time is given up; page-fault frequency: at a fault after p or more without one, pages
//!   not used since are given up. If no frame is free, the process with most pages gives.
//! - Source: Denning, IEEE TSE SE-6(1), 1980; Chu, Opderbeck, AFIPS FJCC 1972.

use super::Memory;
use crate::Page;
use crate::frames::{Kind, Moment};
use crate::links::Links;

/// Who may have how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// As many frames for each.
    Share,
    /// What was used within this time of its own.
    WorkingSet(u64),
    /// By the time between its faults.
    FaultFrequency(u64),
}

/// Processes at most.
pub(super) const MOST: usize = 16;
const IN: u8 = 1;
const CHANGED: u8 = 2;

/// A list by last use for each process.
#[derive(Debug)]
pub struct Local {
    lists: Links<MOST>,
    state: Vec<u8>,
    owner: Vec<u8>,
    last: Vec<u64>,
    fault: [u64; MOST],
    rule: Rule,
    processes: usize,
}

impl Local {
    /// Over so many pages of so many processes, at most 16.
    pub fn new(pages: usize, processes: usize, rule: Rule) -> Self {
        Self {
            lists: Links::new(pages),
            state: vec![0; pages],
            owner: vec![0; pages],
            last: vec![0; pages],
            fault: [0; MOST],
            rule,
            processes: processes.clamp(1, MOST),
        }
    }

    /// An owner's oldest page, out of memory.
    fn pop(&mut self, owner: usize) -> Option<(Page, bool)> {
        let page = self.lists.pop_back(owner)?;
        let state = &mut self.state[page as usize];
        *state &= !IN;
        Some((page, *state & CHANGED != 0))
    }

    fn give_up(&mut self, owner: usize, before: u64, gone: &mut Vec<(Page, bool)>) {
        while let Some(page) = self.lists.back(owner) {
            if self.last[page as usize] >= before {
                return;
            }
            gone.extend(self.pop(owner));
        }
    }
}

impl Memory for Local {
    fn used(&mut self, page: Page, changes: bool, virtual_time: u64) {
        let owner = usize::from(self.owner[page as usize]);
        self.lists.to_front(owner, page);
        self.last[page as usize] = virtual_time;
        self.state[page as usize] |= if changes { CHANGED } else { 0 };
    }

    fn enter(&mut self, page: Page, owner: usize, kind: Kind, _: u64, virtual_time: u64) {
        self.owner[page as usize] = owner as u8;
        self.state[page as usize] = IN | if kind == Kind::Anon { CHANGED } else { 0 };
        self.last[page as usize] = virtual_time;
        self.fault[owner] = virtual_time;
        self.lists.push_front(owner, page);
    }

    fn victim(&mut self, moment: Moment, asking: usize) -> Option<(Page, bool)> {
        let share = moment.memory / self.processes;
        let own = self.rule == Rule::Share
            && self.lists.len(asking) >= share
            && !self.lists.is_empty(asking);
        let largest = (0..MOST).max_by_key(|owner| self.lists.len(*owner))?;
        self.pop(if own { asking } else { largest })
    }

    fn trim(&mut self, owner: usize, virtual_time: u64, gone: &mut Vec<(Page, bool)>) {
        match self.rule {
            Rule::Share => {}
            Rule::WorkingSet(theta) => {
                self.give_up(owner, (virtual_time + 1).saturating_sub(theta), gone);
            }
            Rule::FaultFrequency(p) => {
                let last = self.fault[owner];
                if virtual_time - last >= p {
                    self.give_up(owner, last, gone);
                }
            }
        }
    }

    fn end(&mut self, pages: std::ops::Range<Page>) {
        for page in pages
            .filter(|page| self.state[*page as usize] & IN != 0)
            .collect::<Vec<_>>()
        {
            self.lists
                .remove(usize::from(self.owner[page as usize]), page);
            self.state[page as usize] = 0;
        }
    }

    fn holds(&self, page: Page) -> bool {
        self.state[page as usize] & IN != 0
    }

    fn len(&self) -> usize {
        (0..MOST).map(|owner| self.lists.len(owner)).sum()
    }
}
