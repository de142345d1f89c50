//! LRU's miss curve of a trace that does not fit in memory: SHARDS of fixed size, reference by
//! reference.
//!
//! The pages with the lowest hashes are followed, at most so many. When one more comes, the page
//! with the highest hash is dropped, and the rate falls to that hash; what was counted before is
//! scaled down. Distances come from a Fenwick tree over the times of the last uses, renumbered when
//! it is full.
//!
//! - Error: as [`super::sample`], about 0.6/√pages in the mean.
//! - Cost: O(1) for a reference that is not followed, O(log pages) for one that is. Memory is by
//!   the number of pages followed, not by the trace.
//! - Source: Waldspurger, Park, Garthwaite, Ahmad, FAST 2015, 3.2; Olken, LBL-12370, 1981.

use super::fenwick::Fenwick;
use super::sample::Sample;
use crate::rng::page_hash;
use std::collections::{BTreeSet, HashMap};

/// A curve that is being measured.
#[derive(Debug)]
pub struct Stream {
    most: usize,
    /// Pages at or above this hash are not followed.
    threshold: u64,
    /// For each page that is followed, the tree's time of its last use.
    last: HashMap<u64, usize>,
    hashes: BTreeSet<(u64, u64)>,
    tree: Fenwick,
    now: usize,
    /// References by distance of the whole trace, in buckets of 1/64 of a doubling.
    hits: Vec<f64>,
    cold: f64,
    followed: f64,
    references: u64,
}

/// Buckets of each doubling: distances are known to 1/64 of a doubling, 1.1 %.
const PARTS: f64 = 64.0;

fn bucket(distance: f64) -> usize {
    (distance.max(1.0).log2() * PARTS) as usize
}

impl Stream {
    /// Follows at most so many pages, and at least 64.
    pub fn new(pages: usize) -> Self {
        let most = pages.max(64);
        Self {
            most,
            threshold: u64::MAX,
            last: HashMap::with_capacity(most + 1),
            hashes: BTreeSet::new(),
            tree: Fenwick::new(4 * most),
            now: 0,
            hits: Vec::new(),
            cold: 0.0,
            followed: 0.0,
            references: 0,
        }
    }

    /// The share of the pages that is followed now.
    pub fn rate(&self) -> f64 {
        self.threshold as f64 / u64::MAX as f64
    }

    /// Counts a reference.
    pub fn push(&mut self, page: u64) {
        self.references += 1;
        let hash = page_hash(page);
        if hash >= self.threshold && self.threshold != u64::MAX {
            return;
        }
        self.followed += 1.0 / self.rate();
        if self.now == self.tree.size() {
            self.renumber();
        }
        match self.last.insert(page, self.now) {
            Some(before) => {
                let others = self.tree.after(before);
                self.tree.add(before, -1);
                let bucket = bucket((others + 1) as f64 / self.rate());
                if self.hits.len() <= bucket {
                    self.hits.resize(bucket + 1, 0.0);
                }
                self.hits[bucket] += 1.0 / self.rate();
            }
            None => {
                self.cold += 1.0 / self.rate();
                self.hashes.insert((hash, page));
            }
        }
        self.tree.add(self.now, 1);
        self.now += 1;
        if self.last.len() > self.most {
            self.drop_highest();
        }
    }

    fn drop_highest(&mut self) {
        let Some((hash, page)) = self.hashes.pop_last() else {
            return;
        };
        self.threshold = hash;
        if let Some(at) = self.last.remove(&page) {
            self.tree.add(at, -1);
        }
    }

    /// Gives the last uses the times 0, 1, … in their order.
    fn renumber(&mut self) {
        let mut order: Vec<(usize, u64)> =
            self.last.iter().map(|(page, at)| (*at, *page)).collect();
        order.sort_unstable();
        self.tree = Fenwick::new(4 * self.most);
        self.now = order.len();
        for (at, (_, page)) in order.into_iter().enumerate() {
            self.last.insert(page, at);
            self.tree.add(at, 1);
        }
    }

    /// Pages of the whole trace, as estimated from the sample.
    pub fn pages(&self) -> f64 {
        self.last.len() as f64 / self.rate()
    }

    /// What is known of the sample.
    pub fn sample(&self) -> Sample {
        Sample::of(self.rate(), self.last.len())
    }

    /// Misses by size of memory, at the upper end of each bucket, from the sample's resolution on. They never rise, and are at most
    /// the references.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        // The difference from the expected number of references goes to the smallest distance: it
        // hits at every size.
        let most = self.references as f64;
        let least = self.cold.min(most);
        let resolution = self.sample().resolution as f64;
        let mut left = self.followed;
        let mut curve = Vec::new();
        for (bucket, hits) in self.hits.iter().enumerate() {
            left -= hits;
            let size = ((bucket + 1) as f64 / PARTS).exp2();
            if *hits > 0.0 && size >= resolution {
                curve.push((size, left.clamp(least, most)));
            }
        }
        curve
    }

    /// References so far.
    pub fn references(&self) -> u64 {
        self.references
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::measure::MissCurve;

    fn pages() -> Vec<u64> {
        let mut rng = crate::rng::Rng::new(8);
        (0..300_000)
            .map(|_| (rng.unit() * rng.unit() * 30_000.0) as u64)
            .collect()
    }

    fn error(most: usize) -> f64 {
        let pages = pages();
        let exact = MissCurve::of(&Trace::of(&pages).unwrap());
        let mut stream = Stream::new(most);
        pages.iter().for_each(|page| stream.push(*page));
        assert!(stream.last.len() <= most);
        let curve = stream.curve();
        assert!(curve.windows(2).all(|pair| pair[1].1 <= pair[0].1));
        assert!(curve[0].1 <= pages.len() as f64);
        assert!(curve[0].0 >= stream.sample().resolution as f64);
        let differences = curve
            .iter()
            .map(|(size, misses)| (misses - exact.misses(*size as usize)).abs());
        differences.sum::<f64>() / curve.len() as f64 / pages.len() as f64
    }

    #[test]
    fn followed_in_whole_it_is_exact_but_for_its_buckets() {
        assert!(error(1 << 20) < 0.004, "{}", error(1 << 20));
    }

    #[test]
    fn followed_in_part_it_is_near() {
        assert!(error(2000) < 0.03, "{}", error(2000));
    }
}
