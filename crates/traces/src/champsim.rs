//! ChampSim's traces of instructions: records of 64 bytes, little-endian, without a header (`inc/trace_instruction.h`).
//!
//! An instruction becomes a fetch of its own page, loads from its source addresses, and stores to its destinations; an
//! address of zero is none. Time is instructions.

use crate::input::Input;
use crate::oracle::array;
use crate::{Error, Reading, Source};
use workingset::{About, Batch, Clock, Op};

/// Bytes of a record: instruction pointer, is it a branch, was it taken, two registers that are written, four that are read,
/// two addresses that are written, four that are read.
pub(crate) const RECORD: usize = 64;
const BRANCH: usize = 8;
const TAKEN: usize = 9;
const STORES: [usize; 2] = [16, 24];
const LOADS: [usize; 4] = [32, 40, 48, 56];
/// Records that are looked at, and those that must be there.
const LOOKED_AT: usize = 200;
const FEWEST: usize = 4;
/// No program has an address above, on x86-64 with five levels of page tables.
const HIGHEST: u64 = 1 << 57;
/// Records at a time: each becomes up to seven references.
const MOST: usize = 2048;

/// Returns true if the first records can be ChampSim's: each has an instruction, its two flags are yes or no, and every
/// address is one that a program can have.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let mut count = 0;
    for record in head.chunks_exact(RECORD).take(LOOKED_AT) {
        let pointer = address(record, 0);
        let is_flag = |at: usize| record[at] <= 1;
        let is_address = |at: &usize| address(record, *at) < HIGHEST;
        let is_one = pointer != 0 && pointer < HIGHEST && is_flag(BRANCH) && is_flag(TAKEN);
        if !is_one || !STORES.iter().chain(&LOADS).all(is_address) {
            return false;
        }
        count += 1;
    }
    count >= FEWEST
}

fn address(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(&record[at..]))
}

/// A trace of instructions.
pub(crate) struct ChampSim<'a> {
    input: Input<'a>,
    reading: Reading,
    instructions: u64,
}

impl<'a> ChampSim<'a> {
    pub(crate) fn new(input: Input<'a>, reading: Reading) -> Self {
        Self {
            input,
            reading,
            instructions: 0,
        }
    }
}

impl Source for ChampSim<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let shift = self.reading.shift();
        let records = self.input.records(RECORD, MOST)?;
        for record in records.chunks_exact(RECORD) {
            let mut push = |at: usize, op: Op| {
                batch.page.push(address(record, at) >> shift);
                batch.op.push(op);
                batch.time.push(self.instructions);
            };
            push(0, Op::FETCH);
            for at in LOADS {
                if address(record, at) != 0 {
                    push(at, Op::LOAD);
                }
            }
            for at in STORES {
                if address(record, at) != 0 {
                    push(at, Op::STORE);
                }
            }
            self.instructions += 1;
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: "champsim".to_owned(),
            page_size: self.reading.page_size,
            clock: Clock::Instructions,
            ..About::default()
        }
    }
}
