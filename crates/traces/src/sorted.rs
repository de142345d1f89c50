//! A source with its references sorted by time, where a trace has them in another order.

use crate::{BATCH, Error, Source};
use workingset::{About, Batch};

/// The references of a source, the earliest first; those of one time stay in their order. All are held in memory.
pub(crate) struct Sorted<'a> {
    source: Box<dyn Source + 'a>,
    /// Whether times are wanted in what comes out.
    time: bool,
    /// Once all is read: the references, and their places in order of time.
    all: Option<(Batch, Vec<u32>)>,
    next: usize,
}

impl<'a> Sorted<'a> {
    pub(crate) fn new(source: Box<dyn Source + 'a>, time: bool) -> Self {
        Self {
            source,
            time,
            all: None,
            next: 0,
        }
    }

    /// Reads the source to its end.
    ///
    /// Errors: a trace without times, for they are what it would be sorted by.
    fn read_all(&mut self) -> Result<(Batch, Vec<u32>), Error> {
        let mut all = Batch::default();
        let mut batch = Batch::default();
        while self.source.fill(&mut batch)? {
            if batch.time.is_empty() {
                return Err(Error::Format(
                    "the trace has no times to sort it by: leave out --unsorted sort".to_owned(),
                ));
            }
            all.append(&batch);
        }
        let count = u32::try_from(all.len()).map_err(|_| {
            Error::Format(
                "more than 2^32 references cannot be sorted: cut out a --window".to_owned(),
            )
        })?;
        let mut places: Vec<u32> = (0..count).collect();
        places.sort_by_key(|place| all.time[*place as usize]);
        Ok((all, places))
    }
}

impl Source for Sorted<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        if self.all.is_none() {
            self.all = Some(self.read_all()?);
        }
        let Some((all, places)) = &self.all else {
            return Ok(false);
        };
        let end = (self.next + BATCH).min(places.len());
        for place in &places[self.next..end] {
            let place = *place as usize;
            batch.page.push(all.page[place]);
            if self.time {
                batch.time.push(all.time[place]);
            }
            batch.op.extend(all.op.get(place));
            batch.task.extend(all.task.get(place));
            batch.size.extend(all.size.get(place));
        }
        self.next = end;
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
