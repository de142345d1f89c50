//! Whose page goes: one policy over all frames, and what the founding report and Linux once put on top of it.

use crate::Page;
use crate::frames::{Frames, Kind, Moment};

/// The frames as the engine sees them. Pages are numbered through all processes.
pub trait Memory {
    /// A page in memory was used, and perhaps changed.
    fn used(&mut self, page: Page, changes: bool, virtual_time: u64);
    /// A page came in.
    fn enter(&mut self, page: Page, owner: usize, kind: Kind, now: u64, virtual_time: u64);
    /// The page that goes when `asking` needs a frame, and whether it is changed. `None`: out of memory.
    fn victim(&mut self, moment: Moment, asking: usize) -> Option<(Page, bool)>;
    /// Pages that an owner gives up unasked.
    fn trim(&mut self, _owner: usize, _virtual_time: u64, _gone: &mut Vec<(Page, bool)>) {}
    /// All pages of a process that ended.
    fn end(&mut self, pages: std::ops::Range<Page>);
    /// Whether a page is in memory.
    fn holds(&self, page: Page) -> bool;
    /// Pages in memory.
    fn len(&self) -> usize;
    /// Whether none is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Free frames have fallen below `low`: who runs next, who runs last, and the owner of most pages.
    fn falls_short(&mut self, _who: Target) -> u64 {
        0
    }
    /// A process has faulted on a page that it had before.
    fn refaulted(&mut self, _owner: usize) {}
}

/// Processes that pressure may be put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Next to run.
    pub leftmost: usize,
    /// Last to run.
    pub rightmost: usize,
    /// Of most pages.
    pub largest: usize,
}

/// The founding report's clock pressure: when memory falls short, the pages of one process count as used, or as not
/// used.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    /// On whom.
    pub on: fn(Target) -> usize,
    /// Up: its pages count as not used, and go first. Down: as used.
    pub up: bool,
}

/// The swap token: the pages of one process, the one that faults most, are passed over.
#[derive(Debug, Clone, Default)]
pub struct Token {
    holder: Option<usize>,
    /// Of each process: priority, faults in all when it faulted last, interval then.
    state: Vec<(i64, u64, u64)>,
    faults: u64,
}

impl Token {
    fn fault(&mut self, owner: usize) {
        self.faults += 1;
        if self.state.len() <= owner {
            self.state.resize(owner + 1, (0, 0, u64::MAX));
        }
        let (mut priority, stamp, last) = self.state[owner];
        let interval = self.faults - stamp;
        priority += match self.holder {
            Some(holder) if holder == owner => 2,
            _ if interval < last => 1,
            _ => -1,
        };
        self.state[owner] = (priority.max(0), self.faults, interval);
        if self
            .holder
            .is_none_or(|holder| self.state[holder].0 < priority)
        {
            self.holder = Some(owner);
        }
    }
}

/// One policy over the frames of all.
#[derive(Debug)]
pub struct Global<F> {
    frames: F,
    owner: Vec<u16>,
    kind: Vec<Kind>,
    pressure: Option<Pressure>,
    token: Option<Token>,
}

impl<F: Frames> Global<F> {
    /// Over so many pages of all processes.
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

/// Pages of the token's holder that are passed over for one victim.
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
            if holder != Some(usize::from(self.owner[page as usize])) || passed == PASSED_OVER {
                return Some((page, self.frames.is_changed(page)));
            }
            passed += 1;
            let changed = self.frames.is_changed(page);
            self.frames
                .enter(page, self.kind[page as usize], moment.now);
            if changed {
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

    fn falls_short(&mut self, who: Target) -> u64 {
        let Some(pressure) = self.pressure else {
            return 0;
        };
        let target = (pressure.on)(who) as u16;
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
