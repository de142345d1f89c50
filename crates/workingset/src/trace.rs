//! A reference trace in memory: pages in order of use, and what else is known of each use.

use crate::dense::Dense;
use crate::{Error, Page};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What a reference did; more than one when several were merged.
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

    /// Whether it dirties its page.
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
    /// Which pages were used between two looks, or single uses of many: no reference string, and no
    /// exact stack distance.
    Scans,
    /// A part of the pages, every reference of these.
    SampledPages,
}

/// What is known of a trace as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// What made it: a program's command line, or a file's name.
    pub program: String,
    /// The format that it was read from.
    pub format: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// What its times count.
    pub clock: Clock,
    /// What it shows.
    pub visibility: Visibility,
    /// What a generator was told, or a reader did.
    pub parameters: Vec<(String, String)>,
    /// Tasks by number: their names.
    pub tasks: Vec<(u16, String)>,
    /// Mappings: first and last page, and what is there.
    pub regions: Vec<(u64, u64, String)>,
}

/// References on their way into a [`Trace`], by column. All but `page` may be empty: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Page numbers.
    pub page: Vec<u64>,
    /// Times, never falling.
    pub time: Vec<u64>,
    /// What each did.
    pub op: Vec<Op>,
    /// The task of each.
    pub task: Vec<u16>,
}

impl Batch {
    /// Forgets the references, keeps the room.
    pub fn clear(&mut self) {
        self.page.clear();
        self.time.clear();
        self.op.clear();
        self.task.clear();
    }

    /// References in it.
    pub fn len(&self) -> usize {
        self.page.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.page.is_empty()
    }

    /// Keeps the references that `keep` wants, by place.
    pub fn retain(&mut self, keep: &[bool]) {
        fn column<T: Copy>(column: &mut Vec<T>, keep: &[bool]) {
            let mut flags = keep.iter();
            column.retain(|_| flags.next().copied().unwrap_or(false));
        }
        column(&mut self.page, keep);
        column(&mut self.time, keep);
        column(&mut self.op, keep);
        column(&mut self.task, keep);
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
}

impl Loader {
    /// Room for as many references as are known to come.
    pub fn expecting(references: usize) -> Self {
        Self {
            refs: Vec::with_capacity(references),
            ..Self::default()
        }
    }

    /// Adds references. A column that some batches lack is forgotten.
    pub fn push(&mut self, batch: &Batch) -> Result<(), Error> {
        let before = self.refs.len();
        if before + batch.len() >= u32::MAX as usize {
            return Err(Error::TooMany("2^32 references"));
        }
        self.dense.extend(&batch.page, &mut self.refs)?;
        append(&mut self.time, &batch.time, before, batch.len());
        append(&mut self.op, &batch.op, before, batch.len());
        append(&mut self.task, &batch.task, before, batch.len());
        Ok(())
    }

    /// The trace.
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
            next: OnceLock::new(),
            about,
        })
    }
}

/// `None` before the first batch means not yet known; afterwards that it was missing once.
fn append<T: Copy>(column: &mut Option<Vec<T>>, part: &[T], before: usize, len: usize) {
    if before == 0 && len > 0 {
        *column = (part.len() == len).then(|| part.to_vec());
    } else if part.len() == len {
        if let Some(column) = column {
            column.extend_from_slice(part);
        }
    } else {
        *column = None;
    }
}

/// References in order, at least one, by column: 4 B each, and 8, 1 and 2 B where time, op and task
/// are known.
#[derive(Debug, Clone)]
pub struct Trace {
    refs: Arc<Vec<Page>>,
    names: Vec<u64>,
    time: Option<Arc<Vec<u64>>>,
    op: Option<Vec<Op>>,
    task: Option<Vec<u16>>,
    next: OnceLock<Arc<Vec<u32>>>,
    /// What is known of it as a whole.
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

    /// Of dense pages, numbered in the order of first use, without a time.
    pub(crate) fn bare(refs: Vec<Page>, names: Vec<u64>, about: About) -> Self {
        Self {
            refs: Arc::new(refs),
            names,
            time: None,
            op: None,
            task: None,
            next: OnceLock::new(),
            about,
        }
    }

    /// Pages in order of use, dense.
    pub fn refs(&self) -> &[Page] {
        &self.refs
    }

    /// References.
    pub fn len(&self) -> usize {
        self.refs.len()
    }

    /// Never: a trace has a reference.
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

    /// When each was, in the units of [`About::clock`].
    pub fn time(&self) -> Option<&[u64]> {
        self.time.as_deref().map(Vec::as_slice)
    }

    /// How long it is: in its own time if it has one and `timed` says so, else in references.
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

    /// The references, for who keeps them.
    pub(crate) fn shared(&self) -> (Arc<Vec<Page>>, Option<Arc<Vec<u64>>>) {
        (Arc::clone(&self.refs), self.time.clone())
    }

    /// Whether each page is backed by a file, by the mappings that are told; `None` where none are.
    pub fn files(&self) -> Option<Vec<bool>> {
        if self.about.regions.is_empty() {
            return None;
        }
        let mut regions: Vec<_> = self.about.regions.iter().collect();
        regions.sort();
        let of = |page: &u64| {
            let at = regions.partition_point(|region| region.0 <= *page);
            at > 0 && regions[at - 1].1 >= *page && regions[at - 1].2.starts_with('/')
        };
        Some(self.names.iter().map(of).collect())
    }

    /// What each did.
    pub fn op(&self) -> Option<&[Op]> {
        self.op.as_deref()
    }

    /// Whose each was.
    pub fn task(&self) -> Option<&[u16]> {
        self.task.as_deref()
    }

    /// Back to columns, from `from`, at most `most` references.
    pub fn batch(&self, from: usize, most: usize) -> Batch {
        let range = from.min(self.len())..from.saturating_add(most).min(self.len());
        Batch {
            page: self.refs[range.clone()]
                .iter()
                .map(|page| self.names[*page as usize])
                .collect(),
            time: self
                .time
                .as_ref()
                .map(|time| time[range.clone()].to_vec())
                .unwrap_or_default(),
            op: self
                .op
                .as_ref()
                .map(|op| op[range.clone()].to_vec())
                .unwrap_or_default(),
            task: self
                .task
                .as_ref()
                .map(|task| task[range].to_vec())
                .unwrap_or_default(),
        }
    }

    /// The references that `keep` wants, told place and reference.
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
            task: Vec::new(),
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
        assert_eq!(
            (trace.refs(), trace.names()),
            (&[0, 1, 0, 2][..], &[7, 9, 5][..])
        );
        assert_eq!(
            (trace.time(), trace.op(), trace.task()),
            (Some(&[1, 2, 3, 4][..]), None, None)
        );
        assert_eq!(trace.batch(1, 2).page, [9, 7]);
        assert_eq!(trace.part(|at| at > 1).unwrap().names(), [7, 5]);
    }

    #[test]
    fn nothing_is_no_trace() {
        assert_eq!(Trace::of(&[]).unwrap_err(), Error::Empty);
    }
}
