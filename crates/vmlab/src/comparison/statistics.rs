//! Medians, and their intervals by resampling.

/// Resamples of the bootstrap. More change the ends of an interval by less than what another run would.
const RESAMPLES: usize = 4000;

/// A median with the interval that 95 % of resamples fall into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many values.
    pub count: usize,
}

/// The median of these, with its percentile bootstrap interval (Efron 1979).
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let mut random = Random::new();
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        medians.push(median(&random.resample(values))?);
    }
    let (low, high) = interval(medians)?;
    Some(Estimate {
        median: median(values)?,
        low,
        high,
        count: values.len(),
    })
}

/// Fewest values on each side. By chance all of two lie above, or below, all of two others once in three times. Of three
/// it is once in ten, of four once in thirty-five, of five once in 126.
pub const LEAST: usize = 3;

/// Returns true if the interval of the difference of medians does not contain zero.
pub fn differ(first: &[f64], second: &[f64]) -> bool {
    if first.len() < LEAST || second.len() < LEAST {
        return false;
    }
    match difference(first, second) {
        Some((low, high)) => low > 0.0 || high < 0.0,
        None => false,
    }
}

/// The interval of the second median less the first.
fn difference(first: &[f64], second: &[f64]) -> Option<(f64, f64)> {
    let mut random = Random::new();
    let mut differences = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let after = median(&random.resample(second))?;
        let before = median(&random.resample(first))?;
        differences.push(after - before);
    }
    interval(differences)
}

/// The middle one, or the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        upper
    } else {
        (upper + sorted.get(middle - 1)?) / 2.0
    })
}

fn interval(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)? as f64;
    let low = (last * 0.025).round() as usize;
    let high = (last * 0.975).round() as usize;
    Some((*values.get(low)?, *values.get(high)?))
}

/// Pseudo-random numbers with a fixed seed, so that a table is the same each time it is made: SplitMix64.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x5eed)
    }

    fn resample(&mut self, values: &[f64]) -> Vec<f64> {
        let count = values.len() as u64;
        let mut sample = Vec::with_capacity(values.len());
        for _ in values {
            let place = self.next() % count;
            sample.extend(values.get(place as usize));
        }
        sample
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_contains_the_median_and_is_the_same_each_time() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        let first = estimate(&values).unwrap();
        assert_eq!(first.median, 3.0);
        assert!(first.low <= 3.0);
        assert!(first.high >= 3.0);
        assert!(first.low < first.high);
        assert_eq!(estimate(&values), Some(first));
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn far_values_differ_and_mixed_ones_do_not() {
        assert!(differ(&[540.0, 542.0, 538.0], &[0.0, 3.0, 1.0]));
        assert!(!differ(&[1.0, 5.0, 3.0], &[2.0, 4.0, 3.0]));
        assert!(
            !differ(&[540.0, 541.0], &[0.0, 1.0]),
            "two runs tell nothing of chance"
        );
        assert!(!differ(&[2.0, 2.0], &[2.0, 2.0]));
    }
}
