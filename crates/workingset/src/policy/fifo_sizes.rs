//! FIFO at several sizes in one pass.
//!
//! A page is in a memory of c pages iff it was loaded, and fewer than c pages were loaded since. So it needs no place in a queue: the
//! number of the load with which it came is enough. Those of several sizes stand side by side, and are looked at together.
//!
//! - Cost: O(1) for each reference, 4 B for each page and size.
//! - Write-backs: whether a page was evicted since is seen when it is used again, or at the end.

use super::drive::Score;
use crate::{Op, Page, Trace, ahead};

/// The most sizes of one pass: the loads of a page then fit in a cache line.
const MOST: usize = 16;
/// Sizes of a pass over half a cache line.
const FEW: usize = 8;

/// The memories of one pass.
struct Sizes<const MANY: usize> {
    /// Pages of each size; those that were not asked for have one.
    capacities: [u32; MANY],
    /// Loads of each size so far.
    loads: [u32; MANY],
    /// The load with which each page came last.
    came: Vec<[u32; MANY]>,
    /// For each page, the sizes in which it was written to since it came, as bits. Empty if the trace has no operations.
    changed: Vec<u16>,
    writebacks: [u64; MANY],
    /// Different pages so far.
    distinct: usize,
}

impl<const MANY: usize> Sizes<MANY> {
    fn new(trace: &Trace, sizes: &[usize]) -> Self {
        let mut capacities = [1; MANY];
        for (capacity, size) in capacities.iter_mut().zip(sizes) {
            *capacity = *size as u32;
        }
        let changed = match trace.op() {
            Some(_) => vec![0; trace.pages()],
            None => Vec::new(),
        };
        Self {
            capacities,
            loads: [0; MANY],
            came: vec![[0; MANY]; trace.pages()],
            changed,
            writebacks: [0; MANY],
            distinct: 0,
        }
    }

    /// Uses a page. Pages are numbered in the order of first use.
    #[inline]
    fn access(&mut self, page: Page) {
        let came = &mut self.came[page as usize];
        if page as usize == self.distinct {
            self.distinct += 1;
            for (loads, came) in self.loads.iter_mut().zip(came) {
                *loads += 1;
                *came = *loads;
            }
            return;
        }
        for size in 0..MANY {
            let is_out = self.loads[size] - came[size] >= self.capacities[size];
            self.loads[size] += u32::from(is_out);
            came[size] = if is_out { self.loads[size] } else { came[size] };
        }
    }

    /// Before a use: counts the sizes that have evicted the page since it was written to.
    fn settle(&mut self, page: Page) {
        let changed = &mut self.changed[page as usize];
        if *changed == 0 {
            return;
        }
        for size in 0..MANY {
            let since = self.loads[size] - self.came[page as usize][size];
            if *changed >> size & 1 == 1 && since >= self.capacities[size] {
                self.writebacks[size] += 1;
                *changed &= !(1 << size);
            }
        }
    }

    fn run(&mut self, refs: &[Page]) {
        let is_far = ahead::pays(size_of_val(self.came.as_slice()));
        for (at, page) in refs.iter().enumerate() {
            if is_far {
                if let Some(soon) = refs.get(at + ahead::STEPS) {
                    ahead::fetch(&self.came, *soon as usize);
                }
            }
            self.access(*page);
        }
    }

    fn run_writing(&mut self, refs: &[Page], op: &[Op]) {
        for (page, op) in refs.iter().zip(op) {
            self.settle(*page);
            self.access(*page);
            if op.writes() {
                self.changed[*page as usize] = u16::MAX;
            }
        }
        for page in 0..self.changed.len() {
            self.settle(page as Page);
        }
    }
}

/// The scores of [`super::fifo`] at each of these sizes, which must rise.
pub(super) fn scores(trace: &Trace, capacities: &[usize]) -> Vec<Score> {
    let mean_sizes = mean_sizes(trace, capacities);
    let mut scores = Vec::with_capacity(capacities.len());
    for (part, means) in capacities.chunks(MOST).zip(mean_sizes.chunks(MOST)) {
        if part.len() > FEW {
            one_pass::<MOST>(trace, part, means, &mut scores);
        } else {
            one_pass::<FEW>(trace, part, means, &mut scores);
        }
    }
    scores
}

fn one_pass<const MANY: usize>(
    trace: &Trace,
    capacities: &[usize],
    means: &[f64],
    scores: &mut Vec<Score>,
) {
    let mut sizes = Sizes::<MANY>::new(trace, capacities);
    match trace.op() {
        Some(op) => sizes.run_writing(trace.refs(), op),
        None => sizes.run(trace.refs()),
    }
    for (at, capacity) in capacities.iter().enumerate() {
        scores.push(Score {
            capacity: *capacity,
            references: trace.len() as u64,
            distinct: trace.pages() as u64,
            misses: u64::from(sizes.loads[at]),
            writebacks: trace.op().map(|_| sizes.writebacks[at]),
            mean_size: means[at],
            options: String::new(),
        });
    }
}

/// The mean number of pages in memory at each size: it is full from the first use of as many pages on.
fn mean_sizes(trace: &Trace, capacities: &[usize]) -> Vec<f64> {
    let mut filled = 0_u128;
    let mut distinct = 0;
    let mut means = Vec::with_capacity(capacities.len());
    for (at, page) in trace.refs().iter().enumerate() {
        if *page as usize == distinct {
            distinct += 1;
            filled += (trace.len() - at) as u128;
            if capacities.get(means.len()) == Some(&distinct) {
                means.push(filled as f64 / trace.len() as f64);
            }
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fifo;
    use crate::{About, Batch};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_sizes_at_once_are_one_after_the_other(
            uses in prop::collection::vec((0..60_u64, any::<bool>()), 1..500),
            wanted in prop::collection::btree_set(1..61_usize, 1..40),
            told in any::<bool>(),
        ) {
            let op = uses.iter().map(|(_, writes)| if *writes { Op::STORE } else { Op::LOAD });
            let mut loader = crate::Loader::default();
            let batch = Batch {
                page: uses.iter().map(|(page, _)| *page).collect(),
                op: if told { op.collect() } else { Vec::new() },
                ..Batch::default()
            };
            loader.push(&batch).unwrap();
            let trace = loader.finish(About::default()).unwrap();
            let capacities: Vec<usize> = wanted.into_iter().filter(|wanted| *wanted <= trace.pages()).collect();
            let options = fifo::SPEC.defaults();
            let found = scores(&trace, &capacities);
            prop_assert_eq!(found.len(), capacities.len());
            for (score, capacity) in found.into_iter().zip(&capacities) {
                prop_assert_eq!(score, fifo::SPEC.run(&trace, *capacity, &options).unwrap());
            }
        }
    }
}
