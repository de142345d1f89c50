//! A reference trace in memory: the pages in order of use, and what else is known of each
//! reference.

use crate::dense::Dense;
use crate::{Error, Page};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The operations of a reference, as bits: more than one if several references were merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Op(pub u8);

impl Op {
    /// An instruction was fetched.
    pub const FETCH: Self = Self(1);
    /// Data were read.
    pub const LOAD: Self = Self(2);
    /// Data were written.
    pub const STORE: Self = Self(4);
    /// Data were read and written.
    pub const MODIFY: Self = Self(6);

    /// Returns true if it writes to its page.
    #[inline]
    pub fn writes(self) -> bool {
        self.0 & Self::STORE.0 != 0
    }
}

/// What the time of a reference counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// References: the trace has no other time.
    #[default]
    References,
    /// Instructions executed.
    Instructions,
    /// Bytes of the instructions executed, as the founding report counted.
    InstructionBytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds.
    Seconds,
}

/// What a trace shows of the program's use of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// Every reference.
    #[default]
    EveryReference,
    /// Which pages were used between two scans, or a few uses of many. It is no reference string,
    /// and gives no exact stack distance.
    Scans,
    /// Every reference to a part of the pages.
    SampledPages,
}

/// What is known of a trace as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The program's command line, or a file's name.
    pub program: String,
    /// The format that it was read from.
    pub format: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// What the times count.
    pub clock: Clock,
    /// What the trace shows.
    pub visibility: Visibility,
    /// The longest time between two looks at the program, in the trace's time, if it was looked at now and then: what happened
    /// within it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<u64>,
    /// The parameters of the generator, or notes of the reader.
    pub parameters: Vec<(String, String)>,
    /// The tasks: number and name.
    pub tasks: Vec<(u16, String)>,
    /// The mappings: first page, last page, and what backs them.
    pub regions: Vec<(u64, u64, String)>,
}

impl About {
    /// The resolution; where the recorder of looks did not say it, the median of the times between two of them, which are only then
    /// gathered.
    pub(crate) fn resolution_or(&self, between_looks: impl FnOnce() -> Vec<u64>) -> Option<u64> {
        let is_by_looks = self.visibility == Visibility::Scans && self.clock != Clock::References;
        if self.resolution.is_some() || !is_by_looks {
            return self.resolution;
        }
        let mut between_looks = between_looks();
        between_looks.sort_unstable();
        between_looks.get(between_looks.len() / 2).copied()
    }
}

/// Errors: a window that is shorter than the time between two looks. Pages would leave it before each look, and its working set would
/// be as small as one likes.
pub(crate) fn demand_window(theta: u64, resolution: Option<u64>) -> Result<(), Error> {
    match resolution {
        Some(least) if theta < least => Err(Error::Unfit(format!(
            "a window of {theta}: the program was looked at only every {least}, so nothing shorter is known; take {least} or more"
        ))),
        _ => Ok(()),
    }
}

/// Errors: a trace of looks at a program, from which what is asked for cannot be known. Which pages were used between two looks
/// is known, and in what order is not: misses would be of an order that never was.
pub fn demand_order(about: &About, what: &str) -> Result<(), Error> {
    if about.visibility == Visibility::Scans {
        return Err(Error::Unfit(format!(
            "{what} needs the order of uses, and this trace has looks at a program, as DAMON's: which pages were used between two of \
             them, in no order. analyze and curve --of ws say what it can tell"
        )));
    }
    Ok(())
}

/// References by column, to be put into a [`Trace`]. A column other than `page` is empty if it is
/// not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Page numbers.
    pub page: Vec<u64>,
    /// Times, never falling.
    pub time: Vec<u64>,
    /// The operation of each.
    pub op: Vec<Op>,
    /// The task of each.
    pub task: Vec<u16>,
    /// Bytes of each, where the pages are objects of several sizes.
    pub size: Vec<u32>,
}

impl Batch {
    /// Removes the references, and keeps the memory.
    pub fn clear(&mut self) {
        self.page.clear();
        self.time.clear();
        self.op.clear();
        self.task.clear();
        self.size.clear();
    }

    /// The number of references.
    pub fn len(&self) -> usize {
        self.page.len()
    }

    /// Returns true if there are no references.
    pub fn is_empty(&self) -> bool {
        self.page.is_empty()
    }

    /// Appends all of another batch.
    pub fn append(&mut self, other: &Self) {
        self.page.extend(&other.page);
        self.time.extend(&other.time);
        self.op.extend(&other.op);
        self.task.extend(&other.task);
        self.size.extend(&other.size);
    }

    /// Keeps the references for which `keep` is true, by place.
    pub fn retain(&mut self, keep: &[bool]) {
        fn column<T: Copy>(column: &mut Vec<T>, keep: &[bool]) {
            let mut flags = keep.iter();
            column.retain(|_| flags.next().copied().unwrap_or(false));
        }
        column(&mut self.page, keep);
        column(&mut self.time, keep);
        column(&mut self.op, keep);
        column(&mut self.task, keep);
        column(&mut self.size, keep);
    }
}

/// Gathers batches into a trace.
#[derive(Debug, Default)]
pub struct Loader {
    dense: Dense,
    refs: Vec<Page>,
    time: Option<Vec<u64>>,
    op: Option<Vec<Op>>,
    task: Option<Vec<u16>>,
    size: Option<Vec<u32>>,
}

impl Loader {
    /// A loader with memory for so many references.
    pub fn expecting(references: usize) -> Self {
        Self {
            refs: Vec::with_capacity(references),
            ..Self::default()
        }
    }

    /// Adds references. A column that one batch lacks is dropped.
    pub fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        let before = self.refs.len();
        if before + batch.len() >= u32::MAX as usize {
            return Err(Error::TooMany("2^32 references"));
        }
        self.dense.extend(&batch.page, &mut self.refs)?;
        append(&mut self.time, &batch.time, before, batch.len());
        append(&mut self.op, &batch.op, before, batch.len());
        append(&mut self.task, &batch.task, before, batch.len());
        append(&mut self.size, &batch.size, before, batch.len());
        Ok(())
    }

    /// Makes the trace.
    pub fn finish(self, about: About) -> Result<Trace, Error> {
        if self.refs.is_empty() {
            return Err(Error::Empty);
        }
        let names = self.dense.into_names();
        Ok(Trace {
            refs: Arc::new(self.refs),
            names,
            time: self.time.map(Arc::new),
            op: self.op,
            task: self.task,
            size: self.size,
            next: OnceLock::new(),
            about,
        })
    }
}

/// Appends a part of a column. `None` means at the first batch that the column is not yet known,
/// and later that a batch lacked it.
fn append<T: Copy>(column: &mut Option<Vec<T>>, part: &[T], before: usize, len: usize) {
    if before == 0 && len > 0 {
        *column = None;
        if part.len() == len {
            *column = Some(part.to_vec());
        }
    } else if part.len() == len {
        if let Some(column) = column {
            column.extend_from_slice(part);
        }
    } else {
        *column = None;
    }
}

/// A part of a column; nothing if the column is not known.
fn part<T: Copy>(column: Option<&[T]>, range: &Range<usize>) -> Vec<T> {
    match column {
        Some(column) => column[range.clone()].to_vec(),
        None => Vec::new(),
    }
}

/// References in order, at least one, by column: 4 B each, and 8, 1, 2 and 4 B where time, op, task and size
/// are known.
#[derive(Debug, Clone)]
pub struct Trace {
    refs: Arc<Vec<Page>>,
    names: Vec<u64>,
    time: Option<Arc<Vec<u64>>>,
    op: Option<Vec<Op>>,
    task: Option<Vec<u16>>,
    size: Option<Vec<u32>>,
    next: OnceLock<Arc<Vec<u32>>>,
    /// What is known of the trace as a whole.
    pub about: About,
}

impl Trace {
    /// A trace of page numbers alone.
    pub fn of(pages: &[u64]) -> Result<Self, Error> {
        let mut loader = Loader::expecting(pages.len());
        loader.push(&Batch {
            page: pages.to_vec(),
            ..Batch::default()
        })?;
        loader.finish(About {
            page_size: 4096,
            ..About::default()
        })
    }

    /// A trace of dense pages, numbered in the order of first use, without other columns.
    pub(crate) fn bare(refs: Vec<Page>, names: Vec<u64>, about: About) -> Self {
        Self {
            refs: Arc::new(refs),
            names,
            time: None,
            op: None,
            task: None,
            size: None,
            next: OnceLock::new(),
            about,
        }
    }

    /// Pages in order of use, dense.
    pub fn refs(&self) -> &[Page] {
        &self.refs
    }

    /// The number of references.
    pub fn len(&self) -> usize {
        self.refs.len()
    }

    /// Returns false: a trace has at least one reference.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }

    /// Different pages: the footprint.
    pub fn pages(&self) -> usize {
        self.names.len()
    }

    /// The page number in its source that each dense one stands for.
    pub fn names(&self) -> &[u64] {
        &self.names
    }

    /// The time of each reference, in the units of [`About::clock`].
    pub fn time(&self) -> Option<&[u64]> {
        self.time.as_deref().map(Vec::as_slice)
    }

    /// The longest time between two looks at the program, in the trace's own time: `None` if every use was seen, or if `timed` is
    /// false, as references are counted then.
    pub fn resolution(&self, timed: bool) -> Option<u64> {
        let time = self.time().filter(|_| timed)?;
        let between_looks = || {
            let pairs = time.windows(2);
            let gaps = pairs.map(|pair| pair[1] - pair[0]);
            gaps.filter(|gap| *gap > 0).collect()
        };
        self.about.resolution_or(between_looks)
    }

    /// How long the trace is: in its own time if it has one and `timed` is true, else in
    /// references.
    pub fn span(&self, timed: bool) -> u64 {
        match self.time().filter(|_| timed) {
            Some(time) => time[time.len() - 1] - time[0] + 1,
            None => self.len() as u64,
        }
    }

    /// The reference at which each one's page is used next, [`NEVER`](crate::next_use::NEVER) if it
    /// is not. Computed once, 4 B each.
    pub fn next_uses(&self) -> Arc<Vec<u32>> {
        Arc::clone(
            self.next
                .get_or_init(|| Arc::new(crate::next_use::next_uses(&self.refs, self.pages()))),
        )
    }

    /// The references and times, shared.
    pub(crate) fn shared(&self) -> (Arc<Vec<Page>>, Option<Arc<Vec<u64>>>) {
        (Arc::clone(&self.refs), self.time.clone())
    }

    /// For each page, whether a mapping says that a file backs it. `None` if the trace has no
    /// mappings.
    pub fn files(&self) -> Option<Vec<bool>> {
        if self.about.regions.is_empty() {
            return None;
        }
        let mut regions: Vec<_> = self.about.regions.iter().collect();
        regions.sort();
        let mut is_file = Vec::with_capacity(self.names.len());
        for page in &self.names {
            let behind = regions.partition_point(|(first, ..)| first <= page);
            let region = behind.checked_sub(1).map(|at| regions[at]);
            is_file.push(match region {
                Some((_, last, name)) => last >= page && name.starts_with('/'),
                None => false,
            });
        }
        Some(is_file)
    }

    /// The operation of each reference.
    pub fn op(&self) -> Option<&[Op]> {
        self.op.as_deref()
    }

    /// The task of each reference.
    pub fn task(&self) -> Option<&[u16]> {
        self.task.as_deref()
    }

    /// The bytes of each reference's object.
    pub fn size(&self) -> Option<&[u32]> {
        self.size.as_deref()
    }

    /// The columns of at most `most` references, from `from` on.
    pub fn batch(&self, from: usize, most: usize) -> Batch {
        let range = from.min(self.len())..from.saturating_add(most).min(self.len());
        let refs = &self.refs[range.clone()];
        let pages = refs.iter().map(|page| self.names[*page as usize]);
        Batch {
            page: pages.collect(),
            time: part(self.time(), &range),
            op: part(self.op(), &range),
            task: part(self.task(), &range),
            size: part(self.size(), &range),
        }
    }

    /// The references for which `keep` is true, by place.
    pub fn part(&self, keep: impl Fn(usize) -> bool) -> Result<Self, Error> {
        let mut loader = Loader::default();
        let step = 1 << 16;
        for from in (0..self.len()).step_by(step) {
            let mut batch = self.batch(from, step);
            let kept: Vec<bool> = (from..from + batch.len()).map(&keep).collect();
            batch.retain(&kept);
            loader.push(&batch)?;
        }
        loader.finish(self.about.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_whole_or_not_there() {
        let mut loader = Loader::default();
        let full = Batch {
            page: vec![7, 9, 7],
            time: vec![1, 2, 3],
            op: vec![Op::LOAD; 3],
            ..Batch::default()
        };
        loader.push(&full).unwrap();
        loader
            .push(&Batch {
                page: vec![5],
                time: vec![4],
                ..Batch::default()
            })
            .unwrap();
        let trace = loader.finish(About::default()).unwrap();
        assert_eq!(trace.refs(), [0, 1, 0, 2]);
        assert_eq!(trace.names(), [7, 9, 5]);
        assert_eq!(trace.time(), Some(&[1, 2, 3, 4][..]));
        assert_eq!(trace.op(), None);
        assert_eq!(trace.task(), None);
        assert_eq!(trace.batch(1, 2).page, [9, 7]);
        assert_eq!(trace.part(|at| at > 1).unwrap().names(), [7, 5]);
    }

    #[test]
    fn nothing_is_no_trace() {
        assert_eq!(Trace::of(&[]).unwrap_err(), Error::Empty);
    }
}
