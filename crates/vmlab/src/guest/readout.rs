//! What the processes of the load wrote down, made into latencies, sums and moments.
//!
//! Lines: `op NAME AT_MS TOOK_MS`, `sum NAME VALUE`, `hog AT_MS`. Times are milliseconds since boot.

use crate::conduct::OUT;
use std::collections::BTreeMap;
use std::fs;
use warmset_vmlab::plan::Latency;

/// Everything that was written.
#[derive(Debug, Default)]
pub(crate) struct ReadOut {
    ops: BTreeMap<String, Vec<(f64, f64)>>,
    /// What the load got done.
    pub(crate) sums: BTreeMap<String, f64>,
    /// When hogs began.
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
        all.ops
            .values_mut()
            .for_each(|ops| ops.sort_by(|a, b| a.0.total_cmp(&b.0)));
        all.hogs.sort_by(f64::total_cmp);
        all
    }

    /// A line that a killed process left half written says nothing.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match *words.as_slice() {
            ["op", name, at, took] => {
                let op = (at.parse().ok()?, took.parse().ok()?);
                self.ops.entry(name.to_owned()).or_default().push(op);
            }
            ["sum", name, value] => {
                *self.sums.entry(name.to_owned()).or_default() += value.parse::<f64>().ok()?;
            }
            ["hog", at] => self.hogs.push(at.parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    /// How long each kind of operation took.
    pub(crate) fn latencies(&self) -> BTreeMap<String, Latency> {
        let of = |(name, ops): (&String, &Vec<(f64, f64)>)| {
            Some((
                name.clone(),
                Latency::of(ops.iter().map(|(_, took)| *took).collect())?,
            ))
        };
        self.ops.iter().filter_map(of).collect()
    }

    /// How long the first operation that began after this moment took.
    pub(crate) fn next_after(&self, name: &str, at: f64) -> Option<f64> {
        self.ops
            .get(name)?
            .iter()
            .find(|(began, _)| *began >= at)
            .map(|(_, took)| *took)
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
        assert_eq!(
            (out.hog_before(16.0), out.hog_before(14.0)),
            (Some(15.0), None)
        );
    }
}
