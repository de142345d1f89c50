//! DAMON's records: which regions of memory were used between two snapshots. They are read as
//! `damo` keeps them (JSON, or the same in zlib), and as `perf script` or the kernel's `trace_pipe`
//! prints them.
//!
//! A region that was used becomes one reference to each of its pages, at the snapshot's end. This
//! is no reference string: DAMON sees neither the order nor the number of uses within an interval.
//! The trace says so ([`Visibility::Scans`]).

use crate::input::Input;
use crate::numbers::{decimal, quoted};
use crate::{BATCH, Error, Reading, Source};
use damon_event::Region;
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::Read;
use std::iter::repeat_n;
use workingset::trace::Visibility;
use workingset::{About, Batch, Clock};

/// The most pages of one region: a terabyte of 4 KiB pages. A larger region is a damaged record,
/// and unfolding it would not end.
const LARGEST: u64 = 1 << 28;

/// A region that was used, as pages: `page..end`.
#[derive(Debug, Clone, Copy)]
struct Used {
    at: u64,
    page: u64,
    end: u64,
    task: u16,
}

/// DAMON's records, read region by region.
pub(crate) struct Damon<'a> {
    text: Option<Input<'a>>,
    used: VecDeque<Used>,
    page_size: u64,
    targets: Vec<u64>,
    /// The time of the last reference.
    last: u64,
}

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    target_id: Option<u64>,
    snapshots: Vec<Snapshot>,
}

#[derive(Deserialize)]
struct Snapshot {
    end_time: Amount,
    regions: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    start: Amount,
    end: Amount,
    nr_accesses: Accesses,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Accesses {
    Plain(Amount),
    Nested {
        samples: Option<Amount>,
        percent: Option<f64>,
    },
}

/// A number, as such or as text with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(i64),
    Text(String),
}

impl Amount {
    fn value(&self) -> Result<u64, Error> {
        let text = match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.replace(',', ""),
        };
        decimal(text.as_bytes()).map_err(|what| {
            Error::Format(format!(
                "a DAMON record: {what}; `damo` writes plain numbers with --raw"
            ))
        })
    }
}

impl Accesses {
    /// Returns true if the region was used at least once.
    fn any(&self) -> Result<bool, Error> {
        match self {
            Self::Plain(amount)
            | Self::Nested {
                samples: Some(amount),
                ..
            } => Ok(amount.value()? > 0),
            Self::Nested { percent, .. } => Ok(percent.is_some_and(|percent| percent > 0.0)),
        }
    }
}

impl<'a> Damon<'a> {
    /// The lines of `perf script`.
    pub(crate) fn text(input: Input<'a>, reading: Reading) -> Self {
        Self::new(Some(input), reading.page_size)
    }

    fn new(text: Option<Input<'a>>, page_size: u64) -> Self {
        Self {
            text,
            used: VecDeque::new(),
            page_size,
            targets: Vec::new(),
            last: 0,
        }
    }

    /// All records of a JSON document, compressed by zlib or not.
    pub(crate) fn json(mut input: Input<'a>, reading: Reading) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        if input.peek()?.first() == Some(&0x78) {
            flate2::read::ZlibDecoder::new(input).read_to_end(&mut bytes)?;
        } else {
            input.read_to_end(&mut bytes)?;
        }
        let records: Vec<Record> =
            serde_json::from_slice(&bytes).map_err(|error| Error::Malformed {
                place: format!("line {} column {}", error.line(), error.column()),
                what: format!("no DAMON record: {error}"),
            })?;
        let mut damon = Self::new(None, reading.page_size);
        for record in &records {
            let target = record.target_id.unwrap_or(0);
            for snapshot in &record.snapshots {
                damon.push_snapshot(target, snapshot)?;
            }
        }
        damon.used.make_contiguous().sort_by_key(|used| used.at);
        Ok(damon)
    }

    fn push_snapshot(&mut self, target: u64, snapshot: &Snapshot) -> Result<(), Error> {
        for region in &snapshot.regions {
            if region.nr_accesses.any()? {
                let start = region.start.value()?;
                let end = region.end.value()?;
                let at = snapshot.end_time.value()?;
                self.push(target, at, (start, end))?;
            }
        }
        Ok(())
    }

    fn push(&mut self, target: u64, at: u64, (start, end): (u64, u64)) -> Result<(), Error> {
        if end <= start || (end - start) / self.page_size > LARGEST {
            return Err(Error::Format(format!(
                "a DAMON region from {start} to {end} is no region of memory"
            )));
        }
        let task = self.task(target)?;
        self.used.push_back(Used {
            at,
            page: start / self.page_size,
            end: end.div_ceil(self.page_size),
            task,
        });
        Ok(())
    }

    /// The task that stands for a target: targets are numbered as they come.
    fn task(&mut self, target: u64) -> Result<u16, Error> {
        let known = self.targets.iter().position(|known| *known == target);
        let task = known.unwrap_or_else(|| {
            self.targets.push(target);
            self.targets.len() - 1
        });
        u16::try_from(task).map_err(|_| Error::Format("more than 65536 DAMON targets".to_owned()))
    }

    /// Reads a line of text. Returns false at the end.
    fn line(&mut self) -> Result<bool, Error> {
        let Some(input) = &mut self.text else {
            return Ok(false);
        };
        let Some(line) = input.line()? else {
            return Ok(false);
        };
        let line = line.to_vec();
        let region = Region::of(&line)
            .map_err(|what| input.wrong_line(&format!("{what} in {}", quoted(&line))))?;
        if let Some(region) = region {
            if region.accesses > 0 {
                self.push(region.target, region.at, region.span)?;
            }
        }
        Ok(true)
    }
}

impl Source for Damon<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        batch.clear();
        while batch.len() < BATCH {
            let Some(used) = self.used.front_mut() else {
                if self.line()? {
                    continue;
                }
                break;
            };
            let free = (BATCH - batch.len()) as u64;
            let pages = free.min(used.end - used.page);
            let count = pages as usize;
            self.last = self.last.max(used.at);
            batch.page.extend(used.page..used.page + pages);
            batch.time.extend(repeat_n(self.last, count));
            batch.task.extend(repeat_n(used.task, count));
            used.page += pages;
            if used.page == used.end {
                self.used.pop_front();
            }
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        let mut tasks = Vec::new();
        for (task, id) in self.targets.iter().enumerate() {
            tasks.push((task as u16, format!("target {id}")));
        }
        About {
            format: "damon".to_owned(),
            page_size: self.page_size,
            clock: Clock::Nanoseconds,
            visibility: Visibility::Scans,
            tasks,
            ..About::default()
        }
    }
}
