//! What a policy is given, what it answers, and where it reports the pages that it evicts.

use super::options::Options;
use crate::{Error, Page, Trace};

/// What became of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The page was in memory.
    Hit,
    /// The page had to be loaded.
    Miss,
}

/// Receives the pages that leave memory.
pub trait Evictions {
    /// This page has left memory.
    fn note(&mut self, page: Page);
}

/// What a policy is made for.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// Pages of memory, at least one.
    pub capacity: usize,
    /// The trace of the run. Only the policies that know the future look at its references.
    pub trace: &'a Trace,
    /// The values of the policy's options.
    pub options: &'a Options,
}

impl Setup<'_> {
    /// An option's value.
    pub fn option(&self, name: &str) -> f64 {
        self.options.get(name)
    }

    /// Different pages in the trace.
    pub fn pages(&self) -> usize {
        self.trace.pages()
    }
}

/// A replacement policy.
pub trait Policy: Sized {
    /// Whether memory grows and shrinks with what is in use. Otherwise it stays full once it has
    /// been filled.
    ///
    /// The capacity of such a policy is the mean size that its parameter is chosen for.
    const VARIABLE: bool = false;

    /// Bytes of a page's entry in the table that [`Policy::fetch`] has fetched; 0 if it does nothing.
    const ENTRY: usize = 0;

    /// The policy with no page in memory.
    fn new(setup: &Setup<'_>) -> Result<Self, Error>;

    /// Has the entry of a page fetched that will be used soon.
    #[inline]
    fn fetch(&self, _page: Page) {}

    /// Uses the next page of the trace, at a time of the trace.
    fn access(&mut self, page: Page, now: u64, evicted: &mut impl Evictions) -> Access;

    /// Pages in memory.
    fn resident(&self) -> usize;
}
