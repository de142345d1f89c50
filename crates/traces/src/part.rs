//! A part of a source: a window of its references, or those of one task.

use crate::{Error, Source};
use workingset::{About, Batch};

/// Which references of a source are wanted, and whether their times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// From which reference to which, counted from 0; the second is not included.
    pub window: Option<(u64, u64)>,
    /// Only those of this task.
    pub task: Option<u16>,
    /// With times, where there are any.
    pub time: bool,
}

/// The wanted part of a source.
///
/// A task is wanted of a trace that does not name tasks: the first batch is then an error.
pub fn part<'a>(source: Box<dyn Source + 'a>, wanted: Wanted) -> Box<dyn Source + 'a> {
    let all = Wanted {
        window: None,
        task: None,
        time: true,
    };
    if wanted == all {
        return source;
    }
    Box::new(Part {
        source,
        wanted,
        seen: 0,
        ended: false,
    })
}

struct Part<'a> {
    source: Box<dyn Source + 'a>,
    wanted: Wanted,
    seen: u64,
    ended: bool,
}

impl Source for Part<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let Wanted { window, task, time } = self.wanted;
        loop {
            if self.ended || !self.source.fill(batch)? {
                batch.clear();
                return Ok(false);
            }
            if !time {
                batch.time.clear();
            }
            let (from, to) = window.unwrap_or((0, u64::MAX));
            let first = self.seen;
            self.seen += batch.len() as u64;
            self.ended = self.seen >= to;
            if let Some(task) = task.filter(|_| batch.task.is_empty()) {
                return Err(Error::Format(format!(
                    "the trace tells no tasks: --task {task} chooses nothing"
                )));
            }
            if window.is_none() && task.is_none() {
                return Ok(true);
            }
            let mut keep = Vec::with_capacity(batch.len());
            for (place, at) in (first..).zip(0..batch.len()) {
                let in_window = place >= from && place < to;
                keep.push(in_window && task.is_none_or(|task| batch.task[at] == task));
            }
            batch.retain(&keep);
            if !batch.is_empty() {
                return Ok(true);
            }
        }
    }

    fn about(&self) -> About {
        self.source.about()
    }
}
