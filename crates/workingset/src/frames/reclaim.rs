//! What reclaim is asked, and what it must know to answer.

use crate::Page;

/// What stands behind a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anonymous memory, backed by nothing but swap.
    Anon = 0,
    /// A file.
    File = 1,
}

/// The state of the machine when a page must be evicted.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The time, of the trace or of the engine.
    pub now: u64,
    /// Pages of memory at this time.
    pub memory: usize,
    /// Whether there is swap, so that anonymous pages can be evicted.
    pub swap: bool,
}

/// Reclaim's view of the pages in memory.
pub trait Frames {
    /// A page that is in memory was used.
    fn used(&mut self, page: Page);
    /// A page that is in memory was changed.
    fn changed(&mut self, page: Page);
    /// A page was loaded.
    fn enter(&mut self, page: Page, kind: Kind, now: u64);
    /// Evicts a page and returns it. `None` if none may be evicted: out of memory.
    fn victim(&mut self, moment: Moment) -> Option<Page>;
    /// A page is freed by its owner.
    fn leave(&mut self, page: Page);
    /// Returns true if a page is in memory.
    fn holds(&self, page: Page) -> bool;
    /// Returns true if a page is changed.
    fn is_changed(&self, page: Page) -> bool;
    /// Pages in memory.
    fn len(&self) -> usize;
    /// Returns true if no page is in memory.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Pages that are to count as used, and as not used: the founding report's clock pressure, down
    /// and up, on one owner.
    fn press(&mut self, page: Page, used: bool);
}
