//! Several programs under one memory: who is scheduled, who waits, what is written back, and how long all of it takes.
//!
//! ```text
//!   processes (a trace each) ──► least virtual time runs ──► hit: time passes
//!                                        ▲                  └► fault: a frame (reclaim), a device, a wait
//!                                        └── back when the page is there
//! ```
//!
//! One processor, one device. A reference costs `reference_ns`. A fault takes a free frame; below `min` free frames the
//! process reclaims itself, below `low` the kernel does on the side until `high` are free. A changed page that leaves
//! is written, and the device reads nothing meanwhile; its frame is free at once. The first use of anonymous memory
//! costs no read.
//!
//! - Cost: O(1) for a hit, O(log n) for a fault, beside the policy's own; 16 B for each page of all processes.
//! - Source: kswapd and watermarks as in mm/vmscan.c; least virtual time first as in CFS; pressure stalls as
//!   Documentation/accounting/psi.rst; the founding report's clock pressure; the swap token as in mm/thrash.c of Linux
//!   2.6.20.
//! - Limits: no readahead, no shared pages, one outstanding request for each process.

mod local;
mod memory;
mod run;

pub use local::{Local, Rule};
pub use memory::{Global, Memory, Pressure, Target, Token};
pub use run::{Outcome, ProcessOutcome, run};

use crate::frames::Kind;
use crate::{Error, Op, Trace};

/// What the machine is.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Frames of memory from a time on, in ns; the first from 0.
    pub memory: Vec<(u64, usize)>,
    /// Free frames below which a process must reclaim itself.
    pub min: usize,
    /// Free frames below which the kernel reclaims on the side.
    pub low: usize,
    /// Free frames at which it stops.
    pub high: usize,
    /// Whether anonymous pages can be written to swap.
    pub swap: bool,
    /// Nanoseconds that a reference takes.
    pub reference_ns: u64,
    /// Nanoseconds that a process runs before another may.
    pub slice_ns: u64,
    /// Nanoseconds to read a page.
    pub read_ns: u64,
    /// Nanoseconds to write a page.
    pub write_ns: u64,
    /// Nanoseconds of reclaim for each page.
    pub reclaim_ns: u64,
}

impl Machine {
    /// Watermarks as the kernel has them in a zone of this size, a disk of 100 µs a page, a reference in a nanosecond.
    pub fn of(frames: usize) -> Self {
        // min_free_kbytes is 4·√(KiB of memory), here in pages of 4 KiB; low and high are a quarter and a half above.
        let min = ((frames as f64 * 4.0).sqrt() as usize).clamp(1, frames / 8 + 1);
        Self {
            memory: vec![(0, frames)],
            min,
            low: min + min.div_ceil(4),
            high: min + min.div_ceil(2),
            swap: true,
            reference_ns: 1,
            slice_ns: 3_000_000,
            read_ns: 100_000,
            write_ns: 100_000,
            reclaim_ns: 500,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let frames = self.memory.iter().map(|step| step.1).min().unwrap_or(0);
        if self.memory.first().is_none_or(|first| first.0 != 0) || frames == 0 {
            return Err(Error::Unfit(
                "a machine needs memory from its start".to_owned(),
            ));
        }
        if !(self.min <= self.low && self.low <= self.high && self.high < frames) {
            let marks = (self.min, self.low, self.high);
            return Err(Error::Unfit(format!(
                "watermarks {marks:?} do not rise below {frames} frames of memory"
            )));
        }
        if self.slice_ns == 0 || self.reference_ns == 0 {
            return Err(Error::Unfit("a reference and a slice take time".to_owned()));
        }
        Ok(())
    }

    /// Frames at a time.
    fn frames(&self, now: u64) -> usize {
        let at = self.memory.partition_point(|step| step.0 <= now);
        self.memory[at.saturating_sub(1)].1
    }
}

/// A program: its references, and what stands behind its pages.
#[derive(Debug, Clone)]
pub struct Process<'a> {
    /// As it is called in results.
    pub name: String,
    /// Its references.
    pub trace: &'a Trace,
    kinds: Vec<Kind>,
}

impl<'a> Process<'a> {
    /// What is behind each page is told by the trace's mappings; else what instructions are fetched from is a file and
    /// the rest anonymous; where operations are not known either, all is of files.
    pub fn new(name: &str, trace: &'a Trace) -> Self {
        let kind = |file: bool| if file { Kind::File } else { Kind::Anon };
        let kinds = match (trace.files(), trace.op()) {
            (Some(files), _) => files.into_iter().map(kind).collect(),
            (None, Some(op)) => {
                let mut fetched = vec![false; trace.pages()];
                for (page, op) in trace.refs().iter().zip(op) {
                    fetched[*page as usize] |= op.0 & Op::FETCH.0 != 0;
                }
                let any = fetched.contains(&true);
                fetched
                    .into_iter()
                    .map(|fetched| kind(fetched || !any))
                    .collect()
            }
            (None, None) => vec![Kind::File; trace.pages()],
        };
        Self {
            name: name.to_owned(),
            trace,
            kinds,
        }
    }

    /// The same with every page of this kind.
    #[must_use]
    pub fn all(mut self, kind: Kind) -> Self {
        self.kinds.fill(kind);
        self
    }
}
