//! le9's floors: memory of a kind that reclaim leaves alone.
//!
//! - Law: anonymous pages are spared at or below `anon_min`; clean file pages at or below `clean_min`, and at or below
//!   `clean_low` while there is anything else. If all is spared, memory is out.
//! - Adaptive: a clean file page that comes back within a memory's worth of evictions raises the floor by one page, up
//!   to `most`; an eighth of a memory of evictions without one lowers it by an eighth.
//! - Source: le9uo's sysctls, `vm.anon_min_ratio`, `vm.clean_low_ratio`, `vm.clean_min_ratio`, defaults 15, 0, 15.

/// Shares of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floors {
    /// Of anonymous pages.
    pub anon_min: f64,
    /// Of clean file pages, given way when all else is gone.
    pub clean_low: f64,
    /// Of clean file pages.
    pub clean_min: f64,
    /// The largest floor of clean file pages that is learnt; `None` learns none.
    pub most: Option<f64>,
}

impl Floors {
    /// None: reclaim as it is.
    pub const NONE: Self = Self {
        anon_min: 0.0,
        clean_low: 0.0,
        clean_min: 0.0,
        most: None,
    };
}

/// What is learnt of a floor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Learnt {
    pages: f64,
    quiet: usize,
}

impl Learnt {
    /// A clean file page came back, so many evictions after it had left.
    pub(super) fn came_back(&mut self, floors: &Floors, distance: usize, memory: usize) {
        if let Some(most) = floors.most {
            if distance <= memory {
                self.pages = (self.pages + 1.0).min(most * memory as f64);
                self.quiet = 0;
            }
        }
    }

    /// A page left.
    pub(super) fn evicted(&mut self, memory: usize) {
        self.quiet += 1;
        if self.quiet * 8 > memory {
            self.pages *= 7.0 / 8.0;
            self.quiet = 0;
        }
    }

    /// Whether so many clean file pages are spared.
    pub(super) fn spares(&self, clean: usize) -> bool {
        self.pages >= 1.0 && clean as f64 <= self.pages
    }
}
