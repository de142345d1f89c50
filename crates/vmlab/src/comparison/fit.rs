//! Time against memory: a straight line on logarithmic scales, below the memory at which more no longer helps.
//!
//! The founding report saw about M^-4 for programs that thrash, and no dependence for those that work.

use super::statistics::median;
use crate::line::{Line, State};
use std::collections::BTreeMap;
use std::fmt::Write;

/// More than the fastest by this, and a run is thrashing.
const THRASHING: f64 = 1.5;

/// A paragraph for each arm of `build` with three or more sizes of memory; empty if there is none.
pub fn time_against_memory(lines: &[Line]) -> String {
    let mut arms: BTreeMap<&str, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for line in lines
        .iter()
        .filter(|line| line.scenario == "build" && line.state == State::Finished)
    {
        if let Some(build) = line.report.latency.get("build") {
            arms.entry(&line.arm)
                .or_default()
                .entry(line.machine.setting.memory_mib)
                .or_default()
                .push(build.max / 1e3);
        }
    }
    let mut text = String::new();
    for (arm, sizes) in arms.iter().filter(|(_, sizes)| sizes.len() >= 3) {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .filter_map(|(memory, times)| Some((*memory as f64, median(times)?)))
            .collect();
        let fastest = points
            .iter()
            .map(|(_, time)| *time)
            .fold(f64::INFINITY, f64::min);
        let _ = writeln!(
            text,
            "Build time against memory, {arm}:\n\n| MiB | s | state |\n|---:|---:|---|"
        );
        for (memory, time) in &points {
            let state = if *time > fastest * THRASHING {
                "thrashing"
            } else {
                "working"
            };
            let _ = writeln!(text, "| {memory} | {time:.1} | {state} |");
        }
        let thrashing: Vec<(f64, f64)> = points
            .iter()
            .copied()
            .filter(|(_, time)| *time > fastest * THRASHING)
            .collect();
        let _ = match exponent(&thrashing) {
            Some(power) => writeln!(text, "\nWhere it thrashes, time goes as M^{power:.1}.\n"),
            None => writeln!(
                text,
                "\nIt thrashes at fewer than two sizes: nothing to fit.\n"
            ),
        };
    }
    text
}

/// The power of memory that time goes with, by least squares on logarithms.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|(memory, time)| (memory.ln(), time.ln()))
        .collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = logs.iter().map(|point| (point.0 - x).powi(2)).sum();
    let together: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (logs.len() >= 2 && spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_found_again() {
        let points: Vec<(f64, f64)> = [128.0_f64, 192.0, 256.0]
            .iter()
            .map(|memory| (*memory, 1e12 * memory.powi(-4)))
            .collect();
        assert!((exponent(&points).unwrap() + 4.0).abs() < 1e-9);
        assert_eq!(exponent(&points[..1]), None);
    }
}
