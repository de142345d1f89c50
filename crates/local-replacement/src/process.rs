//! One process, as the scan and the run queue both see it.

use units::Bytes;

/// A process as `stat` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot: a later process may have the same number.
    pub(crate) start: u64,
    /// What it calls itself.
    pub(crate) name: String,
    /// Memory in RAM, files included.
    pub(crate) resident: Bytes,
    /// It runs or waits to run.
    pub(crate) runs: bool,
}
