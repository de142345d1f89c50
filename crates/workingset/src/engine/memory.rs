//! Which page is evicted: one policy over the frames of all processes, and two additions to it: the
//! founding report's clock pressure, and the swap token that Linux once had.

use crate::Page;
use crate::frames::{Frames, Kind, Moment};

/// The frames as the engine sees them. Pages are numbered through all processes.
pub trait Memory {
    /// A page in memory was used, and perhaps changed.
    fn used(&mut self, page: Page, changes: bool, virtual_time: u64);
    /// A page was loaded.
    fn enter(&mut self, page: Page, owner: usize, kind: Kind, now: u64, virtual_time: u64);
    /// Evicts a page for the process `asking`. Returns the page, and whether it is changed. `None`:
    /// out of memory.
    fn victim(&mut self, moment: Moment, asking: usize) -> Option<(Page, bool)>;
    /// Appends the pages that an owner frees of its own accord, each with whether it is changed.
    fn trim(&mut self, _owner: usize, _virtual_time: u64, _gone: &mut Vec<(Page, bool)>) {}
    /// Frees all pages of a process that ended.
    fn end(&mut self, pages: std::ops::Range<Page>);
    /// Returns true if a page is in memory.
    fn holds(&self, page: Page) -> bool;
    /// Pages in memory.
    fn len(&self) -> usize;
    /// Returns true if no page is in memory.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Free frames have fallen below `low`. Returns the number of pages that the policy has touched
    /// for it.
    fn falls_short(&mut self, _candidates: Target) -> u64 {
        0
    }
    /// A process has faulted on a page that it had before.
    fn refaulted(&mut self, _owner: usize) {}
}

/// Processes that pressure may be put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The process that runs next.
    pub leftmost: usize,
    /// The process that runs last.
    pub rightmost: usize,
    /// The process with most pages.
    pub largest: usize,
}

/// The founding report's clock pressure: when memory falls short, the pages of one process count as
/// used, or as not used.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    /// Chooses the process under pressure.
    pub on: fn(Target) -> usize,
    /// Up: its pages count as not used, and are evicted first. Down: they count as used.
    pub up: bool,
}

/// The swap token: the pages of the process that faults most are passed over.
#[derive(Debug, Clone, Default)]
pub struct Token {
    holder: Option<usize>,
    processes: Vec<Faults>,
    /// Faults of all processes.
    faults: u64,
}

/// What the token knows of a process.
#[derive(Debug, Clone, Copy)]
struct Faults {
    priority: i64,
    /// The number of its last fault, counted over all processes.
    last: u64,
    /// Faults of all processes between its last two.
    interval: u64,
}

impl Faults {
    const NONE: Self = Self {
        priority: 0,
        last: 0,
        interval: u64::MAX,
    };
}

impl Token {
    fn fault(&mut self, owner: usize) {
        self.faults += 1;
        if self.processes.len() <= owner {
            self.processes.resize(owner + 1, Faults::NONE);
        }
        let before = self.processes[owner];
        let interval = self.faults - before.last;
        let step = match self.holder {
            Some(holder) if holder == owner => 2,
            _ if interval < before.interval => 1,
            _ => -1,
        };
        let priority = before.priority + step;
        self.processes[owner] = Faults {
            priority: priority.max(0),
            last: self.faults,
            interval,
        };
        let is_above = match self.holder {
            Some(holder) => self.processes[holder].priority < priority,
            None => true,
        };
        if is_above {
            self.holder = Some(owner);
        }
    }
}

/// One policy over the frames of all processes.
#[derive(Debug)]
pub struct Global<F> {
    frames: F,
    owner: Vec<u16>,
    kind: Vec<Kind>,
    pressure: Option<Pressure>,
    token: Option<Token>,
}

impl<F: Frames> Global<F> {
    /// A memory over so many pages of all processes.
    pub fn new(frames: F, pages: usize) -> Self {
        Self {
            frames,
            owner: vec![0; pages],
            kind: vec![Kind::File; pages],
            pressure: None,
            token: None,
        }
    }

    /// With clock pressure.
    #[must_use]
    pub fn pressed(mut self, pressure: Pressure) -> Self {
        self.pressure = Some(pressure);
        self
    }

    /// With the swap token.
    #[must_use]
    pub fn with_token(mut self) -> Self {
        self.token = Some(Token::default());
        self
    }
}

/// The most pages of the token's holder that are passed over for one victim. Without a limit, a
/// holder of all memory would leave nothing to evict.
const PASSED_OVER: usize = 64;

impl<F: Frames> Memory for Global<F> {
    #[inline]
    fn used(&mut self, page: Page, changes: bool, _: u64) {
        self.frames.used(page);
        if changes {
            self.frames.changed(page);
        }
    }

    fn enter(&mut self, page: Page, owner: usize, kind: Kind, now: u64, _: u64) {
        self.owner[page as usize] = owner as u16;
        self.kind[page as usize] = kind;
        self.frames.enter(page, kind, now);
    }

    fn victim(&mut self, moment: Moment, _: usize) -> Option<(Page, bool)> {
        let holder = self.token.as_ref().and_then(|token| token.holder);
        let mut passed = 0;
        loop {
            let page = self.frames.victim(moment)?;
            let owner = usize::from(self.owner[page as usize]);
            let is_changed = self.frames.is_changed(page);
            if holder != Some(owner) || passed == PASSED_OVER {
                return Some((page, is_changed));
            }
            passed += 1;
            let kind = self.kind[page as usize];
            self.frames.enter(page, kind, moment.now);
            if is_changed {
                self.frames.changed(page);
            }
        }
    }

    fn end(&mut self, pages: std::ops::Range<Page>) {
        pages.for_each(|page| self.frames.leave(page));
    }

    #[inline]
    fn holds(&self, page: Page) -> bool {
        self.frames.holds(page)
    }

    fn len(&self) -> usize {
        self.frames.len()
    }

    fn falls_short(&mut self, candidates: Target) -> u64 {
        let Some(pressure) = self.pressure else {
            return 0;
        };
        let target = (pressure.on)(candidates) as u16;
        let mut touched = 0;
        for page in 0..self.owner.len() as Page {
            if self.owner[page as usize] == target && self.frames.holds(page) {
                self.frames.press(page, !pressure.up);
                touched += 1;
            }
        }
        touched
    }

    fn refaulted(&mut self, owner: usize) {
        if let Some(token) = &mut self.token {
            token.fault(owner);
        }
    }
}
