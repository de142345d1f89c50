//! What Warmset's own tools for Valgrind and QEMU write, as it came through the pipe: `warmset-lab trace` passes it on.

use crate::blocks::{self, Decoder};
use crate::input::Input;
use crate::table::{PageRows, is_paced};
use crate::{BATCH, Error, Reading, Source};
use std::iter::repeat_n;
use workingset::{About, Batch, Clock, Op};

/// A recording, decoded as it comes.
pub(crate) struct Pieces<'a> {
    input: Input<'a>,
    decoder: Decoder,
    page_size: u64,
    /// Whether times are wanted.
    timed: bool,
    rows: PageRows,
    /// The first row that was not passed on, and how many of its references were.
    row: usize,
    passed: u32,
    /// Fetches so far.
    now: u64,
    is_at_end: bool,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(input: Input<'a>, reading: Reading) -> Self {
        Self {
            input,
            decoder: Decoder::new(reading.page_size, Clock::Instructions),
            page_size: reading.page_size,
            timed: reading.time,
            rows: PageRows::default(),
            row: 0,
            passed: 0,
            now: 0,
            is_at_end: false,
        }
    }

    /// Decodes until there are rows, or the end.
    fn decode(&mut self) -> Result<(), Error> {
        self.rows.clear();
        self.row = 0;
        while self.rows.is_empty() && !self.is_at_end {
            let bytes = self.input.peek()?;
            if bytes.is_empty() {
                self.is_at_end = true;
                if self.decoder.has_half_a_piece() {
                    return Err(self.input.wrong_byte(0, "it ends within a piece"));
                }
                self.decoder.finish(&mut self.rows)?;
                break;
            }
            let count = bytes.len();
            self.decoder.push(bytes, &mut self.rows)?;
            self.input.skip(count);
        }
        Ok(())
    }

    /// Passes on references of one row, at most `most`.
    fn unfold(&mut self, most: usize, batch: &mut Batch) {
        let op = self.rows.op[self.row];
        let left = self.rows.run[self.row] - self.passed;
        let count = left.min(u32::try_from(most).unwrap_or(u32::MAX));
        let many = count as usize;
        batch.page.extend(repeat_n(self.rows.page[self.row], many));
        batch.task.extend(repeat_n(self.rows.task[self.row], many));
        batch.op.extend(repeat_n(Op(op.0 & 7), many));
        let step = u64::from(is_paced(Clock::Instructions, Some(op)));
        for at in 1..=u64::from(count) {
            if self.timed {
                batch.time.push(self.now + at * step);
            }
        }
        self.now += u64::from(count) * step;
        self.passed += count;
        if count == left {
            self.row += 1;
            self.passed = 0;
        }
    }
}

impl Source for Pieces<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH {
            if self.row == self.rows.len() {
                self.decode()?;
                if self.rows.is_empty() {
                    break;
                }
            }
            self.unfold(BATCH - batch.len(), batch);
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut parameters = Vec::new();
        let unfinished = self.decoder.unfinished();
        if !unfinished.is_empty() {
            let why = format!("before the end of {}", unfinished.join(", "));
            parameters.push(("cut".to_owned(), why));
        }
        About {
            program: self.decoder.program().to_owned(),
            format: "uses".to_owned(),
            page_size: self.page_size,
            clock: Clock::Instructions,
            parameters,
            tasks: self.decoder.tasks(),
            regions: self.decoder.regions(),
            ..About::default()
        }
    }
}

/// Returns true if a file begins as such a recording does.
pub(crate) fn is_one(head: &[u8]) -> bool {
    head.starts_with(&blocks::MAGIC.to_le_bytes())
}
