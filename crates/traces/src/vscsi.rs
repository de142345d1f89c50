//! VMware's traces of virtual disks (vscsiStats), as CloudPhysics published them and libCacheSim has them.
//!
//! Each request is one reference to its first block, as libCacheSim reads them: how many blocks follow is not used. Both
//! versions of the record are little-endian and have no header.

use crate::input::Input;
use crate::oracle::array;
use crate::{BATCH, Error, Reading, Source};
use workingset::{About, Batch, Clock, Op};

/// Where the fields of a record are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    size: usize,
    command: usize,
    number: usize,
    /// As it stands in the record.
    value: u16,
    block: usize,
    time: usize,
}

/// Serial number, bytes, segments, command, version, block, microseconds.
const FIRST: Version = Version {
    size: 32,
    command: 12,
    number: 14,
    value: 0x0100,
    block: 16,
    time: 24,
};
/// Command, version, serial number, bytes, segments, block, microseconds, response time.
const SECOND: Version = Version {
    size: 40,
    command: 0,
    number: 2,
    value: 0x0200,
    block: 16,
    time: 24,
};
/// Records that are looked at.
const LOOKED_AT: usize = 100;

/// The version of the records, if that is what they are: each has its number, and a command that SCSI has.
pub(crate) fn version_of(head: &[u8]) -> Option<Version> {
    [FIRST, SECOND].into_iter().find(|version| {
        let mut records = head.chunks_exact(version.size).take(LOOKED_AT);
        let is_one = |record: &[u8]| {
            u16::from_le_bytes(array(&record[version.number..])) == version.value
                && operation(record, *version).is_some()
        };
        head.len() >= version.size && records.all(is_one)
    })
}

fn operation(record: &[u8], version: Version) -> Option<Op> {
    let command = u16::from_le_bytes(array(&record[version.command..]));
    operation_of(command.into())
}

/// A read or a write, by a command of SCSI; `None` for what SCSI does not have, or what moves no blocks.
pub(crate) fn operation_of(command: u64) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::LOAD),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Op::STORE),
        _ => None,
    }
}

/// A trace of a virtual disk.
pub(crate) struct Vscsi<'a> {
    input: Input<'a>,
    version: Version,
    page_size: u64,
    /// The time of the first request, which counts as zero, and of the last.
    first: Option<u64>,
    last: u64,
}

impl<'a> Vscsi<'a> {
    /// Errors: neither version's records.
    pub(crate) fn new(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let version = version_of(input.peek()?)
            .ok_or_else(|| Error::Format("no records of vscsi, of neither version".to_owned()))?;
        Ok(Self {
            input,
            version,
            page_size: reading.page_size,
            first: None,
            last: 0,
        })
    }
}

impl Source for Vscsi<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let version = self.version;
        let records = self.input.records(version.size, BATCH / 4)?;
        for record in records.chunks_exact(version.size) {
            let time = u64::from_le_bytes(array(&record[version.time..]));
            let first = *self.first.get_or_insert(time);
            // Requests are recorded when they complete: an earlier time is raised to the last one.
            let time = time.saturating_sub(first).saturating_mul(1000);
            self.last = self.last.max(time);
            batch.time.push(self.last);
            batch
                .page
                .push(u64::from_le_bytes(array(&record[version.block..])));
            batch
                .op
                .push(operation(record, version).unwrap_or(Op::LOAD));
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: "vscsi".to_owned(),
            page_size: self.page_size,
            clock: Clock::Nanoseconds,
            ..About::default()
        }
    }
}
