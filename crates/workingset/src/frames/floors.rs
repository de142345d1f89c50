//! le9's floors: shares of memory that reclaim leaves alone.
//!
//! - Rule: anonymous pages are protected at or below `anon_min`, clean file pages at or below
//!   `clean_min`. At or below `clean_low` they are protected while there is anything else to
//!   reclaim. If all is protected, memory is out.
//! - Adaptive: a clean file page that refaults within a memory's worth of evictions raises the
//!   floor by one page, up to `most`. An eighth of a memory of evictions without such a refault
//!   lowers it by an eighth.
//! - Source: the sysctls of le9uo, `vm.anon_min_ratio`, `vm.clean_low_ratio` and
//!   `vm.clean_min_ratio`, with defaults of 15, 0 and 15.

/// The floors, as shares of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floors {
    /// Of anonymous pages.
    pub anon_min: f64,
    /// Of clean file pages, as long as there is anything else to reclaim.
    pub clean_low: f64,
    /// Of clean file pages.
    pub clean_min: f64,
    /// The largest floor of clean file pages that refaults may raise; `None` keeps floors fixed.
    pub most: Option<f64>,
}

impl Floors {
    /// No floors: reclaim as in the kernel.
    pub const NONE: Self = Self {
        anon_min: 0.0,
        clean_low: 0.0,
        clean_min: 0.0,
        most: None,
    };
}

/// The floor that adapts to refaults.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Learnt {
    pages: f64,
    /// Evictions since the last refault that raised it.
    quiet: usize,
}

impl Learnt {
    /// A clean file page has refaulted, so many evictions after its own.
    pub(super) fn refaulted(&mut self, floors: &Floors, distance: usize, memory: usize) {
        let Some(most) = floors.most else {
            return;
        };
        if distance <= memory {
            self.pages = (self.pages + 1.0).min(most * memory as f64);
            self.quiet = 0;
        }
    }

    /// A page was evicted.
    pub(super) fn evicted(&mut self, memory: usize) {
        self.quiet += 1;
        if self.quiet * 8 > memory {
            self.pages *= 7.0 / 8.0;
            self.quiet = 0;
        }
    }

    /// Returns true if so many clean file pages are at or below the floor.
    pub(super) fn protects(&self, clean: usize) -> bool {
        self.pages >= 1.0 && clean as f64 <= self.pages
    }
}
