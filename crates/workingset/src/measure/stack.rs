//! LRU's misses at every size of memory, from one pass: exact stack distances.
//!
//! A page's stack distance is the number of different pages used since its last use, itself included. It hits in every memory of
//! that many pages and more. `line.rs` has how it is counted.
//!
//! A long trace is cut in parts, one for each thread. A part cannot tell the distances of its first uses. So these go through the
//! stack of the parts before it, in order, as if nothing else had been used: a page that the part has used before is then above
//! them, once, as it is in the whole trace.
//!
//! - Cost: one pass; 17 B for each page, and as much again for each further part. What is kept is 16 B.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970 (stack distances); Niu et al., PARDA, IPDPS 2012
//!   (parts).

use super::line::Line;
use crate::dense::Dense;
use crate::{Error, Page, Trace};
use rayon::prelude::*;

/// References below which one thread does all: with fewer, starting others costs more than it
/// saves.
const SHARED: usize = 1 << 18;
/// References of a part for each page of the trace, at least. A part uses each page about twice more than the whole would: as a
/// first use, and in the stack of those before.
const OF_EACH_PAGE: usize = 16;
/// The most parts: each takes memory for all pages.
const MOST_PARTS: usize = 4;

/// How many references have each stack distance.
#[derive(Debug, Clone, PartialEq)]
pub struct MissCurve {
    /// `hits[d]` is the number of references at depth d of the stack: 1 for the page used last,
    /// none at 0.
    hits: Vec<f64>,
    /// References.
    pub references: u64,
    /// References of a page never used before.
    pub cold: u64,
    /// The reference at which a memory of each size is full: the first use of the k-th page. Empty
    /// if it is not known; memory then counts as full from the start.
    fills: Vec<u64>,
}

impl MissCurve {
    /// The exact curve of a trace.
    pub fn of(trace: &Trace) -> Self {
        let hits = distances(trace.refs(), trace.pages());
        let mut fills = Vec::with_capacity(trace.pages());
        note_first_uses(trace.refs(), 0, &mut fills);
        Self::counted(hits, trace.len() as u64, trace.pages() as u64, fills)
    }

    fn counted(hits: Vec<u64>, references: u64, cold: u64, fills: Vec<u64>) -> Self {
        Self {
            // In the same memory.
            hits: hits.into_iter().map(|count| count as f64).collect(),
            references,
            cold,
            fills,
        }
    }

    /// A curve from the scaled counts of a sample: see [`super::sample`].
    pub(super) fn scaled(hits: Vec<f64>, references: u64, cold: u64) -> Self {
        Self {
            hits,
            references,
            cold,
            fills: Vec::new(),
        }
    }

    /// Misses with `pages` pages of memory: all references with none, the cold misses with enough
    /// for all.
    pub fn misses(&self, pages: usize) -> f64 {
        let found: f64 = self.hits.iter().take(pages + 1).sum();
        (self.references as f64 - found).max(self.cold as f64)
    }

    /// Misses at every size from 0 to the number of pages. They never rise.
    pub fn all(&self) -> Vec<f64> {
        self.points().map(|point| point.misses).collect()
    }

    /// The sizes at which misses change, and the misses there.
    pub fn steps(&self) -> Vec<(usize, f64)> {
        let mut left = self.references as f64;
        let mut steps = Vec::new();
        for (size, hits) in self.hits.iter().enumerate() {
            if *hits != 0.0 {
                left -= hits;
                steps.push((size, left.max(self.cold as f64)));
            }
        }
        steps
    }

    /// Every size from 0 to the number of pages, with its misses and the mean number of pages in memory.
    pub fn points(&self) -> impl ExactSizeIterator<Item = AtSize> + '_ {
        let references = self.references as f64;
        let mut left = references;
        let mut mean = 0.0;
        (0..self.hits.len()).map(move |size| {
            left -= self.hits[size];
            let before = size.checked_sub(1);
            mean = match before.and_then(|before| self.fills.get(before)) {
                Some(full) => mean + (self.references - full) as f64 / references,
                None => size as f64,
            };
            AtSize {
                size,
                mean_size: mean,
                misses: left.max(self.cold as f64),
            }
        })
    }
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtSize {
    /// Pages of memory.
    pub size: usize,
    /// Mean number of pages in memory over the references, from the empty memory on.
    pub mean_size: f64,
    /// Misses.
    pub misses: f64,
}

/// Counts stack distances as references come, in memory for the pages and not for the references.
#[derive(Debug, Default)]
pub struct Distances {
    dense: Dense,
    numbers: Vec<Page>,
    line: Line,
    hits: Vec<u64>,
    fills: Vec<u64>,
    references: u64,
}

impl Distances {
    /// Counts references.
    ///
    /// Errors: more pages than there are numbers.
    pub fn push(&mut self, pages: &[u64]) -> Result<(), Error> {
        self.numbers.clear();
        self.dense.extend(pages, &mut self.numbers)?;
        let pages = self.pages();
        self.line.grow(pages);
        self.hits.resize(pages + 1, 0);
        self.line
            .run(&self.numbers, &mut self.hits, &mut Vec::new());
        note_first_uses(&self.numbers, self.references, &mut self.fills);
        self.references += self.numbers.len() as u64;
        Ok(())
    }

    /// References so far.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Different pages so far.
    pub fn pages(&self) -> usize {
        self.dense.names().len()
    }

    /// The exact curve.
    pub fn finish(self) -> MissCurve {
        let cold = self.pages() as u64;
        MissCurve::counted(self.hits, self.references, cold, self.fills)
    }
}

/// Appends the places of the first use of each page. Pages are numbered in the order of first use.
fn note_first_uses(refs: &[Page], from: u64, places: &mut Vec<u64>) {
    for (at, page) in (from..).zip(refs) {
        if *page as usize == places.len() {
            places.push(at);
        }
    }
}

/// The number of references at each stack depth from 0 to the number of pages.
pub fn distances(refs: &[Page], pages: usize) -> Vec<u64> {
    let enough = refs.len() / (SHARED / 2 + OF_EACH_PAGE * pages);
    let parts = rayon::current_num_threads().min(MOST_PARTS).min(enough);
    distances_in_parts(refs, pages, parts.max(1))
}

fn distances_in_parts(refs: &[Page], pages: usize, parts: usize) -> Vec<u64> {
    if parts == 1 {
        return Part::of(refs, pages).hits;
    }
    let step = refs.len().div_ceil(parts);
    let done: Vec<Part> = refs
        .par_chunks(step)
        .map(|refs| Part::of(refs, pages))
        .collect();
    let mut done = done.into_iter();
    let Some(mut whole) = done.next() else {
        return vec![0; pages + 1];
    };
    while let Some(part) = done.next() {
        let is_last = done.len() == 0;
        whole.then(part, is_last);
    }
    whole.hits
}

/// A part of the references.
struct Part {
    line: Line,
    /// References by depth, but for the first uses.
    hits: Vec<u64>,
    /// Pages in the order of their first use.
    firsts: Vec<Page>,
}

impl Part {
    fn of(refs: &[Page], pages: usize) -> Self {
        let mut part = Self {
            line: Line::default(),
            hits: vec![0; pages + 1],
            firsts: Vec::new(),
        };
        part.line.grow(pages);
        part.line.run(refs, &mut part.hits, &mut part.firsts);
        part
    }

    /// Adds the part after this one. The stack is brought up to date unless nothing comes after.
    fn then(&mut self, later: Self, is_last: bool) {
        self.line
            .run(&later.firsts, &mut self.hits, &mut Vec::new());
        for (all, own) in self.hits.iter_mut().zip(&later.hits) {
            *all += own;
        }
        if !is_last {
            for page in later.line.in_order() {
                self.line.put(page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;
    use crate::measure::fenwick::Fenwick;
    use proptest::prelude::*;

    /// The stack itself.
    fn plainly(refs: &[Page], pages: usize) -> Vec<u64> {
        let mut stack: Vec<Page> = Vec::new();
        let mut hits: Vec<u64> = vec![0; pages + 1];
        for page in refs {
            if let Some(depth) = stack.iter().position(|on| on == page) {
                hits[depth + 1] += 1;
                stack.remove(depth);
            }
            stack.insert(0, *page);
        }
        hits
    }

    fn plain_curve(trace: &Trace) -> Vec<u64> {
        plainly(trace.refs(), trace.pages())
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_stack(pages in prop::collection::vec(prop_oneof![0..8_u64, 0..200_u64], 1..900)) {
            let trace = Trace::of(&pages).unwrap();
            prop_assert_eq!(distances(trace.refs(), trace.pages()), plain_curve(&trace));
        }

        #[test]
        fn parts_change_nothing(pages in prop::collection::vec(prop_oneof![0..8_u64, 0..200_u64], 1..900), parts in 1..7_usize) {
            let trace = Trace::of(&pages).unwrap();
            prop_assert_eq!(distances_in_parts(trace.refs(), trace.pages(), parts), plain_curve(&trace));
        }

        #[test]
        fn batches_change_nothing(pages in prop::collection::vec(prop_oneof![0..8_u64, any::<u64>()], 1..900), most in 1..400_usize) {
            let mut distances = Distances::default();
            for batch in pages.chunks(most) {
                distances.push(batch).unwrap();
            }
            let trace = Trace::of(&pages).unwrap();
            prop_assert_eq!(distances.finish(), MissCurve::of(&trace));
        }

        #[test]
        fn the_curve_is_lru_at_every_size(pages in prop::collection::vec(0..20_u64, 1..200)) {
            let trace = Trace::of(&pages).unwrap();
            let curve = MissCurve::of(&trace);
            let points: Vec<AtSize> = curve.points().collect();
            let lru = crate::policy::Choice::parse("lru").unwrap();
            for size in 1..=trace.pages() {
                let run = lru.spec.run(&trace, size, &lru.options).unwrap();
                prop_assert_eq!(curve.misses(size), run.misses as f64);
                prop_assert_eq!(points[size].misses, run.misses as f64);
                prop_assert!((points[size].mean_size - run.mean_size).abs() < 1e-9);
            }
        }
    }

    /// Enough references for all lengths of the line, and for bits in several shelves.
    #[test]
    fn a_long_trace_in_which_all_levels_are_used() {
        const PAGES: u64 = 2_000_000;
        let mut rng = crate::rng::Rng::new(5);
        let mut pages: Vec<u64> = (0..PAGES).collect();
        // Used again from the last page to the first, leaving some out. Above each are then all with a higher number, used again
        // or not.
        let mut expected = vec![0; PAGES as usize + 1];
        let mut page = PAGES;
        while page > 0 {
            page = page.saturating_sub(1 + rng.below(40));
            pages.push(page);
            expected[(PAGES - page) as usize] += 1;
        }
        let trace = Trace::of(&pages).unwrap();
        assert_eq!(
            distances_in_parts(trace.refs(), PAGES as usize, 1),
            expected
        );
        assert_eq!(
            distances_in_parts(trace.refs(), PAGES as usize, 2),
            expected
        );
    }

    /// By a tree over the times of the last uses.
    fn by_tree(refs: &[Page], pages: usize) -> Vec<u64> {
        let mut tree = Fenwick::new(refs.len());
        let mut last = vec![NONE; pages];
        let mut hits = vec![0; pages + 1];
        for (at, page) in refs.iter().enumerate() {
            let before = std::mem::replace(&mut last[*page as usize], at as Page);
            if before != NONE {
                hits[tree.after(before as usize) as usize + 1] += 1;
                tree.add(before as usize, -1);
            }
            tree.add(at, 1);
        }
        hits
    }

    /// Enough uses to fill lines of few pages, and of several rows, many times.
    #[test]
    fn long_traces_are_those_of_a_tree() {
        let mut rng = crate::rng::Rng::new(7);
        for (most, references) in [(30, 100_000), (300, 300_000), (900, 600_000)] {
            let pages: Vec<u64> = (0..references)
                .map(|_| rng.below(most) * rng.below(most))
                .collect();
            let trace = Trace::of(&pages).unwrap();
            let expected = by_tree(trace.refs(), trace.pages());
            for parts in [1, 3] {
                let found = distances_in_parts(trace.refs(), trace.pages(), parts);
                assert!(found == expected, "{most}, {parts}");
            }
        }
    }
}
