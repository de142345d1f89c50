//! A trace for analysis: consecutive references to one page are one use, with the time that it
//! takes.
//!
//! - A use goes on while references are to the same page and at most one unit of time apart. So for
//!   every window θ ≥ 1 no reference within a use misses, and the working set is that of the trace,
//!   exactly; so are the faults of LRU, FIFO, 2Q and the optimum, to which a repetition is nothing.
//! - Cost: 4 B for each use, 2 more where uses differ in more than their page, 8 more for each time
//!   of 3 and more units between two. Programs have about half as many uses as references.

use crate::dense::Dense;
use crate::{About, Batch, Error, Op, Page, Trace};

/// What is kept of a use beside its page, in 16 bits: its operations in 3, the time to the next use
/// in 2, its length in the rest.
///
/// Times of 3 and more are in a list of their own, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word(u16);

/// The longest use that a word holds; a longer one is kept as several.
const LONGEST: u64 = (1 << 11) - 1;
/// The time that stands for one in the list.
const LISTED: u64 = 3;

impl Word {
    fn of(op: Op, gap: u64, length: u64) -> Self {
        let op = u16::from(op.0 & 7);
        let gap = gap.min(LISTED) as u16;
        let length = length.min(LONGEST) as u16;
        Self(op | gap << 3 | length << 5)
    }

    fn op(self) -> Op {
        Op((self.0 & 7) as u8)
    }

    fn gap(self) -> u64 {
        u64::from(self.0 >> 3 & 3)
    }

    fn length(self) -> u64 {
        u64::from(self.0 >> 5)
    }
}

/// Words that take no memory as long as they are all the same.
#[derive(Debug, Clone, Default)]
struct Words {
    each: Vec<Word>,
    /// While `each` is empty: the word that all are, and their number.
    same: Option<(Word, usize)>,
}

impl Words {
    #[inline]
    fn push(&mut self, word: Word) {
        match &mut self.same {
            Some((same, count)) if *same == word => *count += 1,
            None if self.each.is_empty() => self.same = Some((word, 1)),
            None => self.each.push(word),
            Some((same, count)) => {
                self.each = vec![*same; *count];
                self.each.push(word);
                self.same = None;
            }
        }
    }

    #[inline]
    fn at(&self, place: usize) -> Word {
        self.same.map_or_else(|| self.each[place], |same| same.0)
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
#[derive(Debug, Default)]
pub struct Gatherer {
    dense: Dense,
    pages: Vec<Page>,
    words: Words,
    /// Times to the next use that do not fit in the words.
    listed: Vec<u64>,
    /// The use that goes on.
    open: Option<Use>,
    start: u64,
    references: u64,
    numbers: Vec<Page>,
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
                Some(open)
                    if open.page == *page && now - open.to <= 1 && now - open.from <= LONGEST =>
                {
                    open.to = now;
                    open.op.0 |= op.0;
                }
                open => {
                    let own = Use {
                        page: *page,
                        from: now,
                        to: now,
                        op,
                    };
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

    /// Keeps a use that has ended. The last use has no next one; its word says that there is one a
    /// moment later.
    fn close(&mut self, done: Use, next: Option<u64>) {
        let gap = next.map_or(1, |next| next - done.to);
        self.pages.push(done.page);
        self.words.push(Word::of(done.op, gap, done.to - done.from));
        if gap >= LISTED {
            self.listed.push(gap);
        }
    }

    /// The uses.
    ///
    /// Errors: there was no reference.
    pub fn finish(mut self, about: About) -> Result<Uses, Error> {
        let Some(last) = self.open.take() else {
            return Err(Error::Empty);
        };
        self.close(last, None);
        self.pages.shrink_to_fit();
        let trace = Trace::bare(self.pages, self.dense.into_names(), about);
        let Self {
            words,
            listed,
            start,
            references,
            ..
        } = self;
        Ok(Uses {
            trace,
            words,
            listed,
            start,
            end: last.to + 1,
            references,
        })
    }
}

impl Gatherer {
    /// Bytes that [`Analysis::of`](crate::analysis::Analysis::of) and the uses take at once for what was gathered: an estimate, rather too
    /// high than too low.
    pub fn analysis_bytes(&self) -> u64 {
        bytes(
            self.pages.len(),
            self.listed.len(),
            self.dense.names().len(),
        )
    }
}

/// What an analysis takes that no trace changes: its pictures and histograms.
const FIXED_BYTES: u64 = 24 << 20;
/// Per use: its page and its word, and its next use while the optimum is computed.
const USE_BYTES: u64 = 4 + 2 + 4;
/// Per time that is listed.
const LISTED_BYTES: u64 = 8;
/// Per page: curves at every size, and the policies that run at once. Measured: 286 on one CPU, and 32 for each policy more.
const PAGE_BYTES: u64 = 350;

fn bytes(uses: usize, listed: usize, pages: usize) -> u64 {
    FIXED_BYTES + USE_BYTES * uses as u64 + LISTED_BYTES * listed as u64 + PAGE_BYTES * pages as u64
}

/// Counts what a [`Gatherer`] would hold, where it is too much to be held. Memory: that of the pages.
#[derive(Debug)]
pub struct UseCounter {
    gatherer: Gatherer,
    uses: usize,
    listed: usize,
}

impl UseCounter {
    /// Goes on where a gatherer is, and frees what it holds.
    pub fn of(gatherer: Gatherer) -> Self {
        let mut counter = Self {
            gatherer,
            uses: 0,
            listed: 0,
        };
        counter.count();
        counter.gatherer.pages.shrink_to_fit();
        counter.gatherer.listed.shrink_to_fit();
        counter
    }

    /// Counts references, as [`Gatherer::push`] adds them.
    pub fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        self.gatherer.push(batch)?;
        self.count();
        Ok(())
    }

    fn count(&mut self) {
        self.uses += self.gatherer.pages.len();
        self.listed += self.gatherer.listed.len();
        self.gatherer.pages.clear();
        self.gatherer.listed.clear();
        self.gatherer.words = Words::default();
    }

    /// References so far.
    pub fn references(&self) -> u64 {
        self.gatherer.references
    }

    /// Different pages so far.
    pub fn pages(&self) -> usize {
        self.gatherer.dense.names().len()
    }

    /// As [`Gatherer::analysis_bytes`].
    pub fn analysis_bytes(&self) -> u64 {
        bytes(self.uses, self.listed, self.pages())
    }

    /// About how many references can be analysed in `most` bytes, if they are to all the pages, and the trace is everywhere as it is in
    /// the mean. A tenth less than would just fit; 0 if there is no memory for that many pages.
    pub fn references_within(&self, most: u64) -> u64 {
        let beside = bytes(0, 0, self.pages());
        let free = most.saturating_sub(beside);
        let taken = self.analysis_bytes() - beside;
        let share = 0.9 * free as f64 / taken.max(1) as f64;
        (self.references() as f64 * share.min(1.0)) as u64
    }
}

/// The uses of a trace, at least one.
#[derive(Debug)]
pub struct Uses {
    trace: Trace,
    words: Words,
    listed: Vec<u64>,
    start: u64,
    end: u64,
    references: u64,
}

impl Uses {
    /// The uses of a trace: in its own time if it has one and `timed` is true, else in references.
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

    /// The uses in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            uses: self,
            at: 0,
            now: self.start,
            listed: self.listed.iter(),
        }
    }

    /// Each use as one reference, without a time: what policies need.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What is known of the trace as a whole.
    pub fn about(&self) -> &About {
        &self.trace.about
    }

    /// The number of uses.
    pub fn len(&self) -> usize {
        self.trace.len()
    }

    /// Returns false: a trace has at least one reference.
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

    /// One more than the time of the last reference.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How long the trace is, in its time.
    pub fn time(&self) -> u64 {
        self.end - self.start
    }

    /// The shortest time of which the trace can tell; `None` if it shows every reference. Cost: sorts the times between looks, if the
    /// recorder did not say it.
    pub fn resolution(&self) -> Option<u64> {
        self.about().resolution_or(|| self.listed.clone())
    }

    /// When each page was first used, in the order of first use.
    pub fn first_uses(&self) -> Vec<u64> {
        let mut first = Vec::with_capacity(self.pages());
        for one in self {
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
    /// The times of the list that are not yet used.
    listed: std::slice::Iter<'u, u64>,
}

impl Iterator for Iter<'_> {
    type Item = Use;

    #[inline]
    fn next(&mut self) -> Option<Use> {
        let page = *self.uses.trace.refs().get(self.at)?;
        let word = self.uses.words.at(self.at);
        let from = self.now;
        let to = self.now + word.length();
        let gap = if word.gap() == LISTED {
            self.listed.next().copied().unwrap_or(LISTED)
        } else {
            word.gap()
        };
        self.now = to + gap;
        self.at += 1;
        Some(Use {
            page,
            from,
            to,
            op: word.op(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gathered(pages: &[u64], time: &[u64]) -> Uses {
        let mut gatherer = Gatherer::default();
        for (page, time) in pages.chunks(7).zip(time.chunks(7)) {
            gatherer
                .push(&Batch {
                    page: page.to_vec(),
                    time: time.to_vec(),
                    ..Batch::default()
                })
                .unwrap();
        }
        gatherer.finish(About::default()).unwrap()
    }

    #[test]
    fn repetitions_in_step_are_one_use() {
        let uses = gathered(&[9, 9, 9, 4, 4, 9], &[5, 6, 6, 6, 8, 8 + (1 << 40)]);
        let all: Vec<(u32, u64, u64)> = uses
            .iter()
            .map(|one| (one.page, one.from, one.to))
            .collect();
        assert_eq!(
            all,
            [
                (0, 5, 6),
                (1, 6, 6),
                (1, 8, 8),
                (0, 8 + (1 << 40), 8 + (1 << 40))
            ]
        );
        assert_eq!(
            (uses.references(), uses.time(), uses.first_uses()),
            (6, 4 + (1 << 40), vec![5, 6])
        );
    }

    #[test]
    fn what_is_the_same_takes_no_room() {
        let trace = Trace::of(&[1, 2, 3, 1, 2, 3]).unwrap();
        let uses = Uses::of(&trace, false).unwrap();
        assert!(uses.words.each.is_empty() && uses.listed.is_empty());
        assert_eq!(
            uses.iter().map(|one| one.from).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5]
        );
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
