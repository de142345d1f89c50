//! A trace for analysis: its references to one page one after the other are one use, with the time that it takes.
//!
//! - A use goes on while references are to the same page and at most one unit of time apart. So for every window θ ≥ 1
//!   no reference within a use misses, and the working set is that of the trace, exactly; so are the faults of LRU, FIFO,
//!   2Q and the optimum, to which a repetition is nothing.
//! - Cost: 4 B for each use, 2 and 4 more where uses have lengths and times between, 1 where it is known what they do.
//!   Programs have about half as many uses as references.

use crate::dense::Dense;
use crate::{About, Batch, Error, Op, Page, Trace};

/// The longest use; a longer one is two.
const LONGEST: u64 = u16::MAX as u64;
/// What stands for a time between two uses that needs more room.
const LONG: u32 = u32::MAX;

/// Numbers that take no room as long as they are all the same.
#[derive(Debug, Clone)]
struct Column<T> {
    same: T,
    each: Option<Vec<T>>,
    length: usize,
}

impl<T: Copy + PartialEq> Column<T> {
    fn of(same: T) -> Self {
        Self { same, each: None, length: 0 }
    }

    #[inline]
    fn push(&mut self, value: T) {
        if let Some(each) = &mut self.each {
            each.push(value);
        } else if value != self.same {
            let mut each = vec![self.same; self.length];
            each.push(value);
            self.each = Some(each);
        }
        self.length += 1;
    }

    #[inline]
    fn at(&self, place: usize) -> T {
        self.each.as_ref().map_or(self.same, |each| each[place])
    }
}

/// A use of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The page.
    pub page: Page,
    /// When its first reference was.
    pub from: u64,
    /// When its last was.
    pub to: u64,
    /// What its references did.
    pub op: Op,
}

/// Gathers uses from batches.
#[derive(Debug)]
pub struct Gatherer {
    dense: Dense,
    pages: Vec<Page>,
    /// From each use's first reference to its last.
    length: Column<u16>,
    /// From each use's last reference to the next one's first.
    gap: Column<u32>,
    long: Vec<(usize, u64)>,
    op: Column<u8>,
    /// The use that goes on.
    open: Option<Use>,
    start: u64,
    references: u64,
    numbers: Vec<Page>,
}

impl Default for Gatherer {
    fn default() -> Self {
        Self {
            dense: Dense::default(),
            pages: Vec::new(),
            length: Column::of(0),
            gap: Column::of(1),
            long: Vec::new(),
            op: Column::of(0),
            open: None,
            start: 0,
            references: 0,
            numbers: Vec::new(),
        }
    }
}

impl Gatherer {
    /// Adds references; those without a time are one unit apart.
    pub fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        self.dense.extend(&batch.page, &mut numbers)?;
        for (at, page) in numbers.iter().enumerate() {
            let now = batch.time.get(at).copied().unwrap_or(self.references);
            let op = batch.op.get(at).copied().unwrap_or_default();
            self.references += 1;
            match &mut self.open {
                Some(open) if open.page == *page && now - open.to <= 1 && now - open.from <= LONGEST => {
                    open.to = now;
                    open.op.0 |= op.0;
                }
                open => {
                    let own = Use { page: *page, from: now, to: now, op };
                    match open.replace(own) {
                        Some(before) => self.close(before, Some(now)),
                        None => self.start = now,
                    }
                }
            }
        }
        self.numbers = numbers;
        if self.pages.len() >= u32::MAX as usize - 1 {
            return Err(Error::TooMany("2^32 uses"));
        }
        Ok(())
    }

    fn close(&mut self, done: Use, next: Option<u64>) {
        let place = self.pages.len();
        self.pages.push(done.page);
        self.length.push((done.to - done.from) as u16);
        self.op.push(done.op.0);
        let Some(next) = next else { return };
        let gap = next - done.to;
        if gap >= u64::from(LONG) {
            self.long.push((place, gap));
        }
        self.gap.push(u32::try_from(gap).unwrap_or(LONG));
    }

    /// The uses.
    ///
    /// Errors: there was no reference.
    pub fn finish(mut self, about: About) -> Result<Uses, Error> {
        let Some(last) = self.open.take() else { return Err(Error::Empty) };
        self.close(last, None);
        self.pages.shrink_to_fit();
        let trace = Trace::bare(self.pages, self.dense.into_names(), about);
        let Self { length, gap, long, op, start, references, .. } = self;
        Ok(Uses { trace, length, gap, long, op, start, end: last.to + 1, references })
    }
}

/// The uses of a trace, at least one.
#[derive(Debug)]
pub struct Uses {
    trace: Trace,
    length: Column<u16>,
    gap: Column<u32>,
    long: Vec<(usize, u64)>,
    op: Column<u8>,
    start: u64,
    end: u64,
    references: u64,
}

impl Uses {
    /// Of a trace in memory; `timed` takes its own time, if it has one.
    pub fn of(trace: &Trace, timed: bool) -> Result<Self, Error> {
        let mut gatherer = Gatherer::default();
        for from in (0..trace.len()).step_by(1 << 16) {
            let mut batch = trace.batch(from, 1 << 16);
            if !timed {
                batch.time.clear();
            }
            gatherer.push(&batch)?;
        }
        gatherer.finish(trace.about.clone())
    }

    /// In order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { uses: self, at: 0, now: self.start, long: 0 }
    }

    /// Each use as one reference, without a time: what policies need.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What is known of the trace as a whole.
    pub fn about(&self) -> &About {
        &self.trace.about
    }

    /// Uses.
    pub fn len(&self) -> usize {
        self.trace.len()
    }

    /// Never: a trace has a reference.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Different pages.
    pub fn pages(&self) -> usize {
        self.trace.pages()
    }

    /// References.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// When the first reference was.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// One behind the last reference's time.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How long the trace is, in its time.
    pub fn time(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it is known what uses do.
    pub fn has_ops(&self) -> bool {
        self.op.each.is_some() || self.op.same != 0
    }

    /// When each page was first used, in the order of first use.
    pub fn first_uses(&self) -> Vec<u64> {
        let mut first = Vec::with_capacity(self.pages());
        for one in self.iter() {
            // Pages are numbered in the order of first use.
            if one.page as usize == first.len() {
                first.push(one.from);
            }
        }
        first
    }
}

impl<'u> IntoIterator for &'u Uses {
    type Item = Use;
    type IntoIter = Iter<'u>;

    fn into_iter(self) -> Iter<'u> {
        self.iter()
    }
}

/// Uses in order.
#[derive(Debug, Clone)]
pub struct Iter<'u> {
    uses: &'u Uses,
    at: usize,
    now: u64,
    /// Long times that have been passed.
    long: usize,
}

impl Iterator for Iter<'_> {
    type Item = Use;

    #[inline]
    fn next(&mut self) -> Option<Use> {
        let page = *self.uses.trace.refs().get(self.at)?;
        let (from, to) = (self.now, self.now + u64::from(self.uses.length.at(self.at)));
        let own = Use { page, from, to, op: Op(self.uses.op.at(self.at)) };
        if self.at + 1 < self.uses.len() {
            let gap = self.uses.gap.at(self.at);
            self.now = to + if gap == LONG { self.long_gap() } else { u64::from(gap) };
        }
        self.at += 1;
        Some(own)
    }
}

impl Iter<'_> {
    #[cold]
    fn long_gap(&mut self) -> u64 {
        self.long += 1;
        self.uses.long.get(self.long - 1).map_or(u64::from(LONG), |long| long.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gathered(pages: &[u64], time: &[u64]) -> Uses {
        let mut gatherer = Gatherer::default();
        for (page, time) in pages.chunks(7).zip(time.chunks(7)) {
            gatherer.push(&Batch { page: page.to_vec(), time: time.to_vec(), ..Batch::default() }).unwrap();
        }
        gatherer.finish(About::default()).unwrap()
    }

    #[test]
    fn repetitions_in_step_are_one_use() {
        let uses = gathered(&[9, 9, 9, 4, 4, 9], &[5, 6, 6, 6, 8, 8 + (1 << 40)]);
        let all: Vec<(u32, u64, u64)> = uses.iter().map(|one| (one.page, one.from, one.to)).collect();
        assert_eq!(all, [(0, 5, 6), (1, 6, 6), (1, 8, 8), (0, 8 + (1 << 40), 8 + (1 << 40))]);
        assert_eq!((uses.references(), uses.time(), uses.first_uses()), (6, 4 + (1 << 40), vec![5, 6]));
    }

    #[test]
    fn what_is_the_same_takes_no_room() {
        let trace = Trace::of(&[1, 2, 3, 1, 2, 3]).unwrap();
        let uses = Uses::of(&trace, false).unwrap();
        assert!(uses.gap.each.is_none() && uses.length.each.is_none() && !uses.has_ops());
        assert_eq!(uses.iter().map(|one| one.from).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    }

    proptest! {
        #[test]
        fn every_reference_is_in_a_use(steps in prop::collection::vec((0..4_u64, 0..3_u64), 1..200)) {
            let mut now = 10;
            let (pages, times): (Vec<u64>, Vec<u64>) = steps.iter().map(|(page, step)| {
                now += step;
                (*page, now)
            }).unzip();
            let uses = gathered(&pages, &times);
            let names = uses.trace().names().to_vec();
            let all: Vec<Use> = uses.iter().collect();
            prop_assert!(all.windows(2).all(|pair| pair[0].to <= pair[1].from));
            for (page, time) in pages.iter().zip(&times) {
                let held = |one: &Use| names[one.page as usize] == *page && (one.from..=one.to).contains(time);
                prop_assert!(all.iter().any(held));
            }
        }
    }
}
