//! Whether sizes are spread like one normal distribution, or like several.
//!
//! - Law: mixtures of one to four normal distributions, by expectation and maximisation from equal parts of the sorted
//!   values; the number of parts by BIC = k ln n − 2 ln L, k = 3·parts − 1.
//! - n is what the caller says: moments of a program are not independent, so it is the number of stretches of time, not
//!   of references.
//! - Cost: O(sizes · parts · rounds), 200 rounds at most.
//! - Source: Dempster, Laird, Rubin, JRSS B 39(1), 1977; Schwarz, Annals of Statistics 6(2), 1978.

use serde::Serialize;
use std::f64::consts::PI;

/// One of the distributions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    /// Share of the time.
    pub weight: f64,
    /// Pages.
    pub mean: f64,
    /// Pages.
    pub deviation: f64,
}

/// The best number of distributions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mixture {
    /// By rising mean.
    pub parts: Vec<Part>,
    /// By number of parts, from one on: the least is best.
    pub bic: Vec<f64>,
}

const MOST: usize = 4;
const ROUNDS: usize = 200;
/// No part is narrower: sizes are whole pages.
const NARROW: f64 = 0.5;

impl Part {
    /// Its density at a size, its weight included.
    pub fn density(&self, size: f64) -> f64 {
        let from = (size - self.mean) / self.deviation;
        self.weight * (-0.5 * from * from).exp() / (self.deviation * (2.0 * PI).sqrt())
    }
}

impl Mixture {
    /// Of weights by size, counted as `samples` independent values; `None` if all have one size.
    pub fn of(weights: &[u64], samples: usize) -> Option<Self> {
        let all: f64 = weights.iter().map(|weight| *weight as f64).sum();
        let seen: Vec<(f64, f64)> = (weights.iter().enumerate())
            .filter(|(_, weight)| **weight > 0)
            .map(|(size, weight)| (size as f64, *weight as f64 / all))
            .collect();
        if seen.len() < 2 {
            return None;
        }
        let fits: Vec<(Vec<Part>, f64)> = (1..=MOST.min(seen.len() - 1))
            .map(|parts| fit(&seen, parts))
            .collect();
        let bic = fits.iter().enumerate().map(|(at, (_, likelihood))| {
            let free = 3.0 * (at + 1) as f64 - 1.0;
            free * (samples as f64).ln() - 2.0 * samples as f64 * likelihood
        });
        let bic: Vec<f64> = bic.collect();
        let best = (0..bic.len()).min_by(|one, other| bic[*one].total_cmp(&bic[*other]))?;
        let mut parts = fits.into_iter().nth(best)?.0;
        parts.sort_by(|one, other| one.mean.total_cmp(&other.mean));
        Some(Self { parts, bic })
    }
}

/// Parts, and the mean logarithm of the density of a value.
fn fit(seen: &[(f64, f64)], count: usize) -> (Vec<Part>, f64) {
    let mut parts = equal_parts(seen, count);
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let mut sums = vec![(0.0, 0.0, 0.0); count];
        let mut now = 0.0;
        for (size, weight) in seen {
            let densities: Vec<f64> = parts.iter().map(|part| part.density(*size)).collect();
            let all = densities.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            now += weight * all.ln();
            for (sum, density) in sums.iter_mut().zip(densities) {
                let own = weight * density / all;
                *sum = (sum.0 + own, sum.1 + own * size, sum.2 + own * size * size);
            }
        }
        for (part, (weight, first, second)) in
            parts.iter_mut().zip(sums).filter(|(_, sum)| sum.0 > 1e-9)
        {
            let mean = first / weight;
            let deviation = (second / weight - mean * mean).max(0.0).sqrt().max(NARROW);
            *part = Part {
                weight,
                mean,
                deviation,
            };
        }
        if now - likelihood < 1e-9 {
            break;
        }
        likelihood = now;
    }
    (parts, likelihood)
}

/// Where to begin: the sorted values in parts of equal weight.
fn equal_parts(seen: &[(f64, f64)], count: usize) -> Vec<Part> {
    let mut sums = vec![(0.0, 0.0, 0.0); count];
    let mut passed = 0.0;
    for (size, weight) in seen {
        let place = ((passed + weight / 2.0) * count as f64) as usize;
        let sum = &mut sums[place.min(count - 1)];
        *sum = (
            sum.0 + weight,
            sum.1 + weight * size,
            sum.2 + weight * size * size,
        );
        passed += weight;
    }
    let middle = seen[seen.len() / 2].0;
    let part = |(weight, first, second): (f64, f64, f64)| {
        let mean = if weight > 0.0 { first / weight } else { middle };
        let deviation = if weight > 0.0 {
            (second / weight - mean * mean).max(0.0).sqrt()
        } else {
            1.0
        };
        Part {
            weight: 1.0 / count as f64,
            mean,
            deviation: deviation.max(1.0),
        }
    };
    sums.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;

    fn drawn(means: &[f64]) -> Vec<u64> {
        let mut dice = Dice::new(6);
        let mut weights = vec![0; 400];
        for at in 0..20_000 {
            let spread = (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
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
