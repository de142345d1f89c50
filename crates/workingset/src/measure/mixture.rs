//! Whether sizes are spread like one normal distribution, or like several.
//!
//! - Rule: mixtures of one to four normal distributions, fitted by expectation and maximisation
//!   from equal parts of the sorted values. The number of parts is that of the least BIC = k ln n −
//!   2 ln L, with k = 3·parts − 1.
//! - The caller says what n is: the moments of a program are not independent, so it is the number
//!   of stretches of time, not of references.
//! - Cost: O(sizes · parts · rounds), with at most 200 rounds.
//! - Source: Dempster, Laird, Rubin, JRSS B 39(1), 1977; Schwarz, Annals of Statistics 6(2), 1978.

use serde::Serialize;
use std::f64::consts::PI;

/// One normal distribution of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    /// Share of the time.
    pub weight: f64,
    /// The mean, in pages.
    pub mean: f64,
    /// The standard deviation, in pages.
    pub deviation: f64,
}

/// The mixture with the best number of distributions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mixture {
    /// The distributions, by rising mean.
    pub parts: Vec<Part>,
    /// The BIC by number of parts, from one on: the least is best.
    pub bic: Vec<f64>,
}

/// The most parts that are tried: a program seldom has more sizes that a picture tells apart.
const MOST: usize = 4;
/// The most rounds. Most fits end long before, when a round gains less than 1e-9.
const ROUNDS: usize = 200;
/// No part is narrower: sizes are whole pages.
const NARROW: f64 = 0.5;

impl Part {
    /// The density at a size, times the weight.
    pub fn density(&self, size: f64) -> f64 {
        let from = (size - self.mean) / self.deviation;
        let scale = self.deviation * (2.0 * PI).sqrt();
        self.weight * (-0.5 * from * from).exp() / scale
    }
}

impl Mixture {
    /// The best mixture for weights by size, counted as `samples` independent values. `None` if all
    /// weight is at one size.
    pub fn of(weights: &[u64], samples: usize) -> Option<Self> {
        let all: f64 = weights.iter().map(|weight| *weight as f64).sum();
        let mut seen = Vec::new();
        for (size, weight) in weights.iter().enumerate() {
            if *weight > 0 {
                seen.push((size as f64, *weight as f64 / all));
            }
        }
        if seen.len() < 2 {
            return None;
        }
        let samples = samples as f64;
        let mut best: Option<(f64, Vec<Part>)> = None;
        let mut all_bic = Vec::new();
        for count in 1..=MOST.min(seen.len() - 1) {
            let (parts, likelihood) = fit(&seen, count);
            let parameters = 3.0 * count as f64 - 1.0;
            let bic = parameters * samples.ln() - 2.0 * samples * likelihood;
            all_bic.push(bic);
            let is_better = match &best {
                Some((least, _)) => bic.total_cmp(least).is_lt(),
                None => true,
            };
            if is_better {
                best = Some((bic, parts));
            }
        }
        let (_, mut parts) = best?;
        parts.sort_by(|one, other| one.mean.total_cmp(&other.mean));
        Some(Self {
            parts,
            bic: all_bic,
        })
    }
}

/// Sums of weights, of weighted sizes, and of weighted squares of sizes.
#[derive(Clone, Copy, Default)]
struct Moments {
    weight: f64,
    first: f64,
    second: f64,
}

impl Moments {
    fn add(&mut self, size: f64, weight: f64) {
        self.weight += weight;
        self.first += weight * size;
        self.second += weight * size * size;
    }

    fn mean(&self) -> f64 {
        self.first / self.weight
    }

    fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.second / self.weight - mean * mean).max(0.0).sqrt()
    }
}

/// The parts that fit best, and the mean logarithm of the density of a value.
fn fit(seen: &[(f64, f64)], count: usize) -> (Vec<Part>, f64) {
    let mut parts = equal_parts(seen, count);
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let mut sums = vec![Moments::default(); count];
        let mut now = 0.0;
        for (size, weight) in seen {
            let densities: Vec<f64> = parts.iter().map(|part| part.density(*size)).collect();
            let all = densities.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            now += weight * all.ln();
            for (sum, density) in sums.iter_mut().zip(densities) {
                sum.add(*size, weight * density / all);
            }
        }
        for (part, sum) in parts.iter_mut().zip(sums) {
            // A part that has lost its weight stays as it is.
            if sum.weight > 1e-9 {
                *part = Part {
                    weight: sum.weight,
                    mean: sum.mean(),
                    deviation: sum.deviation().max(NARROW),
                };
            }
        }
        if now - likelihood < 1e-9 {
            break;
        }
        likelihood = now;
    }
    (parts, likelihood)
}

/// The parts to begin with: the sorted values in parts of equal weight.
fn equal_parts(seen: &[(f64, f64)], count: usize) -> Vec<Part> {
    let mut sums = vec![Moments::default(); count];
    let mut passed = 0.0;
    for (size, weight) in seen {
        let place = ((passed + weight / 2.0) * count as f64) as usize;
        sums[place.min(count - 1)].add(*size, *weight);
        passed += weight;
    }
    let median = seen[seen.len() / 2].0;
    let mut parts = Vec::with_capacity(count);
    for sum in sums {
        let is_empty = sum.weight <= 0.0;
        let mean = if is_empty { median } else { sum.mean() };
        let deviation = if is_empty { 1.0 } else { sum.deviation() };
        parts.push(Part {
            weight: 1.0 / count as f64,
            mean,
            deviation: deviation.max(1.0),
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn drawn(means: &[f64]) -> Vec<u64> {
        let mut rng = Rng::new(6);
        let mut weights = vec![0; 400];
        for at in 0..20_000 {
            let spread = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            weights[(means[at % means.len()] + 8.0 * spread) as usize] += 1;
        }
        weights
    }

    #[test]
    fn parts_are_found_as_they_were_made() {
        let one = Mixture::of(&drawn(&[100.0]), 1000).unwrap();
        assert_eq!(one.parts.len(), 1);
        assert!(
            (one.parts[0].mean - 99.5).abs() < 0.5 && (one.parts[0].deviation - 8.0).abs() < 0.5,
            "{one:?}"
        );
        let two = Mixture::of(&drawn(&[100.0, 250.0]), 1000).unwrap();
        assert_eq!(two.parts.len(), 2);
        assert!(
            (two.parts[1].mean - 249.5).abs() < 1.0 && (two.parts[1].weight - 0.5).abs() < 0.02,
            "{two:?}"
        );
        assert_eq!(Mixture::of(&[0, 0, 7], 1000), None);
    }
}
