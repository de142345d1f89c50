//! LRU at several sizes in one pass.
//!
//! What a memory of c pages holds, a larger one holds too: the first c pages of one list. So one list stands for all
//! sizes, with a mark at each, and a page knows between which two marks it is, its band. A reference from band b moves
//! the marks before it by one page.
//!
//! - Cost: O(1 + marks passed) for each reference; 10 B for each page.
//! - Write-backs: a size that holds a page has it changed or not, and if one has it changed, so have all larger ones:
//!   one number for each page tells the smallest.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970 (inclusion); Kim, Hill, Wood, SIGMETRICS
//!   1991 (bands).

use super::Score;
use crate::links::Links;
use crate::{NONE, Op, Page, Trace};

/// Sizes of one pass, so that a band is a byte.
const MOST: usize = 64;

struct Sizes<'a> {
    list: Links<1>,
    /// Pages of each size, rising.
    capacities: &'a [usize],
    /// The last page of each size that is full; those that are come first.
    marks: Vec<Page>,
    /// Which sizes hold a page: this one and all after it.
    band: Vec<u8>,
    /// Which sizes have it changed: this one and all after it, as far as they hold it. Empty if nobody tells.
    changed: Vec<u8>,
    /// References by the band they were in.
    found: Vec<u64>,
    writebacks: Vec<u64>,
    /// Sum of each size's pages over all references.
    filled: Vec<u128>,
}

impl<'a> Sizes<'a> {
    fn new(trace: &Trace, capacities: &'a [usize]) -> Self {
        let pages = trace.pages();
        let sizes = capacities.len();
        Self {
            list: Links::new(pages),
            capacities,
            marks: Vec::with_capacity(sizes),
            band: vec![sizes as u8; pages],
            changed: trace
                .op()
                .map(|_| vec![sizes as u8; pages])
                .unwrap_or_default(),
            found: vec![0; sizes + 1],
            writebacks: vec![0; sizes],
            filled: vec![0; sizes],
        }
    }

    /// A reference after which so many come, itself included.
    #[inline]
    fn access(&mut self, page: Page, left: u64) {
        let band = usize::from(std::mem::replace(&mut self.band[page as usize], 0));
        self.found[band] += 1;
        if band == self.capacities.len() {
            self.list.push_front(0, page);
            self.enter(left);
        } else {
            if self.marks.get(band) == Some(&page) {
                if let Some(before) = self.list.towards_front(page) {
                    self.marks[band] = before;
                }
            }
            self.list.to_front(0, page);
            self.pass(band);
        }
    }

    /// Makes room for one more page at the front of all sizes.
    fn enter(&mut self, left: u64) {
        let full = self.marks.len();
        for filled in &mut self.filled[full..] {
            *filled += u128::from(left);
        }
        self.pass(full);
        if full == self.capacities.len() {
            self.list.pop_back(0);
        } else if self.list.len(0) == self.capacities[full] {
            self.marks.extend(self.list.back(0));
        }
    }

    /// One page leaves each of the first sizes.
    #[inline]
    fn pass(&mut self, sizes: usize) {
        for (size, mark) in self.marks[..sizes].iter_mut().enumerate() {
            let leaving = *mark;
            *mark = self.list.towards_front(leaving).unwrap_or(NONE);
            self.band[leaving as usize] = size as u8 + 1;
            if let Some(changed) = self.changed.get_mut(leaving as usize) {
                self.writebacks[size] += u64::from(usize::from(*changed) <= size);
            }
        }
    }

    fn run(&mut self, trace: &Trace, op: Option<&[Op]>) {
        for (at, page) in trace.refs().iter().enumerate() {
            let from = self.band[*page as usize];
            self.access(*page, (trace.len() - at) as u64);
            if let Some(op) = op {
                // The sizes that had to bring it have it as it was.
                let changed = &mut self.changed[*page as usize];
                *changed = if op[at].writes() {
                    0
                } else {
                    (*changed).max(from)
                };
            }
        }
    }
}

/// What [`super::lru`] comes to at each of these sizes, which rise.
pub(super) fn scores(trace: &Trace, capacities: &[usize]) -> Vec<Score> {
    capacities
        .chunks(MOST)
        .flat_map(|capacities| part(trace, capacities))
        .collect()
}

fn part(trace: &Trace, capacities: &[usize]) -> Vec<Score> {
    let mut sizes = Sizes::new(trace, capacities);
    sizes.run(trace, trace.op());
    let mut misses = trace.len() as u64;
    let score = |(size, capacity): (usize, &usize)| {
        misses -= sizes.found[size];
        Score {
            capacity: *capacity,
            references: trace.len() as u64,
            distinct: trace.pages() as u64,
            misses,
            writebacks: trace.op().map(|_| sizes.writebacks[size]),
            mean_size: sizes.filled[size] as f64 / trace.len() as f64,
            options: String::new(),
        }
    };
    capacities.iter().enumerate().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Options, lru};
    use crate::{About, Batch};
    use proptest::prelude::*;

    fn trace(pages: Vec<u64>, op: Vec<Op>) -> Trace {
        let mut loader = crate::Loader::default();
        loader
            .push(&Batch {
                page: pages,
                op,
                ..Batch::default()
            })
            .unwrap();
        loader.finish(About::default()).unwrap()
    }

    proptest! {
        #[test]
        fn all_sizes_at_once_are_one_after_the_other(
            uses in prop::collection::vec((0..40_u64, any::<bool>()), 1..400),
            wanted in prop::collection::btree_set(1..41_usize, 1..9),
            told in any::<bool>(),
        ) {
            let op = uses.iter().map(|(_, writes)| if *writes { Op::STORE } else { Op::LOAD });
            let op = if told { op.collect() } else { Vec::new() };
            let trace = trace(uses.iter().map(|(page, _)| *page).collect(), op);
            let capacities: Vec<usize> = wanted.into_iter().filter(|wanted| *wanted <= trace.pages()).collect();
            let options = Options::of(&lru::SPEC);
            for (score, capacity) in scores(&trace, &capacities).into_iter().zip(&capacities) {
                prop_assert_eq!(score, lru::SPEC.run(&trace, *capacity, &options).unwrap());
            }
        }
    }

    #[test]
    fn more_sizes_than_a_pass_takes() {
        let trace = trace((0..4000_u64).map(|n| n * n % 331).collect(), Vec::new());
        let capacities: Vec<usize> = (1..=trace.pages()).collect();
        assert!(capacities.len() > 2 * MOST);
        let options = Options::of(&lru::SPEC);
        for (score, capacity) in scores(&trace, &capacities).into_iter().zip(&capacities) {
            assert_eq!(score, lru::SPEC.run(&trace, *capacity, &options).unwrap());
        }
    }
}
