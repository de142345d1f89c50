//! Memory that each process has for itself: a fixed share, its working set, or what its fault
//! frequency earns.
//!
//! - Rule: with a share, the process that faults gives its own least recently used page once it has
//!   c/n pages. With a working set, a page not used for θ of its process's time is freed. With the
//!   page-fault frequency, a fault after p or more without one frees the pages not used since. If
//!   no frame is free, the process with most pages gives one.
//! - Source: Denning, IEEE TSE SE-6(1), 1980; Chu, Opderbeck, AFIPS FJCC 1972.

use super::memory::Memory;
use crate::Page;
use crate::frames::{Kind, Moment};
use crate::links::Links;

/// How much memory each process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The same number of frames for each process.
    Share,
    /// The pages used within this time of the process's own.
    WorkingSet(u64),
    /// As many as the time between the process's faults allows: this is the time after which it
    /// gives pages back.
    FaultFrequency(u64),
}

/// The most processes. Each has a list in one array of links, and an eviction looks at all lists.
pub(super) const MOST: usize = 16;
const IN: u8 = 1;
const CHANGED: u8 = 2;

/// For each process a list of its pages in the order of last use.
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

    /// Evicts an owner's least recently used page. Returns it, and whether it is changed.
    fn pop(&mut self, owner: usize) -> Option<(Page, bool)> {
        let page = self.lists.pop_back(owner)?;
        let state = &mut self.state[page as usize];
        *state &= !IN;
        Some((page, *state & CHANGED != 0))
    }

    /// Frees an owner's pages that were not used since a time.
    fn free_unused(&mut self, owner: usize, before: u64, gone: &mut Vec<(Page, bool)>) {
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
        if changes {
            self.state[page as usize] |= CHANGED;
        }
    }

    fn enter(&mut self, page: Page, owner: usize, kind: Kind, _: u64, virtual_time: u64) {
        self.owner[page as usize] = owner as u8;
        self.state[page as usize] = match kind {
            Kind::Anon => IN | CHANGED,
            Kind::File => IN,
        };
        self.last[page as usize] = virtual_time;
        self.fault[owner] = virtual_time;
        self.lists.push_front(owner, page);
    }

    fn victim(&mut self, moment: Moment, asking: usize) -> Option<(Page, bool)> {
        let share = moment.memory / self.processes;
        let own_pages = self.lists.len(asking);
        if self.rule == Rule::Share && own_pages >= share && own_pages > 0 {
            return self.pop(asking);
        }
        let largest = (0..MOST).max_by_key(|owner| self.lists.len(*owner))?;
        self.pop(largest)
    }

    fn trim(&mut self, owner: usize, virtual_time: u64, gone: &mut Vec<(Page, bool)>) {
        match self.rule {
            Rule::Share => {}
            Rule::WorkingSet(theta) => {
                self.free_unused(owner, (virtual_time + 1).saturating_sub(theta), gone);
            }
            Rule::FaultFrequency(p) => {
                let last = self.fault[owner];
                if virtual_time - last >= p {
                    self.free_unused(owner, last, gone);
                }
            }
        }
    }

    fn end(&mut self, pages: std::ops::Range<Page>) {
        for page in pages {
            if self.holds(page) {
                let owner = usize::from(self.owner[page as usize]);
                self.lists.remove(owner, page);
                self.state[page as usize] = 0;
            }
        }
    }

    fn holds(&self, page: Page) -> bool {
        self.state[page as usize] & IN != 0
    }

    fn len(&self) -> usize {
        (0..MOST).map(|owner| self.lists.len(owner)).sum()
    }
}
