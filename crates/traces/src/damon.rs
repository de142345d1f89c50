//! DAMON's records: which regions of memory were used between two snapshots. They are read as
//! `damo` keeps them (JSON, or the same in zlib), and as `perf script` or the kernel's `trace_pipe`
//! prints them.
//!
//! A region that was used becomes one reference to each of its pages, at the snapshot's end. This
//! is no reference string: DAMON sees neither the order nor the number of uses within an interval.
//! The trace says so ([`Visibility::Scans`]).

use crate::input::Input;
use crate::numbers::{decimal, quoted, words};
use crate::{BATCH, Error, Reading, Source};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::Read;
use std::iter::repeat_n;
use workingset::trace::Visibility;
use workingset::{About, Batch, Clock};

/// The most pages of one region: a terabyte of 4 KiB pages. A larger region is a damaged record,
/// and unfolding it would not end.
const LARGEST: u64 = 1 << 28;

/// The event's name as perf prints it, and as the kernel does.
pub(crate) const EVENTS: [&[u8]; 2] = [b"damon:damon_aggregated:", b"damon_aggregated:"];

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

/// One region of a snapshot, as the event `damon_aggregated` reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The snapshot's time in ns, by the clock of the kernel's trace.
    pub at: u64,
    /// The target's number, from 0 in the order in which the targets were named.
    pub target: u64,
    /// The region's first byte, and the one behind its last.
    pub span: (u64, u64),
    /// How often the region was found used since the snapshot before.
    pub accesses: u64,
}

impl Region {
    /// Reads `… 82877.315633: damon:damon_aggregated: target_id=1 nr_regions=17 4096-8192: 3 0`.
    /// Returns `None` for a line of another event.
    ///
    /// Errors: what is missing in the line.
    pub fn of(line: &[u8]) -> Result<Option<Self>, &'static str> {
        let all: Vec<&[u8]> = words(line).collect();
        let Some(event) = all.iter().position(|word| EVENTS.contains(word)) else {
            return Ok(None);
        };
        // The time stands before the event's name.
        let Some(time) = all.get(event.wrapping_sub(1)) else {
            return Ok(None);
        };
        let fields = &all[event + 1..];
        let at = seconds(time).ok_or("no time")?;
        let target = fields
            .iter()
            .find_map(|word| word.strip_prefix(b"target_id="))
            .and_then(|word| decimal(word).ok());
        let place = fields
            .iter()
            .position(|word| word.ends_with(b":") && word.contains(&b'-'))
            .ok_or("no region")?;
        let span = span(fields[place]);
        let accesses = fields.get(place + 1).and_then(|word| decimal(word).ok());
        let (span, accesses) = span.zip(accesses).ok_or("no region with its accesses")?;
        Ok(Some(Self {
            at,
            target: target.unwrap_or(0),
            span,
            accesses,
        }))
    }
}

/// Reads `4096-8192:`.
fn span(word: &[u8]) -> Option<(u64, u64)> {
    let word = word.strip_suffix(b":")?;
    let dash = memchr::memchr(b'-', word)?;
    let start = decimal(&word[..dash]).ok()?;
    let end = decimal(&word[dash + 1..]).ok()?;
    Some((start, end))
}

/// Reads `82877.315633:` as nanoseconds.
fn seconds(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word.strip_suffix(b":")?).ok()?;
    let (whole, part) = text.split_once('.')?;
    let seconds: u64 = whole.parse().ok()?;
    let nanoseconds: u64 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
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
