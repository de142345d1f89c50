//! Medians, and what resampling says of them.

/// Resamples of the bootstrap.
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
    let medians = (0..RESAMPLES)
        .map(|_| median(&random.resample(values)))
        .collect::<Option<Vec<f64>>>()?;
    let (low, high) = interval(medians)?;
    Some(Estimate {
        median: median(values)?,
        low,
        high,
        count: values.len(),
    })
}

/// Fewer values on a side tell nothing: all of two lie above all of two others once in three by chance. Of three it is
/// once in ten, of four once in thirty-five, of five once in 126.
pub const LEAST: usize = 3;

/// How the second differs from the first: whether the interval of the difference of medians leaves zero out.
pub fn differ(first: &[f64], second: &[f64]) -> bool {
    if first.len() < LEAST || second.len() < LEAST {
        return false;
    }
    let mut random = Random::new();
    let difference = |_| Some(median(&random.resample(second))? - median(&random.resample(first))?);
    let differences = (0..RESAMPLES).map(difference).collect::<Option<Vec<f64>>>();
    differences
        .and_then(interval)
        .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
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
    let at = |share: f64| {
        values
            .get(((values.len() - 1) as f64 * share).round() as usize)
            .copied()
    };
    (!values.is_empty()).then(|| Some((at(0.025)?, at(0.975)?)))?
}

/// Numbers that come again, so that a table does: SplitMix64.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(0x5eed)
    }

    fn resample(&mut self, values: &[f64]) -> Vec<f64> {
        (0..values.len())
            .filter_map(|_| {
                values
                    .get((self.next() % values.len() as u64) as usize)
                    .copied()
            })
            .collect()
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
    fn the_interval_holds_the_median_and_comes_again() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        let estimate_of = estimate(&values).unwrap();
        assert_eq!(estimate_of.median, 3.0);
        assert!(
            estimate_of.low <= 3.0 && estimate_of.high >= 3.0 && estimate_of.low < estimate_of.high
        );
        assert_eq!(estimate(&values), Some(estimate_of));
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
