//! A histogram that forgets, and answers quantiles.
//!
//! Values fall into buckets that grow by an eighth; each carries a weight, and all weights halve in
//! every half-life. So old bursts fade, rare ones stay until they have, and nothing is sorted.
//!
//! - Law: after time `t` a weight `w` is `w · 2^(−t/h)`; the quantile `q` is the least bucket bound
//!   at or below which at least `q` of the weight lies.
//! - Error: a quantile is at most 1/8 above a true value. Cost: O(buckets) each, no allocation.
//! - Source: HDR-histogram bucketing; exponential decay as in Cormode et al., ICDE 2009.
//! - Limit: between whole half-lives the decay is interpolated linearly (at most 6.2 % high), so that no
//!   transcendental function is needed and every build computes the same.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Buckets per doubling: a quantile is at most an eighth too high. More are more exact and cost as much more memory.
const STEPS: u64 = 8;
/// Values up to 2^48 are told apart: 256 TiB in bytes.
const BUCKETS: usize = 48 * STEPS as usize;

/// Weighted values, fading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Recorded")]
pub struct Sketch {
    weights: Vec<f64>,
}

/// A sketch as a recording has it.
#[derive(Deserialize)]
struct Recorded {
    weights: Vec<f64>,
}

impl TryFrom<Recorded> for Sketch {
    type Error = String;

    /// Buckets of another number are other buckets, and mean nothing here.
    fn try_from(recorded: Recorded) -> Result<Self, String> {
        let weights = recorded.weights;
        if weights.len() == BUCKETS {
            Ok(Self { weights })
        } else {
            let found = weights.len();
            Err(format!("a sketch of {found} buckets, not of {BUCKETS}"))
        }
    }
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            weights: vec![0.0; BUCKETS],
        }
    }
}

impl Sketch {
    /// Adds `value` with `weight`.
    pub fn add(&mut self, value: u64, weight: f64) {
        self.weights[bucket(value)] += weight;
    }

    /// Multiplies all weights by `factor`, between 0 and 1.
    pub fn fade(&mut self, factor: f64) {
        for weight in &mut self.weights {
            *weight *= factor;
        }
    }

    /// The value below or at which `share` of the weight lies; `None` while nothing was added.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: f64 = self.weights.iter().sum();
        if total < 1e-9 {
            return None;
        }
        // A share of a whole number of weights must not miss it by a rounding error.
        let wanted = share * total * (1.0 - 1e-9);
        let mut below = 0.0;
        let mut last = 0;
        for (index, weight) in self
            .weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight > 0.0)
        {
            below += weight;
            last = index;
            if below >= wanted {
                break;
            }
        }
        Some(bound(last))
    }
}

/// What is left of a weight after `elapsed`, if half goes in every `half_life`.
pub fn faded(elapsed: Duration, half_life: Duration) -> f64 {
    let halves = elapsed.as_secs_f64() / half_life.as_secs_f64().max(1e-3);
    let whole = halves as u32;
    if whole >= 64 {
        return 0.0;
    }
    (1.0 - (halves - f64::from(whole)) / 2.0) / (1u64 << whole) as f64
}

/// The bucket of `value`: zero has its own, the rest eight to a doubling.
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let doubling = u64::from(value.ilog2()) - 2;
    let step = (value >> (doubling - 1)) - STEPS;
    ((doubling * STEPS + step) as usize).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn bound(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let doubling = bucket / STEPS;
    let step = bucket % STEPS;
    ((STEPS + step + 1) << (doubling - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_is_at_most_an_eighth_below_its_bound(value in 0u64..1 << 40) {
            let bound = bound(bucket(value));
            prop_assert!(bound >= value && bound - value <= value / 8, "{value} in a bucket up to {bound}");
        }

        #[test]
        fn quantiles_agree_with_sorting(mut values in prop::collection::vec(0u64..1 << 32, 1..200), percent in 1usize..100) {
            let mut sketch = Sketch::default();
            values.iter().for_each(|&value| sketch.add(value, 1.0));
            values.sort_unstable();
            let rank = (percent * values.len()).div_ceil(100).max(1) - 1;
            let exact = values[rank];
            let got = sketch.quantile(percent as f64 / 100.0).unwrap();
            prop_assert!(got >= exact && got - exact <= exact / 8 + 1, "{percent} %: {exact}, not {got}");
        }
    }

    #[test]
    fn what_is_old_fades() {
        let mut sketch = Sketch::default();
        sketch.add(1000, 1.0);
        sketch.fade(faded(Duration::from_secs(600), Duration::from_secs(60)));
        sketch.add(10, 1.0);
        assert_eq!(sketch.quantile(0.99), Some(10));
        assert_eq!(Sketch::default().quantile(0.5), None);
    }

    #[test]
    fn decay_is_exact_at_whole_half_lives() {
        let minute = Duration::from_secs(60);
        assert_eq!(faded(Duration::ZERO, minute), 1.0);
        assert_eq!(faded(minute, minute), 0.5);
        assert_eq!(faded(3 * minute, minute), 0.125);
        assert_eq!(faded(Duration::from_secs(90), minute), 0.375);
        assert_eq!(faded(1000 * minute, minute), 0.0);
    }
}
