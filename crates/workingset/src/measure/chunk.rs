//! LRU's misses of a trace that is measured in parts, by time or by page, on one machine or
//! several.
//!
//! By time: a chunk keeps three things. The references that hit within it, by stack distance. The
//! pages that it uses first, in that order, for only these can hit in what was before. And its
//! stack, the pages by last use. When two neighbours are merged, the later one's first uses pass
//! through the earlier one's stack, in order:
//!
//! - d = the pages of the earlier stack above p that the later chunk has not used before + the
//!   pages that it has + 1.
//!
//! This is exact, and associative: chunks may be merged in any order that keeps neighbours
//! together.
//!
//! By page: a class has all references of 1/K of the pages, chosen by hash. A distance there stands
//! for one of K times as many pages in the whole. The sum over all classes has every reference in
//! it, so the error is far below that of one sample. Cold misses are exact.
//!
//! - Cost: the exact curve's, for each part. A merge of d pages is O(d log d), and 16 B for each
//!   page are handed over.
//! - Error by classes: in the mean over sizes below 0.001 of the references at 16 classes (see the
//!   tests). By time: none.
//! - Source: Niu et al., PARDA, IPDPS 2012 (chunks); Waldspurger et al., SHARDS, FAST 2015 (the
//!   hash).

use super::fenwick::Fenwick;
use super::stack::distances;
use crate::rng::page_hash;
use crate::{Error, Trace};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a chunk of time keeps for the merge with its neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// References.
    pub references: u64,
    /// Pages in the order of their first use.
    pub firsts: Vec<u64>,
    /// The same pages in the order of their last use.
    pub lasts: Vec<u64>,
    /// References by stack distance; none at 0.
    pub hits: Vec<u64>,
}

impl Chunk {
    /// The chunk of a part of the references.
    pub fn of(trace: &Trace) -> Self {
        let mut last: Vec<(usize, u64)> = trace.names().iter().map(|name| (0, *name)).collect();
        for (at, page) in trace.refs().iter().enumerate() {
            last[*page as usize].0 = at;
        }
        last.sort_unstable();
        Self {
            references: trace.len() as u64,
            firsts: trace.names().to_vec(),
            lasts: last.into_iter().map(|(_, page)| page).collect(),
            hits: distances(trace.refs(), trace.pages()),
        }
    }

    /// Merges this chunk with the one after it.
    ///
    /// Errors: more than 2^32 pages.
    pub fn then(mut self, later: &Self) -> Result<Self, Error> {
        if self.lasts.len() + later.lasts.len() >= u32::MAX as usize {
            return Err(Error::TooMany("2^32 pages"));
        }
        let deepest = self.lasts.len() + later.lasts.len();
        let size = self.hits.len().max(later.hits.len()).max(deepest + 1);
        self.hits.resize(size, 0);
        for (all, own) in self.hits.iter_mut().zip(&later.hits) {
            *all += own;
        }
        let mut stack = Stack::of(&self.lasts);
        for (before, page) in later.firsts.iter().enumerate() {
            match stack.take(*page) {
                Some(above) => self.hits[above + before + 1] += 1,
                None => self.firsts.push(*page),
            }
        }
        self.lasts.retain(|page| stack.places.contains_key(page));
        self.lasts.extend_from_slice(&later.lasts);
        self.references += later.references;
        while self.hits.len() > self.firsts.len() + 1 {
            self.hits.pop();
        }
        Ok(self)
    }

    /// Misses at every size from 0 to the number of pages, as
    /// [`MissCurve::all`](super::MissCurve::all).
    pub fn misses(&self) -> Vec<u64> {
        let mut left = self.references;
        let mut misses = Vec::with_capacity(self.hits.len());
        for hits in &self.hits {
            left -= hits;
            misses.push(left);
        }
        misses
    }
}

/// An LRU stack from which pages are taken.
struct Stack {
    /// The place of each page that has not been taken, 0 for the one used first.
    places: HashMap<u64, usize>,
    /// One for each place with a page, zero once the page has been taken.
    there: Fenwick,
}

impl Stack {
    fn of(lasts: &[u64]) -> Self {
        let places = lasts
            .iter()
            .enumerate()
            .map(|(at, page)| (*page, at))
            .collect();
        Self {
            places,
            there: Fenwick::ones(lasts.len()),
        }
    }

    /// Takes a page out. Returns how many pages are above it; `None` if it is not in the stack.
    fn take(&mut self, page: u64) -> Option<usize> {
        let place = self.places.remove(&page)?;
        self.there.add(place, -1);
        Some(self.there.after(place) as usize)
    }
}

/// Returns true if a page belongs to this class of so many, by its hash.
pub fn is_of_class(page: u64, class: u64, classes: u64) -> bool {
    page_hash(page) % classes.max(1) == class
}

/// Misses of the whole at every size from 0 to the number of pages, from the chunks of all classes.
pub fn of_classes(classes: &[Chunk]) -> Vec<u64> {
    let scale = classes.len();
    let references = classes.iter().map(|class| class.references).sum();
    let pages = classes.iter().map(|class| class.firsts.len()).sum();
    let mut hits = vec![0_u64; pages + 1];
    for class in classes {
        for (depth, count) in class.hits.iter().enumerate().skip(1) {
            // d pages of a class are, in the mean, (d − ½)·K of all.
            let whole_depth = depth * scale - scale / 2;
            hits[whole_depth.clamp(1.min(pages), pages)] += count;
        }
    }
    Chunk {
        references,
        firsts: Vec::new(),
        lasts: Vec::new(),
        hits,
    }
    .misses()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::MissCurve;
    use proptest::prelude::*;

    fn whole(pages: &[u64]) -> Vec<u64> {
        MissCurve::of(&Trace::of(pages).unwrap())
            .all()
            .iter()
            .map(|misses| *misses as u64)
            .collect()
    }

    fn chunk(pages: &[u64]) -> Chunk {
        Chunk::of(&Trace::of(pages).unwrap())
    }

    proptest! {
        #[test]
        fn chunks_merged_in_any_order_are_the_whole(
            pages in prop::collection::vec(prop_oneof![0..8_u64, 0..90_u64], 3..400),
            cuts in (0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let place = |share: f64| 1 + (share * (pages.len() - 2) as f64) as usize;
            let one = place(cuts.0.min(cuts.1));
            let two = place(cuts.0.max(cuts.1));
            prop_assume!(one < two);
            let [a, b, c] = [&pages[..one], &pages[one..two], &pages[two..]].map(chunk);
            let left = a.clone().then(&b).unwrap().then(&c).unwrap();
            let right = a.then(&b.then(&c).unwrap()).unwrap();
            prop_assert_eq!(left.misses(), whole(&pages));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, chunk(&pages));
        }
    }

    #[test]
    fn classes_are_near_the_whole() {
        let mut rng = crate::rng::Rng::new(11);
        let pages: Vec<u64> = (0..300_000)
            .map(|_| (rng.unit() * rng.unit() * 20_000.0) as u64)
            .collect();
        let exact = whole(&pages);
        for classes in [1, 4, 16] {
            let class = |own| {
                chunk(
                    &pages
                        .iter()
                        .copied()
                        .filter(|page| is_of_class(*page, own, classes))
                        .collect::<Vec<_>>(),
                )
            };
            let all: Vec<Chunk> = (0..classes).map(class).collect();
            let curve = of_classes(&all);
            assert_eq!(curve.len(), exact.len());
            assert_eq!(curve[0], exact[0]);
            assert_eq!(curve.last(), exact.last());
            let error: u64 = curve
                .iter()
                .zip(&exact)
                .map(|(one, other)| one.abs_diff(*other))
                .sum();
            let mean = error as f64 / exact.len() as f64 / pages.len() as f64;
            assert!(
                mean < 0.001 && (classes > 1 || mean == 0.0),
                "{classes}: {mean}"
            );
        }
    }
}
