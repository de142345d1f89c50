//! A part of a source.

use crate::{Error, Source};
use workingset::{About, Batch};

/// Which references of a source are wanted, and whether with their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// From which to which, the latter not included, counted from 0.
    pub window: Option<(u64, u64)>,
    /// Of this task alone.
    pub task: Option<u16>,
    /// With times, where there are any.
    pub time: bool,
}

/// What is wanted of a source. Of a trace without tasks, the references of a task are an error.
pub fn part<'a>(source: Box<dyn Source + 'a>, wanted: Wanted) -> Box<dyn Source + 'a> {
    if wanted
        == (Wanted {
            window: None,
            task: None,
            time: true,
        })
    {
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
            if let (Some(task), true) = (task, batch.task.is_empty()) {
                return Err(Error::Format(format!(
                    "the trace tells no tasks: --task {task} chooses nothing"
                )));
            }
            if window.is_none() && task.is_none() {
                return Ok(true);
            }
            let is_wanted = |at: usize| {
                let place = first + at as u64;
                place >= from && place < to && task.is_none_or(|task| batch.task[at] == task)
            };
            let keep: Vec<bool> = (0..batch.len()).map(is_wanted).collect();
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
