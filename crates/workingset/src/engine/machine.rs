//! The machine that several programs share.

use crate::Error;

/// The machine: its memory, watermarks and times.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Frames of memory, each from a time in ns on; the first from 0.
    pub memory: Vec<(u64, usize)>,
    /// Free frames below which a process must reclaim itself.
    pub min: usize,
    /// Free frames below which kswapd reclaims.
    pub low: usize,
    /// Free frames at which kswapd stops.
    pub high: usize,
    /// Whether anonymous pages can be written to swap.
    pub swap: bool,
    /// Nanoseconds that a reference takes.
    pub reference_ns: u64,
    /// Nanoseconds that a process runs before another one may.
    pub slice_ns: u64,
    /// Nanoseconds to read a page.
    pub read_ns: u64,
    /// Nanoseconds to write a page.
    pub write_ns: u64,
    /// Nanoseconds of reclaim for each page.
    pub reclaim_ns: u64,
}

impl Machine {
    /// A machine with the kernel's watermarks for so many frames, a disk of 100 µs a page, and a
    /// nanosecond for each reference.
    pub fn of(frames: usize) -> Self {
        // The kernel's min_free_kbytes is 4·√(KiB of memory), here in pages of 4 KiB. low is a
        // quarter above it, high a half.
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

    pub(super) fn check(&self) -> Result<(), Error> {
        let frames = self.memory.iter().map(|step| step.1).min().unwrap_or(0);
        if self.memory.first().is_none_or(|first| first.0 != 0) || frames == 0 {
            let what = "a machine needs memory from its start";
            return Err(Error::Unfit(what.to_owned()));
        }
        let is_rising = self.min <= self.low && self.low <= self.high;
        if !is_rising || self.high >= frames {
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

    /// Frames of memory at a time.
    pub(super) fn frames(&self, now: u64) -> usize {
        let at = self.memory.partition_point(|step| step.0 <= now);
        self.memory[at.saturating_sub(1)].1
    }
}
