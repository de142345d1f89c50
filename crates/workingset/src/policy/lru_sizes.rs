//! LRU at several sizes in one pass.
//!
//! A memory holds all that a smaller one holds: the first c pages of one list. So one list stands
//! for all sizes, with a mark at the last page of each. A page knows its band: between which two
//! marks it is. A reference to a page of band b moves the first b marks by one page.
//!
//! - Cost: O(1 + marks moved) for each reference; 10 B for each page.
//! - Write-backs: if one size holds a page that was written to, every larger size holds it written
//!   to, as well. So one number for each page, the smallest such size, is enough.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970 (inclusion); Kim,
//!   Hill, Wood, SIGMETRICS 1991 (bands).

use super::drive::Score;
use crate::links::Links;
use crate::{NONE, Op, Page, Trace};

/// The most sizes of one pass. A band must fit in a byte; a miss moves all marks, so more sizes
/// would save nothing.
const MOST: usize = 64;

/// One LRU list with a mark at the last page of each size.
struct Sizes<'a> {
    list: Links<1>,
    /// Pages of each size, rising.
    capacities: &'a [usize],
    /// The last page of each size that is full. The full sizes are the first, since sizes rise.
    marks: Vec<Page>,
    /// The first size that holds each page; all after it hold the page, too.
    band: Vec<u8>,
    /// The first size in which each page is written to, of those that hold it. Empty if the trace
    /// has no operations.
    changed: Vec<u8>,
    /// References by the band of their page.
    found: Vec<u64>,
    writebacks: Vec<u64>,
    /// Sum of each size's pages over all references.
    filled: Vec<u128>,
}

impl<'a> Sizes<'a> {
    fn new(trace: &Trace, capacities: &'a [usize]) -> Self {
        let pages = trace.pages();
        let sizes = capacities.len();
        let changed = match trace.op() {
            Some(_) => vec![sizes as u8; pages],
            None => Vec::new(),
        };
        Self {
            list: Links::new(pages),
            capacities,
            marks: Vec::with_capacity(sizes),
            band: vec![sizes as u8; pages],
            changed,
            found: vec![0; sizes + 1],
            writebacks: vec![0; sizes],
            filled: vec![0; sizes],
        }
    }

    /// A reference to a page. `left` is the number of references from this one to the end.
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
            self.move_marks(band);
        }
    }

    /// A new page is at the front: it takes a place in every size.
    fn enter(&mut self, left: u64) {
        let full = self.marks.len();
        for filled in &mut self.filled[full..] {
            *filled += u128::from(left);
        }
        self.move_marks(full);
        if full == self.capacities.len() {
            self.list.pop_back(0);
        } else if self.list.len(0) == self.capacities[full] {
            self.marks.extend(self.list.back(0));
        }
    }

    /// Moves the marks of the first sizes by one page: the marked page leaves each.
    #[inline]
    fn move_marks(&mut self, sizes: usize) {
        for (size, mark) in self.marks[..sizes].iter_mut().enumerate() {
            let leaving = *mark;
            *mark = self.list.towards_front(leaving).unwrap_or(NONE);
            self.band[leaving as usize] = size as u8 + 1;
            if let Some(changed) = self.changed.get_mut(leaving as usize) {
                let was_changed = usize::from(*changed) <= size;
                self.writebacks[size] += u64::from(was_changed);
            }
        }
    }

    fn run(&mut self, trace: &Trace, op: Option<&[Op]>) {
        for (at, page) in trace.refs().iter().enumerate() {
            let from = self.band[*page as usize];
            self.access(*page, (trace.len() - at) as u64);
            if let Some(op) = op {
                // The sizes below `from` have loaded the page now, so there it is not written to.
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

/// The scores of [`super::lru`] at each of these sizes, which must rise.
pub(super) fn scores(trace: &Trace, capacities: &[usize]) -> Vec<Score> {
    let mut scores = Vec::with_capacity(capacities.len());
    for part in capacities.chunks(MOST) {
        scores.extend(one_pass(trace, part));
    }
    scores
}

fn one_pass(trace: &Trace, capacities: &[usize]) -> Vec<Score> {
    let mut sizes = Sizes::new(trace, capacities);
    sizes.run(trace, trace.op());
    let mut misses = trace.len() as u64;
    let mut scores = Vec::with_capacity(capacities.len());
    for (size, capacity) in capacities.iter().enumerate() {
        misses -= sizes.found[size];
        scores.push(Score {
            capacity: *capacity,
            references: trace.len() as u64,
            distinct: trace.pages() as u64,
            misses,
            writebacks: trace.op().map(|_| sizes.writebacks[size]),
            mean_size: sizes.filled[size] as f64 / trace.len() as f64,
            options: String::new(),
        });
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::lru;
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
            let options = lru::SPEC.defaults();
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
        let options = lru::SPEC.defaults();
        for (score, capacity) in scores(&trace, &capacities).into_iter().zip(&capacities) {
            assert_eq!(score, lru::SPEC.run(&trace, *capacity, &options).unwrap());
        }
    }
}
