//! LRU's miss curve from a part of the pages: SHARDS.
//!
//! A page is in the sample iff the hash of its number is below a threshold, so all or none of its
//! references are. Distances in the sample are scaled by 1/R. The number of sampled references
//! differs from the expected one; the difference goes to the smallest distance (SHARDS-adj).
//!
//! - The curve never rises, begins with a miss for every reference, and ends with the pages of the trace, which are known.
//! - It tells nothing of a memory below 1/R pages, and says so: [`Sample::resolution`].
//! - Error: in the mean over sizes about 0.6/√(pages in the sample), worst at sizes below a few
//!   1/R. [`MissCurve::of`] is exact.
//! - Cost: a look at one byte for each reference, then the exact cost of what is sampled.
//! - Source: Waldspurger, Park, Garthwaite, Ahmad, FAST 2015. With a fixed size, their threshold
//!   falls while the trace is read. Here all pages are known, and the threshold is the one that
//!   theirs would end with.

use super::stack::{MissCurve, distances};
use crate::rng::page_hash;
use crate::trace::demand_order;
use crate::{Error, NONE, Page, Trace};
use serde::Serialize;

/// How a sample is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// This share of the pages, above 0 and at most 1.
    Rate(f64),
    /// At most so many pages.
    Pages(usize),
}

impl Sampling {
    /// The sampling that a number stands for: a share of the pages up to 1, a number of pages
    /// above.
    pub fn told(number: f64) -> Result<Self, Error> {
        match number {
            rate if rate <= 1.0 => Ok(Self::Rate(rate)),
            pages if pages.is_finite() => Ok(Self::Pages(pages as usize)),
            wrong => Err(Error::Unfit(format!(
                "a sample of {wrong}: a share up to 1 or a number of pages is meant"
            ))),
        }
    }
}

/// What is known of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// The share of the pages that is sampled.
    pub rate: f64,
    /// Pages in the sample.
    pub pages: usize,
    /// The expected mean error of the miss ratios over all sizes.
    pub error: f64,
    /// The pages of the trace for each in the sample. Of a smaller memory the sample tells nothing: its curve counts all references
    /// as misses there.
    pub resolution: usize,
}

impl Sample {
    pub(super) fn of(rate: f64, pages: usize) -> Self {
        let is_part = rate < 1.0;
        Self {
            rate,
            pages,
            error: if is_part {
                0.6 / (pages.max(1) as f64).sqrt()
            } else {
                0.0
            },
            resolution: (1.0 / rate).round().max(1.0) as usize,
        }
    }
}

/// A curve, and the sample that it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// The curve, at the sizes of the whole trace.
    pub curve: MissCurve,
    /// The sample.
    pub sample: Sample,
}

/// For each page, whether it is in the sample; and the share of hashes below the threshold.
fn chosen(trace: &Trace, sampling: Sampling) -> Result<(Vec<bool>, f64), Error> {
    let hashes: Vec<u64> = trace.names().iter().map(|page| page_hash(*page)).collect();
    let threshold = match sampling {
        Sampling::Rate(rate) if rate > 0.0 && rate <= 1.0 => (rate * u64::MAX as f64) as u64,
        Sampling::Rate(rate) => {
            return Err(Error::Unfit(format!(
                "a rate of {rate}: above 0 and at most 1 is meant"
            )));
        }
        Sampling::Pages(0) => return Err(Error::Unfit("a sample of 0 pages".to_owned())),
        Sampling::Pages(pages) if pages >= hashes.len() => u64::MAX,
        Sampling::Pages(pages) => {
            let mut sorted = hashes.clone();
            *sorted.select_nth_unstable(pages).1
        }
    };
    let mut chosen = Vec::with_capacity(hashes.len());
    for hash in hashes {
        chosen.push(hash < threshold || threshold == u64::MAX);
    }
    Ok((chosen, threshold as f64 / u64::MAX as f64))
}

/// The curve from a sample.
///
/// Errors: a sample without a page, a trace without an order.
pub fn sampled(trace: &Trace, sampling: Sampling) -> Result<Sampled, Error> {
    demand_order(&trace.about, "lru")?;
    let (chosen, rate) = chosen(trace, sampling)?;
    let pages = chosen.iter().filter(|chosen| **chosen).count();
    if pages == 0 {
        let all = trace.pages();
        return Err(Error::Unfit(format!(
            "a rate of {rate} leaves none of {all} pages: sample more, or take the exact curve"
        )));
    }
    let sample = Sample::of(rate, pages);
    let refs = filtered(trace.refs(), &chosen);
    let counts = distances(&refs, pages);
    let most = trace.pages();
    let mut hits = vec![0.0; most + 1];
    for (depth, count) in counts.iter().enumerate().skip(1) {
        let whole_depth = (depth as f64 / rate).round() as usize;
        hits[whole_depth.clamp(1, most)] += *count as f64 / rate;
    }
    let expected = trace.len() - most;
    balance(&mut hits, expected as f64, sample.resolution.min(most));
    let curve = MissCurve::scaled(hits, trace.len() as u64, most as u64);
    Ok(Sampled { curve, sample })
}

/// Makes the sum of the hits what it is in the whole trace: what is missing is added at the smallest distance that the sample tells,
/// and what is too much is taken from the smallest distances. So no count is negative, and the curve never rises.
fn balance(hits: &mut [f64], expected: f64, smallest: usize) {
    let missing = expected - hits.iter().sum::<f64>();
    if missing >= 0.0 {
        hits[smallest] += missing;
        return;
    }
    let mut too_much = -missing;
    for hits in hits {
        let taken = hits.min(too_much);
        *hits -= taken;
        too_much -= taken;
    }
}

/// The references of chosen pages, numbered densely among these.
fn filtered(refs: &[Page], chosen: &[bool]) -> Vec<Page> {
    let mut kept: Vec<Page> = Vec::with_capacity(refs.len() / 32 + 64);
    let mut buffer = [0; 1024];
    for chunk in refs.chunks(buffer.len()) {
        // Without a branch, which could not be predicted: which references are kept is by chance.
        let mut count = 0;
        for page in chunk {
            buffer[count] = *page;
            count += usize::from(chosen[*page as usize]);
        }
        kept.extend_from_slice(&buffer[..count]);
    }
    let mut numbers = vec![NONE; chosen.len()];
    let mut next = 0;
    for page in &mut kept {
        let number = &mut numbers[*page as usize];
        if *number == NONE {
            *number = next;
            next += 1;
        }
        *page = *number;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_falls_from_all_references_to_all_pages(
            pages in prop::collection::vec(prop_oneof![0..4_u64, 0..90_u64], 1..300),
            rate in 0.01..1.0_f64,
        ) {
            let trace = Trace::of(&pages).unwrap();
            let Ok(Sampled { curve, sample }) = sampled(&trace, Sampling::Rate(rate)) else {
                return Ok(());
            };
            let all = curve.all();
            prop_assert_eq!(all[0], trace.len() as f64);
            prop_assert!(all.windows(2).all(|pair| pair[1] <= pair[0]), "{:?}", all);
            let last = all[trace.pages()];
            let distinct = trace.pages() as f64;
            prop_assert!(last >= distinct && last < distinct + 1e-6, "{} of {}", last, distinct);
            let unknown = sample.resolution.min(trace.pages());
            prop_assert!(all[..unknown].iter().all(|misses| *misses == all[0]));
        }
    }

    #[test]
    fn a_sample_of_all_is_exact_and_a_part_is_near() {
        let mut rng = crate::rng::Rng::new(3);
        let pages: Vec<u64> = (0..200_000)
            .map(|_| (rng.unit() * rng.unit() * 20_000.0) as u64)
            .collect();
        let trace = Trace::of(&pages).unwrap();
        let exact = MissCurve::of(&trace).all();
        let error = |sampling| {
            let sampled = sampled(&trace, sampling).unwrap();
            let sum: f64 = sampled
                .curve
                .all()
                .iter()
                .zip(&exact)
                .map(|(a, b)| (a - b).abs())
                .sum();
            (
                sum / exact.len() as f64 / trace.len() as f64,
                sampled.sample.error,
            )
        };
        assert!(error(Sampling::Rate(1.0)).0 < 1e-12);
        for sampling in [Sampling::Rate(0.1), Sampling::Pages(1000)] {
            let (found, said) = error(sampling);
            assert!(found < 2.0 * said, "{sampling:?}: {found}, said {said}");
        }
        assert!(
            sampled(&trace, Sampling::Rate(0.0)).is_err()
                && sampled(&trace, Sampling::Pages(0)).is_err()
        );
    }
}
