//! LRU's misses at every size of memory, from one pass: exact stack distances, by divide and
//! conquer over time.
//!
//! Take a reference at t to a page that was last used at p. It hits in c pages iff fewer than c
//! different pages were used between. Of the t − p − 1 references between, those with a last use
//! after p are repetitions. The others are different pages:
//!
//! - d(t) = (t − p − 1) − #{j : p < j < t, prev(j) > p}.
//!
//! A block of time keeps the references with a last use before the block (open ones, with their
//! count so far), and the positions that are not yet used again. Two neighbours are merged by
//! walking both in order. Only what crosses a border goes on to the next level.
//!
//! - Cost: O(n · Σ m(2^k)), with m the miss rate of the working set: near linear for programs. 4 B
//!   for each reference, and 12 B for each open one.
//! - Source: Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970 (stack distances). The
//!   merge is of the family of Increment-and-Freeze (SPAA 2023) and PARDA (IPDPS 2012).

use crate::{NONE, Page, Trace};
use rayon::prelude::*;

/// References of a block that is solved by comparing all pairs. Larger blocks compare more, smaller
/// ones merge more.
const BASE: usize = 64;
/// References below which one thread does all: with fewer, starting others costs more than it
/// saves.
const SHARED: usize = 1 << 18;

/// A reference to a page that was last used before the block.
#[derive(Debug, Clone, Copy)]
struct Open {
    prev: u32,
    at: u32,
    /// References before it in the block with a last use after `prev`.
    repeated: u32,
}

/// What a block of time keeps for the merge with its neighbours.
#[derive(Debug, Default)]
struct Block {
    start: u32,
    end: u32,
    /// The open references, by rising `prev`.
    open: Vec<Open>,
    /// Positions not used again in the block, rising.
    last: Vec<u32>,
    /// References with their last use in the block.
    closed: u32,
}

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
        let distances = distances(trace.refs(), trace.pages());
        Self {
            hits: distances.iter().map(|count| *count as f64).collect(),
            references: trace.len() as u64,
            cold: trace.pages() as u64,
            fills: first_uses(trace),
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
        let mut left = self.references as f64;
        let mut all = Vec::with_capacity(self.hits.len());
        for hits in &self.hits {
            left -= hits;
            all.push(left.max(self.cold as f64));
        }
        all
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

    /// Mean number of pages in memory over the references, from the empty memory on, at every size
    /// from 0.
    pub fn mean_sizes(&self) -> Vec<f64> {
        if self.fills.is_empty() {
            return (0..self.hits.len()).map(|size| size as f64).collect();
        }
        let references = self.references as f64;
        let mut mean = 0.0;
        let mut means = vec![mean];
        for at in &self.fills {
            mean += (self.references - at) as f64 / references;
            means.push(mean);
        }
        means
    }
}

fn first_uses(trace: &Trace) -> Vec<u64> {
    let mut next = 0;
    let mut fills = Vec::with_capacity(trace.pages());
    // Pages are numbered in the order of first use.
    for (at, page) in trace.refs().iter().enumerate() {
        if *page == next {
            fills.push(at as u64);
            next += 1;
        }
    }
    fills
}

/// The number of references at each stack depth from 0 to the number of pages.
pub fn distances(refs: &[Page], pages: usize) -> Vec<u64> {
    // A page right after itself is at depth 1, and changes no other distance.
    let prev = last_uses(refs, pages);
    let mut hits = vec![0_u64; pages + 1];
    hits[1.min(pages)] += (refs.len() - prev.len()) as u64;
    if prev.len() < SHARED {
        conquer(&prev, 0, &mut hits, &mut Pool::default());
        return hits;
    }
    let parts = rayon::current_num_threads() * 2;
    let step = prev.len().div_ceil(parts).next_multiple_of(BASE);
    let done: Vec<(Block, Vec<u64>)> = prev
        .par_chunks(step)
        .enumerate()
        .map(|(part, chunk)| {
            let mut hits = vec![0_u64; pages + 1];
            let block = conquer(chunk, part * step, &mut hits, &mut Pool::default());
            (block, hits)
        })
        .collect();
    let mut whole: Option<Block> = None;
    let mut pool = Pool::default();
    for (block, own) in done {
        for (all, own) in hits.iter_mut().zip(own) {
            *all += own;
        }
        whole = Some(match whole {
            None => block,
            Some(left) => merge(left, block, &mut hits, &mut pool),
        });
    }
    hits
}

/// For each reference that does not repeat the one before it, where its page was last used among
/// such references.
fn last_uses(refs: &[Page], pages: usize) -> Vec<u32> {
    let mut last = vec![NONE; pages];
    let mut before = NONE;
    let mut prev = Vec::with_capacity(refs.len());
    for page in refs {
        if *page != before {
            let at = prev.len() as u32;
            prev.push(std::mem::replace(&mut last[*page as usize], at));
            before = *page;
        }
    }
    prev
}

/// Emptied vectors that are used again, so that small blocks need no allocation.
#[derive(Debug, Default)]
struct Pool {
    open: Vec<Vec<Open>>,
    last: Vec<Vec<u32>>,
}

fn conquer(prev: &[u32], start: usize, hits: &mut [u64], pool: &mut Pool) -> Block {
    if prev.len() <= BASE {
        return base(prev, start, hits, pool);
    }
    let half = (prev.len() / 2).next_multiple_of(BASE);
    let left = conquer(&prev[..half], start, hits, pool);
    let right = conquer(&prev[half..], start + half, hits, pool);
    merge(left, right, hits, pool)
}

/// Solves a small block by comparing all pairs.
fn base(prev: &[u32], start: usize, hits: &mut [u64], pool: &mut Pool) -> Block {
    let mut open = pool.open.pop().unwrap_or_default();
    let mut last = pool.last.pop().unwrap_or_default();
    // A first use repeats nothing: its last use counts as -1, long ago.
    let mut signed = [-1_i64; BASE];
    for (signed, prev) in signed.iter_mut().zip(prev) {
        if *prev != NONE {
            *signed = i64::from(*prev);
        }
    }
    let mut again = [false; BASE];
    let mut closed = 0;
    for (place, own) in prev.iter().enumerate() {
        if *own == NONE {
            continue;
        }
        let at = (start + place) as u32;
        let inside = *own as usize >= start;
        let from = if inside { *own as usize - start + 1 } else { 0 };
        let repeated = signed[from..place]
            .iter()
            .filter(|other| **other > i64::from(*own))
            .count() as u32;
        if inside {
            again[*own as usize - start] = true;
            closed += 1;
            hits[(at - own - repeated) as usize] += 1;
        } else {
            open.push(Open {
                prev: *own,
                at,
                repeated,
            });
        }
    }
    open.sort_unstable_by_key(|open| open.prev);
    for (place, again) in again[..prev.len()].iter().enumerate() {
        if !again {
            last.push((start + place) as u32);
        }
    }
    Block {
        start: start as u32,
        end: (start + prev.len()) as u32,
        open,
        last,
        closed,
    }
}

/// Merges two neighbours.
fn merge(left: Block, right: Block, hits: &mut [u64], pool: &mut Pool) -> Block {
    let mut open = pool.open.pop().unwrap_or_default();
    open.reserve(left.open.len() + right.open.len());
    // The open references of the right with a last use before both blocks. Between are all closed
    // references of the left, and the open ones of the left with a later last use.
    let crossing = right.open.partition_point(|open| open.prev < left.start);
    let mut of_left = left.open.iter().peekable();
    let mut later = left.open.len() as u32;
    for own in &right.open[..crossing] {
        while let Some(other) = of_left.next_if(|other| other.prev < own.prev) {
            open.push(*other);
            later -= 1;
        }
        open.push(Open {
            repeated: own.repeated + left.closed + later,
            ..*own
        });
    }
    open.extend(of_left);
    // The open references of the right with a last use in the left block are closed here.
    let mut last = pool.last.pop().unwrap_or_default();
    last.reserve(left.last.len() + right.last.len());
    let mut of_left = left.last.iter().enumerate();
    for own in &right.open[crossing..] {
        for (place, position) in of_left.by_ref() {
            if *position == own.prev {
                let different = (left.last.len() - place - 1) as u32;
                let repeated = own.repeated + (left.end - 1 - own.prev) - different;
                hits[(own.at - own.prev - repeated) as usize] += 1;
                break;
            }
            last.push(*position);
        }
    }
    last.extend(of_left.map(|(_, position)| *position));
    last.extend_from_slice(&right.last);
    let closed = left.closed + right.closed + (right.open.len() - crossing) as u32;
    let start = left.start;
    let end = right.end;
    for block in [left, right] {
        recycle(&mut pool.open, block.open);
        recycle(&mut pool.last, block.last);
    }
    Block {
        start,
        end,
        open,
        last,
        closed,
    }
}

/// Keeps an emptied vector, if it is small and there are not yet many: large ones would hold memory
/// for nothing.
fn recycle<T>(pool: &mut Vec<Vec<T>>, mut used: Vec<T>) {
    if pool.len() < 64 && used.capacity() <= 1 << 12 {
        used.clear();
        pool.push(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    proptest! {
        #[test]
        fn distances_are_those_of_a_stack(pages in prop::collection::vec(prop_oneof![0..8_u64, 0..200_u64], 1..900)) {
            let trace = Trace::of(&pages).unwrap();
            prop_assert_eq!(distances(trace.refs(), trace.pages()), plainly(trace.refs(), trace.pages()));
        }

        #[test]
        fn the_curve_is_lru_at_every_size(pages in prop::collection::vec(0..20_u64, 1..200)) {
            let trace = Trace::of(&pages).unwrap();
            let curve = MissCurve::of(&trace);
            let lru = crate::policy::Choice::parse("lru").unwrap();
            for size in 1..=trace.pages() {
                let run = lru.spec.run(&trace, size, &lru.options).unwrap();
                prop_assert_eq!(curve.misses(size), run.misses as f64);
                prop_assert_eq!(curve.all()[size], run.misses as f64);
                prop_assert!((curve.mean_sizes()[size] - run.mean_size).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn threads_change_nothing() {
        let mut rng = crate::rng::Rng::new(7);
        let pages: Vec<u64> = (0..SHARED as u64 * 2)
            .map(|_| rng.below(30) * rng.below(30))
            .collect();
        let trace = Trace::of(&pages).unwrap();
        assert_eq!(
            distances(trace.refs(), trace.pages()),
            plainly(trace.refs(), trace.pages())
        );
    }
}
