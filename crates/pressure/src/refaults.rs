//! Running means of refaults, of demand and of swap readahead, and when allocations last stalled.

use crate::rates::Rates;
use crate::sketch::faded;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{Bytes, Rate, Span};

/// Half-life of the running means. Shorter, and the start of one program counts as a trend; longer,
/// and a step of `[balance]` does not show before the next.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// Running means, pages per second unless it says so. Zero where the kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Refaults {
    /// Refaults of file pages.
    pub(crate) file: f64,
    /// Refaults of anonymous pages.
    pub(crate) anon: f64,
    /// Gross demand, in bytes per second.
    pub(crate) demand: f64,
    /// Pages that swap readahead read.
    pub(crate) ahead: f64,
    /// Pages that swap readahead read and that were used.
    pub(crate) used: f64,
    /// When an allocation last entered direct reclaim.
    pub(crate) last_stall: Option<Span>,
    /// When the kernel last OOM-killed a process.
    pub(crate) last_kill: Option<Span>,
}

impl Refaults {
    /// What is read again, and all demand.
    pub(crate) fn beside_demand(&self, page_size: Bytes) -> (Rate, Rate) {
        let pages = self.file + self.anon;
        let again = Rate::new((pages * page_size.get() as f64) as u64);
        (again, Rate::new(self.demand as u64))
    }

    pub(crate) fn push(&mut self, at: Span, rates: &Rates) {
        let seconds = rates.elapsed.as_secs_f64();
        let kept = faded(rates.elapsed, HALF_LIFE);
        let blend = |mean: f64, count: Option<u64>| {
            mean * kept + count.unwrap_or(0) as f64 / seconds * (1.0 - kept)
        };
        self.file = blend(self.file, rates.refaults_file);
        self.anon = blend(self.anon, rates.refaults_anon);
        self.demand = blend(self.demand, rates.demand.map(Bytes::get));
        self.ahead = blend(self.ahead, rates.swap_ahead);
        self.used = blend(self.used, rates.swap_ahead_used);
        if rates.allocation_stalls.unwrap_or(0) > 0 {
            self.last_stall = Some(at);
        }
        if rates.oom_kills.unwrap_or(0) > 0 {
            self.last_kill = Some(at);
        }
    }
}
