//! The output of the load's processes, made into latencies, sums and moments.
//!
//! Lines: `op NAME AT_MS TOOK_MS`, `sum NAME VALUE`, `hog AT_MS`. Times are milliseconds since boot.

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
            ["op", name, at, took] => {
                let operation = Operation {
                    began: at.parse().ok()?,
                    took: took.parse().ok()?,
                };
                let operations = self.operations.entry(name.to_owned());
                operations.or_default().push(operation);
            }
            ["sum", name, value] => {
                let value: f64 = value.parse().ok()?;
                let sum = self.sums.entry(name.to_owned()).or_default();
                *sum += value;
            }
            ["hog", at] => self.hogs.push(at.parse().ok()?),
            _ => return None,
        }
        Some(())
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
    }
}
