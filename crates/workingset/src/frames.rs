//! What an operating system's reclaim keeps about the pages in memory: not each use, only a bit that a use sets, looked
//! at when a page must go.
//!
//! The single-trace policies `linux`, `mglru`, `le9` and the multi-process engine run the same code.

mod active_inactive;
mod floors;
mod generations;
mod simple;

pub use active_inactive::ActiveInactive;
pub use floors::Floors;
pub use generations::{Generations, Tuning};
pub use simple::{Clock, Lru};

use crate::policy::{Access, Gone};
use crate::{Error, Page};

/// What stands behind a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but swap.
    Anon = 0,
    /// A file.
    File = 1,
}

/// The moment at which a page must go.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// In the trace's, or the engine's, time.
    pub now: u64,
    /// Pages of memory, now.
    pub memory: usize,
    /// Whether anonymous pages have somewhere to go.
    pub swap: bool,
}

/// Reclaim's view of the pages in memory.
pub trait Frames {
    /// A page that is in memory was used.
    fn used(&mut self, page: Page);
    /// A page that is in memory was changed.
    fn changed(&mut self, page: Page);
    /// A page was brought.
    fn enter(&mut self, page: Page, kind: Kind, now: u64);
    /// The page that goes; it is out of memory now. `None` if none may: out of memory.
    fn victim(&mut self, moment: Moment) -> Option<Page>;
    /// A page is given up by who has it.
    fn leave(&mut self, page: Page);
    /// Whether a page is in memory.
    fn holds(&self, page: Page) -> bool;
    /// Whether a page in memory is changed.
    fn is_changed(&self, page: Page) -> bool;
    /// Pages in memory.
    fn len(&self) -> usize;
    /// Whether no page is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Pages that are to count as used, and as not used: the founding report's clock pressure, down and up, on one
    /// owner.
    fn press(&mut self, page: Page, used: bool);
}

/// A [`Frames`] as a policy of one trace: at a miss in full memory, one page goes.
#[derive(Debug)]
pub(crate) struct Framed<F> {
    frames: F,
    files: Option<Vec<bool>>,
    capacity: usize,
}

impl<F: Frames> Framed<F> {
    pub(crate) fn new(frames: F, files: Option<Vec<bool>>, capacity: usize) -> Self {
        Self {
            frames,
            files,
            capacity,
        }
    }

    #[inline]
    pub(crate) fn access(&mut self, page: Page, now: u64, gone: &mut impl Gone) -> Access {
        if self.frames.holds(page) {
            self.frames.used(page);
            return Access::Hit;
        }
        if self.frames.len() == self.capacity {
            let moment = Moment {
                now,
                memory: self.capacity,
                swap: true,
            };
            if let Some(victim) = self.frames.victim(moment) {
                gone.gone(victim);
            }
        }
        let file = self.files.as_ref().is_none_or(|files| files[page as usize]);
        self.frames
            .enter(page, if file { Kind::File } else { Kind::Anon }, now);
        Access::Miss
    }

    pub(crate) fn resident(&self) -> usize {
        self.frames.len()
    }
}

/// A share of memory, checked.
pub(crate) fn share(name: &str, percent: f64) -> Result<f64, Error> {
    if (0.0..=100.0).contains(&percent) {
        return Ok(percent / 100.0);
    }
    Err(Error::Unfit(format!(
        "{name} is a percentage, not {percent}"
    )))
}
