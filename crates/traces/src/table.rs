//! What the readers and writers of the page trace share: the tables that are read, and the rows
//! that are written.

use workingset::{Batch, Clock, Op};

/// The key in the metadata under which the trace's [`About`](workingset::About) is kept, as JSON.
pub const KEY: &str = "warmset.trace";

/// The most references that one row may stand for. The writers make runs of at most this, so a
/// longer run is a damaged file: without this limit one row could fill memory.
pub(crate) const LONGEST_RUN: u64 = 1 << 24;
/// The operation of a fetch that began on the page before: it is no further instruction. It is in
/// files alone; what reads them makes a fetch of it.
pub(crate) const REST_OF_FETCH: Op = Op(8 | Op::FETCH.0);

/// Columns of integers, by name.
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, Vec<u64>)>,
    pub(crate) rows: usize,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<&[u64]> {
        let (_, values) = self.columns.iter().find(|(known, _)| known == name)?;
        Some(values)
    }
}

/// Returns true if each reference of a run is one instruction later than the one before.
///
/// So it is for fetches where time counts instructions. The references of any other run share one
/// time.
pub(crate) fn is_paced(clock: Clock, op: Option<Op>) -> bool {
    clock == Clock::Instructions && op == Some(Op::FETCH)
}

/// Rows to be written: equal references in a row are one run, with their number.
#[derive(Debug, Default)]
pub struct PageRows {
    pub(crate) time: Vec<u64>,
    pub(crate) page: Vec<u64>,
    pub(crate) run: Vec<u32>,
    pub(crate) op: Vec<Op>,
    pub(crate) task: Vec<u16>,
    pub(crate) size: Vec<u32>,
}

impl PageRows {
    pub(crate) fn of(batch: &Batch, clock: Clock) -> Self {
        let mut starts = Vec::new();
        for at in 0..batch.len() {
            if at == 0 || !continues_run(batch, clock, at) {
                starts.push(at);
            }
        }
        Self {
            time: picked(&batch.time, &starts),
            page: picked(&batch.page, &starts),
            run: lengths(&starts, batch.len()),
            op: picked(&batch.op, &starts),
            task: picked(&batch.task, &starts),
            size: picked(&batch.size, &starts),
        }
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        match column {
            "time" => !self.time.is_empty(),
            "op" => !self.op.is_empty(),
            "task" => !self.task.is_empty(),
            "size" => !self.size.is_empty(),
            _ => true,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.page.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.page.is_empty()
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.time.clear();
        self.page.clear();
        self.run.clear();
        self.op.clear();
        self.task.clear();
        self.size.clear();
    }

    pub(crate) fn references(&self) -> u64 {
        self.run.iter().map(|run| u64::from(*run)).sum()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.time.extend_from_slice(&other.time);
        self.page.extend_from_slice(&other.page);
        self.run.extend_from_slice(&other.run);
        self.op.extend_from_slice(&other.op);
        self.task.extend_from_slice(&other.task);
        self.size.extend_from_slice(&other.size);
    }
}

/// The values at these places; nothing of a column that is not known.
fn picked<T: Copy>(column: &[T], places: &[usize]) -> Vec<T> {
    if column.is_empty() {
        return Vec::new();
    }
    places.iter().map(|at| column[*at]).collect()
}

/// The length of each run: from its start to the next run's, or to the end.
fn lengths(starts: &[usize], end: usize) -> Vec<u32> {
    let mut lengths = Vec::with_capacity(starts.len());
    for (number, start) in starts.iter().enumerate() {
        let next = starts.get(number + 1).copied().unwrap_or(end);
        lengths.push((next - start) as u32);
    }
    lengths
}

/// Returns true if a reference goes on with the run of the one before it.
fn continues_run(batch: &Batch, clock: Clock, at: usize) -> bool {
    fn equal<T: PartialEq>(column: &[T], at: usize) -> bool {
        column.is_empty() || column[at] == column[at - 1]
    }
    let step = u64::from(is_paced(clock, batch.op.get(at).copied()));
    let in_time = batch.time.is_empty() || batch.time[at] == batch.time[at - 1] + step;
    in_time
        && equal(&batch.page, at)
        && equal(&batch.op, at)
        && equal(&batch.task, at)
        && equal(&batch.size, at)
}
