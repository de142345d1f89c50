//! libCacheSim's lcs: a header of statistics, then records as the version in it says.
//!
//! Source: `libCacheSim/traceReader/generalReader/lcs.h`. The statistics are not used: a header may lack what was added later.

use crate::input::Input;
use crate::oracle::array;
use crate::values::object_size;
use crate::{BATCH, Error, Order, Reading, Source};
use workingset::{About, Batch, Clock, Op};

/// The first and the last eight bytes of the header.
pub(crate) const MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();
/// The header's bytes: 1024 in the first releases, 8192 since version 3.
const HEADERS: [usize; 2] = [8192, 1024];

/// Where the fields of a record are. A record begins with u32 seconds and u64 object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    record: usize,
    /// Bytes of the size's own field, at 12.
    size: usize,
    /// Where a byte of the operation is, and three of the tenant.
    operation: Option<usize>,
}

/// What the records of a version are.
fn layout(version: u64) -> Option<Layout> {
    let with_features = |features: usize| Layout {
        record: 36 + features * 4,
        size: 8,
        operation: Some(20),
    };
    Some(match version {
        1 => Layout {
            record: 24,
            size: 4,
            operation: None,
        },
        2 => Layout {
            record: 28,
            size: 4,
            operation: Some(16),
        },
        3 => with_features(0),
        4 => with_features(1),
        5 => with_features(2),
        6 => with_features(4),
        7 => with_features(8),
        8 => with_features(16),
        _ => return None,
    })
}

/// An lcs trace of any version. Its objects are the pages, its tenants the tasks.
pub(crate) struct Lcs<'a> {
    input: Input<'a>,
    layout: Layout,
    reading: Reading,
    last: u64,
}

impl<'a> Lcs<'a> {
    /// Errors: a header that does not end as it should, a version that is not known.
    pub(crate) fn new(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let head = input.peek()?;
        if !head.starts_with(&MAGIC) || head.len() < 16 {
            return Err(Error::Format(
                "no lcs trace: it does not begin with libCacheSim's magic".to_owned(),
            ));
        }
        let version = u64::from_le_bytes(array(&head[8..]));
        let ends_with_magic = |size: usize| head.get(size - MAGIC.len()..size) == Some(&MAGIC[..]);
        let header = HEADERS.into_iter().find(|size| ends_with_magic(*size));
        let header = header.ok_or_else(|| {
            Error::Format(
                "the header of this lcs trace has no end: it is damaged, or older than version 1"
                    .to_owned(),
            )
        })?;
        let layout = layout(version)
            .ok_or_else(|| Error::Format(format!("lcs version {version}: 1 to 8 are known")))?;
        input.skip(header);
        Ok(Self {
            input,
            layout,
            reading,
            last: 0,
        })
    }

    fn push(&mut self, record: &[u8], batch: &mut Batch) -> Result<(), String> {
        let time = u64::from(u32::from_le_bytes(array(record)));
        batch.page.push(u64::from_le_bytes(array(&record[4..])));
        if self.reading.reads_times() {
            if time < self.last && self.reading.order == Order::Refuse {
                return Err(format!("time goes back from {} to {time}", self.last));
            }
            self.last = time;
            batch.time.push(time);
        }
        if self.reading.sizes {
            let size = match self.layout.size {
                4 => u64::from(u32::from_le_bytes(array(&record[12..]))),
                _ => u64::from_le_bytes(array(&record[12..])),
            };
            batch.size.push(object_size(size)?);
        }
        if let Some(at) = self.layout.operation {
            let word = u32::from_le_bytes(array(&record[at..]));
            let op = operation(word & 0xff);
            batch.op.push(op);
            let tenant = word >> 8;
            let tenant = u16::try_from(tenant)
                .map_err(|_| format!("tenant {tenant} is above 65535, the highest task"))?;
            batch.task.push(tenant);
        }
        Ok(())
    }
}

/// A read or a write, by libCacheSim's number of an operation (`req_op_e`); a number that it does not know is a read, as
/// where nothing is told.
fn operation(number: u32) -> Op {
    match number {
        // set, add, cas, replace, append, prepend, delete, incr, decr, write, update
        3..=11 | 13 | 14 => Op::STORE,
        _ => Op::LOAD,
    }
}

impl Source for Lcs<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let size = self.layout.record;
        let records = self.input.records(size, BATCH / 8)?.to_vec();
        let count = records.len() / size;
        for (at, record) in records.chunks_exact(size).enumerate() {
            let done = self.push(record, batch);
            done.map_err(|what| self.input.wrong_byte((count - at) * size, &what))?;
        }
        Ok(count > 0)
    }

    fn about(&self) -> About {
        About {
            format: "lcs".to_owned(),
            page_size: 4096,
            clock: Clock::Seconds,
            ..About::default()
        }
    }
}
