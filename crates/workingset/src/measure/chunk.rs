//! LRU's misses of a trace that is measured in parts, by time or by page, on one machine or many.
//!
//! By time: a chunk leaves the references that hit within it, by stack distance; the pages that it
//! uses first, in that order, for only these can hit in what was before; and its stack, the pages
//! by their last use. When two neighbours meet, the later one's first uses go through the earlier
//! one's stack, in order:
//!
//! - d = pages of the earlier stack above p that the later chunk has not used before + pages that
//!   it has + 1.
//!
//! That is exact, and associative: chunks may be merged in any order that keeps neighbours
//! together.
//!
//! By page: a class has all references of 1/K of the pages, chosen by hash; a distance there is one
//! of K times as many pages in the whole. The sum over all classes has every reference in it, so
//! the error is far below that of one sample; cold misses are exact.
//!
//! - Cost: the exact curve's, for each part; O(d log d) for a merge of d pages, and 16 B for each
//!   page to hand over.
//! - Error by classes: mean over sizes below 0.001 of the references at 16 classes (see the tests);
//!   none by time.
//! - Source: Niu et al., PARDA, IPDPS 2012 (chunks); Waldspurger et al., SHARDS, FAST 2015 (the
//!   hash).

use super::fenwick::Fenwick;
use super::stack::distances;
use crate::rng::page_hash;
use crate::{Error, Trace};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a chunk of time leaves for its neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// References.
    pub references: u64,
    /// Pages in the order of their first use.
    pub firsts: Vec<u64>,
    /// The same pages in the order of their last use.
    pub lasts: Vec<u64>,
    /// References by stack distance; 0 has none.
    pub hits: Vec<u64>,
}

impl Chunk {
    /// Of a part of the references.
    pub fn of(trace: &Trace) -> Self {
        let mut last: Vec<(usize, u64)> = trace.names().iter().map(|name| (0, *name)).collect();
        trace
            .refs()
            .iter()
            .enumerate()
            .for_each(|(at, page)| last[*page as usize].0 = at);
        last.sort_unstable();
        Self {
            references: trace.len() as u64,
            firsts: trace.names().to_vec(),
            lasts: last.into_iter().map(|(_, page)| page).collect(),
            hits: distances(trace.refs(), trace.pages()),
        }
    }

    /// This chunk and the one after it.
    ///
    /// Errors: more than 2^32 pages.
    pub fn then(mut self, later: &Self) -> Result<Self, Error> {
        if self.lasts.len() + later.lasts.len() >= u32::MAX as usize {
            return Err(Error::TooMany("2^32 pages"));
        }
        self.hits.resize(
            self.hits
                .len()
                .max(later.hits.len())
                .max(self.lasts.len() + later.lasts.len() + 1),
            0,
        );
        self.hits
            .iter_mut()
            .zip(&later.hits)
            .for_each(|(all, own)| *all += own);
        let mut stack = Stack::of(&self.lasts);
        for (before, page) in later.firsts.iter().enumerate() {
            match stack.take(*page) {
                Some(above) => self.hits[above + before + 1] += 1,
                None => self.firsts.push(*page),
            }
        }
        let Stack { places, .. } = stack;
        self.lasts.retain(|page| places.contains_key(page));
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
        let hits = self.hits.iter();
        hits.scan(self.references, |left, hits| {
            *left -= hits;
            Some(*left)
        })
        .collect()
    }
}

/// An LRU stack from which pages are taken.
struct Stack {
    /// Where each page is that has not been taken, 0 for the one used first.
    places: HashMap<u64, usize>,
    /// How many pages are at each place: one, or none once it has been taken.
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

    /// Takes a page out; how many are above it. `None` if it is not there.
    fn take(&mut self, page: u64) -> Option<usize> {
        let place = self.places.remove(&page)?;
        self.there.add(place, -1);
        Some(self.there.after(place) as usize)
    }
}

/// Whether a page belongs to this class of so many, by its hash.
pub fn is_of_class(page: u64, class: u64, classes: u64) -> bool {
    page_hash(page) % classes.max(1) == class
}

/// Misses of the whole at every size from 0 to `pages`, from the chunk that each class is.
pub fn of_classes(classes: &[Chunk]) -> Vec<u64> {
    let scale = classes.len();
    let (references, pages) = classes.iter().fold((0, 0), |(references, pages), class| {
        (references + class.references, pages + class.firsts.len())
    });
    let mut hits = vec![0_u64; pages + 1];
    for (depth, count) in classes
        .iter()
        .flat_map(|class| class.hits.iter().enumerate().skip(1))
    {
        // d pages of a class are, in the mean, (d − ½)·K of all.
        hits[(depth * scale - scale / 2).clamp(1.min(pages), pages)] += count;
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
            assert_eq!(
                (curve.len(), curve[0], curve.last()),
                (exact.len(), exact[0], exact.last())
            );
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
