//! Which pages come back: of files, of programs' own memory, and of what swap was read ahead for; and whom that cost.

use crate::rates::Rates;
use crate::sketch::faded;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::Span;

/// Half-life of the running means: long enough that one program's start is no trend.
const HALF_LIFE: Duration = Duration::from_secs(5);

/// Pages per second, each a running mean. Zero where the kernel does not count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Returns {
    /// Read again after eviction, of files.
    pub(crate) file: f64,
    /// The same, of anonymous memory.
    pub(crate) anon: f64,
    /// Read from swap because a neighbour was.
    pub(crate) ahead: f64,
    /// Of these, used.
    pub(crate) used: f64,
    /// When an allocation last had to reclaim for itself.
    pub(crate) last_stall: Option<Span>,
    /// When the kernel last ended a process for its memory.
    pub(crate) last_kill: Option<Span>,
}

impl Returns {
    pub(crate) fn push(&mut self, at: Span, rates: &Rates) {
        let (seconds, kept) = (rates.elapsed.as_secs_f64(), faded(rates.elapsed, HALF_LIFE));
        for (mean, count) in [
            (&mut self.file, rates.refaults_file),
            (&mut self.anon, rates.refaults_anon),
            (&mut self.ahead, rates.swap_ahead),
            (&mut self.used, rates.swap_ahead_used),
        ] {
            *mean = *mean * kept + count.unwrap_or(0) as f64 / seconds * (1.0 - kept);
        }
        for (last, count) in [
            (&mut self.last_stall, rates.allocation_stalls),
            (&mut self.last_kill, rates.oom_kills),
        ] {
            *last = if count.unwrap_or(0) > 0 {
                Some(at)
            } else {
                *last
            };
        }
    }
}
