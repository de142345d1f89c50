//! Time against memory: the exponent of a power law, fitted where a program thrashes.
//!
//! The founding report saw about M^-4 for programs that thrash, and no dependence for those that have enough.

use super::statistics::median;
use crate::line::{Line, State};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A run this many times longer than the fastest counts as thrashing. Less would count noise of the host, more would leave
/// out sizes that already thrash.
const THRASHING: f64 = 1.5;

/// Sizes of memory below which a curve is no curve.
const FEWEST_SIZES: usize = 3;

/// Seconds of each build by memory in MiB.
type Times = BTreeMap<u64, Vec<f64>>;

/// A paragraph for each arm of `build` with enough sizes of memory; empty if there is none.
pub fn time_against_memory(lines: &[Line]) -> String {
    let mut arms: BTreeMap<&str, Times> = BTreeMap::new();
    for line in lines {
        if line.scenario != "build" || line.state != State::Finished {
            continue;
        }
        let Some(build) = line.report.latency.get("build") else {
            continue;
        };
        let sizes = arms.entry(&line.arm).or_default();
        let times = sizes.entry(line.machine.setting.memory_mib).or_default();
        times.push(build.max / 1e3);
    }
    let mut text = String::new();
    for (arm, sizes) in arms {
        if sizes.len() >= FEWEST_SIZES {
            text += &paragraph(arm, &sizes);
        }
    }
    text
}

fn paragraph(arm: &str, sizes: &Times) -> String {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (memory, times) in sizes {
        if let Some(time) = median(times) {
            points.push((*memory as f64, time));
        }
    }
    let times = points.iter().map(|(_, time)| *time);
    let fastest = times.fold(f64::INFINITY, f64::min);
    let mut text =
        format!("Build time against memory, {arm}:\n\n| MiB | s | state |\n|---:|---:|---|\n");
    let mut thrashing = Vec::new();
    for (memory, time) in points {
        let state = if time > fastest * THRASHING {
            thrashing.push((memory, time));
            "thrashing"
        } else {
            "working"
        };
        let _ = writeln!(text, "| {memory} | {time:.1} | {state} |");
    }
    let _ = match exponent(&thrashing) {
        Some(power) => writeln!(text, "\nWhere it thrashes, time goes as M^{power:.1}.\n"),
        None => writeln!(
            text,
            "\nIt thrashes at fewer than two sizes: nothing to fit.\n"
        ),
    };
    text
}

/// The power of memory that time goes with, by least squares on logarithms.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let memory: Vec<f64> = points.iter().map(|(memory, _)| memory.ln()).collect();
    let time: Vec<f64> = points.iter().map(|(_, time)| time.ln()).collect();
    let mean_memory = mean(&memory);
    let mean_time = mean(&time);
    let mut spread = 0.0;
    let mut together = 0.0;
    for (memory, time) in memory.iter().zip(&time) {
        spread += (memory - mean_memory).powi(2);
        together += (memory - mean_memory) * (time - mean_time);
    }
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    Some(together / spread)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
