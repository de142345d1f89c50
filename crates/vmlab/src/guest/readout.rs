//! The output of the load's processes, made into latencies, sums and moments.
//!
//! Lines: `op NAME AT_MS TOOK_MS`, `sum NAME VALUE`, `hog AT_MS`, `over AT_MS`. Scripts say `seconds NAME AT_S TOOK_S`, `hog-at AT_S`,
//! and `killed NAME AT_S`, because a shell can neither multiply nor see a thousandth of a second. Times are since boot.

use crate::conduct::OUT;
use std::collections::BTreeMap;
use std::fs;
use warmset_vmlab::plan::Latency;

/// An operation that a process timed.
#[derive(Debug, Clone, Copy)]
struct Operation {
    /// When it began, in milliseconds since boot.
    began: f64,
    /// How long it took, in milliseconds.
    took: f64,
}

/// All output.
#[derive(Debug, Default)]
pub(crate) struct ReadOut {
    operations: BTreeMap<String, Vec<Operation>>,
    /// How much work the load did.
    pub(crate) sums: BTreeMap<String, f64>,
    /// When hogs began, in milliseconds since boot.
    pub(crate) hogs: Vec<f64>,
    /// When hogs had more than the machine could spare.
    overs: Vec<f64>,
    /// What scripts saw killed: when, in milliseconds since boot, and the program.
    pub(crate) kills: Vec<(f64, String)>,
}

impl ReadOut {
    /// Reads all there is.
    pub(crate) fn take() -> Self {
        let mut all = Self::default();
        for entry in fs::read_dir(OUT).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            for line in text.lines() {
                let _ = all.add(line);
            }
        }
        for operations in all.operations.values_mut() {
            operations.sort_by(|a, b| a.began.total_cmp(&b.began));
        }
        all.hogs.sort_by(f64::total_cmp);
        all
    }

    /// `None` for a line that a killed process did not finish; it is left out.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["op", name, at, took] => self.time(name, at.parse().ok()?, took.parse().ok()?),
            ["seconds", name, at, took] => self.time(name, seconds(at)?, seconds(took)?),
            ["sum", name, value] => {
                let value: f64 = value.parse().ok()?;
                let sum = self.sums.entry(name.to_owned()).or_default();
                *sum += value;
            }
            ["hog", at] => self.hogs.push(at.parse().ok()?),
            ["hog-at", at] => self.hogs.push(seconds(at)?),
            ["over", at] => self.overs.push(at.parse().ok()?),
            ["killed", name, at] => self.kills.push((seconds(at)?, name.to_owned())),
            _ => return None,
        }
        Some(())
    }

    fn time(&mut self, name: &str, began: f64, took: f64) {
        let operations = self.operations.entry(name.to_owned());
        operations.or_default().push(Operation { began, took });
    }

    /// How long each kind of operation took.
    pub(crate) fn latencies(&self) -> BTreeMap<String, Latency> {
        let mut latencies = BTreeMap::new();
        for (name, operations) in &self.operations {
            let times = operations.iter().map(|operation| operation.took);
            if let Some(latency) = Latency::of(times.collect()) {
                latencies.insert(name.clone(), latency);
            }
        }
        latencies
    }

    /// How long the first operation that began after this moment took.
    pub(crate) fn next_after(&self, name: &str, at: f64) -> Option<f64> {
        let operations = self.operations.get(name)?;
        let next = operations.iter().find(|operation| operation.began >= at)?;
        Some(next.took)
    }

    /// When the last hog before this moment began.
    pub(crate) fn hog_before(&self, at: f64) -> Option<f64> {
        self.hogs.iter().rfind(|began| **began < at).copied()
    }

    /// When the hog that was killed at this moment had come to have more than the machine could spare; `None` if it had not.
    pub(crate) fn over_before(&self, at: f64) -> Option<f64> {
        let began = self.hog_before(at)?;
        let since = |over: &&f64| (began..at).contains(*over);
        self.overs.iter().find(since).copied()
    }
}

/// Milliseconds of a text in seconds.
fn seconds(text: &str) -> Option<f64> {
    let seconds: f64 = text.parse().ok()?;
    Some(seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_fragments_left() {
        let mut out = ReadOut::default();
        for line in [
            "op read 10.5 2",
            "op read 20 4",
            "sum mib 3",
            "sum mib 4",
            "hog 15",
            "over 17",
            "seconds cat 2.5 0.25",
            "killed tail 3.5",
            "op read 2",
            "noise",
        ] {
            let _ = out.add(line);
        }
        assert_eq!(out.latencies()["read"].max, 4.0);
        assert_eq!(out.sums["mib"], 7.0);
        assert_eq!(out.next_after("read", 11.0), Some(4.0));
        assert_eq!(out.hog_before(16.0), Some(15.0));
        assert_eq!(out.hog_before(14.0), None);
        assert_eq!(out.over_before(18.0), Some(17.0));
        assert_eq!(out.over_before(16.0), None);
        assert_eq!(out.next_after("cat", 2500.0), Some(250.0));
        assert_eq!(out.kills, [(3500.0, "tail".to_owned())]);
    }
}
