//! DAMON's records: which regions were used between two looks, as `damo` keeps them (JSON, or the same in zlib), or as
//! `perf script` or the kernel's own `trace_pipe` print them.
//!
//! A region that was used becomes one reference to each of its pages at the snapshot's end. That is no reference
//! string: DAMON cannot see order or number of uses within an interval, and the trace says so ([`Visibility::Scans`]).

use crate::input::Input;
use crate::numbers::{decimal, quoted, words};
use crate::{BATCH, Error, Reading, Source};
use serde::Deserialize;
use std::collections::VecDeque;
use std::io::Read;
use workingset::trace::Visibility;
use workingset::{About, Batch, Clock};

/// Most pages of one region that are told one by one: a terabyte of 4 KiB.
const LARGEST: u64 = 1 << 28;

/// The event, as perf and as the kernel name it.
pub(crate) const EVENTS: [&[u8]; 2] = [b"damon:damon_aggregated:", b"damon_aggregated:"];

/// A used region at a time.
#[derive(Debug, Clone, Copy)]
struct Used {
    at: u64,
    page: u64,
    end: u64,
    task: u16,
}

/// The records, region by region.
pub(crate) struct Damon<'a> {
    text: Option<Input<'a>>,
    used: VecDeque<Used>,
    page_size: u64,
    targets: Vec<u64>,
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
        let page_size = reading.page_size;
        Self {
            text: Some(input),
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
        let page_size = reading.page_size;
        let mut damon = Self {
            text: None,
            used: VecDeque::new(),
            page_size,
            targets: Vec::new(),
            last: 0,
        };
        for record in &records {
            for snapshot in &record.snapshots {
                for region in &snapshot.regions {
                    if region.nr_accesses.any()? {
                        let span = (region.start.value()?, region.end.value()?);
                        damon.push(
                            record.target_id.unwrap_or(0),
                            snapshot.end_time.value()?,
                            span,
                        )?;
                    }
                }
            }
        }
        damon.used.make_contiguous().sort_by_key(|used| used.at);
        Ok(damon)
    }

    fn push(&mut self, target: u64, at: u64, (start, end): (u64, u64)) -> Result<(), Error> {
        if end <= start || (end - start) / self.page_size > LARGEST {
            return Err(Error::Format(format!(
                "a DAMON region from {start} to {end} is no region of memory"
            )));
        }
        let task = self
            .targets
            .iter()
            .position(|known| *known == target)
            .unwrap_or_else(|| {
                self.targets.push(target);
                self.targets.len() - 1
            });
        let task = u16::try_from(task)
            .map_err(|_| Error::Format("more than 65536 DAMON targets".to_owned()))?;
        self.used.push_back(Used {
            at,
            page: start / self.page_size,
            end: end.div_ceil(self.page_size),
            task,
        });
        Ok(())
    }

    fn line(&mut self) -> Result<bool, Error> {
        let Some(input) = &mut self.text else {
            return Ok(false);
        };
        let Some(line) = input.line()? else {
            return Ok(false);
        };
        let line = line.to_vec();
        let region = Region::of(&line);
        let region =
            region.map_err(|what| input.wrong_line(&format!("{what} in {}", quoted(&line))))?;
        if let Some(Region {
            at, target, span, ..
        }) = region.filter(|region| region.accesses > 0)
        {
            self.push(target, at, span)?;
        }
        Ok(true)
    }
}

/// One region of a snapshot, as the event `damon_aggregated` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// When, in ns, by the clock of the trace.
    pub at: u64,
    /// Which of the targets, counted from 0 in the order in which they were named.
    pub target: u64,
    /// The first byte, and the one behind the last.
    pub span: (u64, u64),
    /// How often it was found used since the snapshot before.
    pub accesses: u64,
}

impl Region {
    /// Reads `… 82877.315633: damon:damon_aggregated: target_id=1 nr_regions=17 4096-8192: 3 0`; `None` if it is about
    /// something else.
    ///
    /// Errors: what is missing in a line of this event.
    pub fn of(line: &[u8]) -> Result<Option<Self>, &'static str> {
        let all: Vec<&[u8]> = words(line).collect();
        let Some(event) = all.iter().position(|word| EVENTS.contains(word)) else {
            return Ok(None);
        };
        let (Some(time), Some(fields)) = (all.get(event.wrapping_sub(1)), all.get(event + 1..))
        else {
            return Ok(None);
        };
        let at = seconds(time).ok_or("no time")?;
        let target = fields
            .iter()
            .find_map(|word| word.strip_prefix(b"target_id="))
            .and_then(|word| decimal(word).ok());
        let place = fields
            .iter()
            .position(|word| word.ends_with(b":") && word.contains(&b'-'))
            .ok_or("no region")?;
        let span = fields[place].strip_suffix(b":").and_then(|span| {
            let dash = memchr::memchr(b'-', span)?;
            Some((
                decimal(&span[..dash]).ok()?,
                decimal(&span[dash + 1..]).ok()?,
            ))
        });
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

/// `82877.315633:` as nanoseconds.
fn seconds(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word.strip_suffix(b":")?).ok()?;
    let (whole, part) = text.split_once('.')?;
    let whole: u64 = whole.parse().ok()?;
    let micros: u64 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(micros)
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
            let pages = (used.end - used.page).min((BATCH - batch.len()) as u64);
            self.last = self.last.max(used.at);
            batch.page.extend(used.page..used.page + pages);
            batch
                .time
                .extend(std::iter::repeat_n(self.last, pages as usize));
            batch
                .task
                .extend(std::iter::repeat_n(used.task, pages as usize));
            used.page += pages;
            if used.page == used.end {
                self.used.pop_front();
            }
        }
        Ok(!batch.is_empty())
    }

    fn about(&self) -> About {
        About {
            format: "damon".to_owned(),
            page_size: self.page_size,
            clock: Clock::Nanoseconds,
            visibility: Visibility::Scans,
            tasks: self
                .targets
                .iter()
                .enumerate()
                .map(|(task, id)| (task as u16, format!("target {id}")))
                .collect(),
            ..About::default()
        }
    }
}
