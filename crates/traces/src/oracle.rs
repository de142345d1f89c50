//! libCacheSim's oracleGeneral: binary records of one size.

use crate::input::Input;
use crate::{BATCH, Error, Order, Reading, Source};
use workingset::{About, Batch, Clock};

/// Bytes of an oracleGeneral record: u32 seconds, u64 object, u32 size, i64 next access;
/// little-endian, no header.
pub(crate) const RECORD: usize = 24;

/// libCacheSim's oracleGeneral. Its objects are the pages. Their next access is never believed: it is computed where it is needed.
pub(crate) struct OracleGeneral<'a> {
    input: Input<'a>,
    reading: Reading,
    last: u64,
}

impl<'a> OracleGeneral<'a> {
    pub(crate) fn new(input: Input<'a>, reading: Reading) -> Self {
        Self {
            input,
            reading,
            last: 0,
        }
    }
}

impl Source for OracleGeneral<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        let most = BATCH.min((1 << 18) / RECORD);
        let records = self.input.records(RECORD, most)?;
        let count = records.len() / RECORD;
        let objects = records
            .chunks_exact(RECORD)
            .map(|record| u64::from_le_bytes(array(&record[4..])));
        batch.page.extend(objects);
        let mut wrong = None;
        if self.reading.sizes {
            let sizes = records
                .chunks_exact(RECORD)
                .map(|record| u32::from_le_bytes(array(&record[12..])));
            batch.size.extend(sizes);
        }
        if self.reading.reads_times() {
            for (at, record) in records.chunks_exact(RECORD).enumerate() {
                let time = u64::from(u32::from_le_bytes(array(record)));
                if time < self.last && self.reading.order == Order::Refuse {
                    wrong.get_or_insert((at, time));
                }
                self.last = time;
                batch.time.push(time);
            }
        }
        match wrong {
            Some((at, time)) => {
                let before = (count - at) * RECORD;
                let what = format!("time goes back to {time}");
                Err(self.input.wrong_byte(before, &what))
            }
            None => Ok(count > 0),
        }
    }

    fn about(&self) -> About {
        About {
            format: "oracleGeneral".to_owned(),
            page_size: 4096,
            clock: Clock::Seconds,
            ..About::default()
        }
    }
}

/// The first bytes of a slice, which must have as many.
#[inline]
pub(crate) fn array<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    let mut array = [0; SIZE];
    array.copy_from_slice(&bytes[..SIZE]);
    array
}

/// Returns true if the first records can be oracleGeneral's.
///
/// Times must not go back, sizes must be at most 1 GiB, and each next access must be later, or -1
/// for none.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let records = head.chunks_exact(RECORD).take(200);
    let mut last = 0;
    let mut count = 0;
    for (at, record) in records.enumerate() {
        let time = u32::from_le_bytes(array(record));
        let size = u32::from_le_bytes(array(&record[12..]));
        let next = i64::from_le_bytes(array(&record[16..]));
        let is_later = next == -1 || next > at as i64;
        if time < last || size > 1 << 30 || !is_later {
            return false;
        }
        last = time;
        count += 1;
    }
    count > 0
}
