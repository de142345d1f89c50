//! What the engines that observe a running process share.

use super::arguments::Limits;
use super::engine::Engine;
use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use traces::Source;
use workingset::trace::Visibility;
use workingset::{About, Clock};

/// Mappings by first page: the last page, and the name.
pub(super) type Regions = BTreeMap<u64, (u64, String)>;

/// Bytes of the pages that these engines count, whatever the machine's own page size is.
pub(super) const PAGE: u64 = 4096;
/// Time between two checks of whether to stop: a person does not notice it, and a process is not slowed by it.
pub(super) const NAP: Duration = Duration::from_millis(50);

/// When a recording ends, unless the observed process ends first.
#[derive(Debug, Clone)]
pub(super) struct Until {
    limits: Limits,
    signal: Arc<AtomicBool>,
    began: Instant,
}

impl Until {
    /// By these limits, and by SIGINT or SIGTERM.
    pub(super) fn new(limits: Limits) -> Result<Self> {
        let until = Self::without_signals(limits);
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register(number, Arc::clone(&until.signal))?;
        }
        Ok(until)
    }

    /// By these limits alone.
    pub(super) fn without_signals(limits: Limits) -> Self {
        Self {
            limits,
            signal: Arc::new(AtomicBool::new(false)),
            began: Instant::now(),
        }
    }

    /// Time since the recording began.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The reason to stop now, after this many references.
    pub(super) fn reached(&self, references: u64) -> Option<String> {
        if self.signal.load(Ordering::Relaxed) {
            return Some("by a signal".to_owned());
        }
        if self
            .limits
            .references
            .is_some_and(|most| references >= most)
        {
            return Some(format!("after {references} references, as asked"));
        }
        let elapsed = self.elapsed();
        if self.limits.duration.is_some_and(|most| elapsed >= most) {
            return Some(format!("after {:.0} s, as asked", elapsed.as_secs_f64()));
        }
        None
    }
}

/// What is printed of a recording at its end.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// How near in time or place two uses may be and still be told apart.
    pub(super) resolution: String,
    /// Share of one CPU that observing took, where it is known.
    pub(super) looking: Option<f64>,
    /// Length of the recording.
    pub(super) lasted: Duration,
    /// What ended it, to follow "it ended".
    pub(super) end: String,
}

/// A recording of a running process.
pub(super) trait LiveRecording {
    /// The references as they come.
    fn source(&mut self) -> &mut dyn Source;

    /// Called once, after the last reference.
    fn summary(&mut self) -> Summary;
}

/// The head of the trace, before its first reference.
pub(super) fn about(engine: Engine, program: String) -> About {
    About {
        program,
        format: engine.name().to_owned(),
        page_size: PAGE,
        clock: Clock::Nanoseconds,
        visibility: Visibility::Scans,
        parameters: vec![("recorder".to_owned(), engine.name().to_owned())],
        ..About::default()
    }
}

/// The command line of a process, or its number if it has none.
pub(super) fn program(root: &Path, pid: u32) -> String {
    let line = std::fs::read(root.join(format!("proc/{pid}/cmdline"))).unwrap_or_default();
    let words: Vec<_> = line
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
    if words.is_empty() {
        return format!("process {pid}");
    }
    words.join(" ")
}

/// Mappings as first page, last page and name. Of two that overlap, the one at the lower address is cut: they were read
/// at different times.
pub(super) fn without_overlap(regions: &Regions) -> Vec<(u64, u64, String)> {
    let mut apart: Vec<(u64, u64, String)> = Vec::new();
    for (first, (last, name)) in regions {
        if let Some(before) = apart.last_mut() {
            before.1 = before.1.min(first - 1);
        }
        apart.push((*first, *last, name.clone()));
    }
    apart
}

/// The name of a mapping, given one if it has none.
pub(super) fn region_name(name: String) -> String {
    if name.is_empty() {
        return "[anonymous]".to_owned();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_different_times_do_not_overlap() {
        let regions: Regions = [
            (1, (9, region_name(String::new()))),
            (5, (20, "/b".to_owned())),
        ]
        .into();
        assert_eq!(
            without_overlap(&regions),
            [(1, 4, "[anonymous]".to_owned()), (5, 20, "/b".to_owned())]
        );
    }
}
