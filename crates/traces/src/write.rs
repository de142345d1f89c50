//! Writes traces.

use crate::columns::{self, RowsOf};
use crate::{Error, RowSource, Source};
use std::io::Write;
use workingset::policy::NEVER;
use workingset::{Batch, Clock, Op};

/// A format that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The page trace.
    Parquet,
    /// The page trace on a pipe.
    Arrow,
    /// libCacheSim's. It has each object's next access, so the trace is held in memory.
    OracleGeneral,
    /// A page number in each line.
    Plain,
    /// With a header, and a column for all that is known.
    Csv,
    /// Bare page numbers of four bytes.
    U32,
    /// Bare page numbers of eight bytes.
    U64,
}

impl Output {
    /// The format of this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "parquet" => Self::Parquet,
            "arrow" => Self::Arrow,
            "oraclegeneral" => Self::OracleGeneral,
            "plain" => Self::Plain,
            "csv" => Self::Csv,
            "u32" => Self::U32,
            "u64" => Self::U64,
            _ => {
                let known = "parquet, arrow, oracleGeneral, plain, csv, u32, u64";
                return Err(Error::Format(format!(
                    "'{name}' cannot be written: {known} can"
                )));
            }
        })
    }

    /// The format that a file's name ends in.
    pub fn by_name(name: &str) -> Option<Self> {
        let bare = [".gz", ".zst"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        let end = bare.rsplit_once('.').map_or(bare, |(_, end)| end);
        match end {
            "txt" | "trace" => Some(Self::Plain),
            other => Self::named(other).ok(),
        }
    }
}

/// What is known of the references of a trace, beside their pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a column by itself")]
pub struct Known {
    /// Times, which count what [`About::clock`](workingset::About::clock) says.
    pub time: bool,
    /// Operations.
    pub op: bool,
    /// Tasks.
    pub task: bool,
    /// Sizes of objects.
    pub size: bool,
}

impl Known {
    /// Notes what a batch has.
    pub fn take(&mut self, batch: &Batch) {
        self.time |= !batch.time.is_empty();
        self.op |= !batch.op.is_empty();
        self.task |= !batch.task.is_empty();
        self.size |= !batch.size.is_empty();
    }
}

impl Output {
    /// What this format has no place for, of what is known of a trace.
    pub fn drops(self, known: Known, clock: Clock) -> Vec<&'static str> {
        let kept = self.keeps(clock);
        let columns = [
            ("time", known.time, kept.time),
            ("op", known.op, kept.op),
            ("task", known.task, kept.task),
            ("size", known.size, kept.size),
        ];
        let mut dropped = Vec::new();
        for (name, is_known, is_kept) in columns {
            if is_known && !is_kept {
                dropped.push(name);
            }
        }
        dropped
    }

    fn keeps(self, clock: Clock) -> Known {
        let is_of_seconds = matches!(clock, Clock::Seconds | Clock::Nanoseconds);
        match self {
            Self::OracleGeneral => Known {
                time: is_of_seconds,
                size: true,
                ..Known::default()
            },
            Self::Parquet | Self::Arrow | Self::Csv => Known {
                time: true,
                op: true,
                task: true,
                size: true,
            },
            Self::Plain | Self::U32 | Self::U64 => Known::default(),
        }
    }
}

/// Writes all references of a source. Returns their number.
pub fn write(
    source: &mut dyn Source,
    output: Output,
    out: &mut (dyn Write + Send),
) -> Result<u64, Error> {
    match output {
        Output::Parquet => columns::to_parquet(&mut RowsOf::new(source), out),
        Output::Arrow => columns::to_arrow(&mut RowsOf::new(source), out),
        Output::OracleGeneral => oracle_general(source, out),
        Output::Plain => by_batch(source, out, plain),
        Output::Csv => by_batch(source, out, csv),
        Output::U32 => by_batch(source, out, words_of_4_bytes),
        Output::U64 => by_batch(source, out, words_of_8_bytes),
    }
}

/// Writes all rows of a source. Returns the number of references.
///
/// Errors: an output that is no page trace.
pub fn write_rows(
    source: &mut dyn RowSource,
    output: Output,
    out: &mut (dyn Write + Send),
) -> Result<u64, Error> {
    match output {
        Output::Parquet => columns::to_parquet(source, out),
        Output::Arrow => columns::to_arrow(source, out),
        _ => Err(Error::Format(
            "rows can be written as Parquet and Arrow alone".to_owned(),
        )),
    }
}

/// Appends a batch's bytes, of a trace with this clock; the flag says that it is the first.
type Encode = fn(&Batch, Clock, bool, &mut Vec<u8>) -> Result<(), Error>;

#[allow(clippy::unnecessary_wraps, reason = "an Encode")]
fn plain(batch: &Batch, _: Clock, _: bool, text: &mut Vec<u8>) -> Result<(), Error> {
    for page in &batch.page {
        text.extend_from_slice(format!("{page}\n").as_bytes());
    }
    Ok(())
}

fn words_of_4_bytes(batch: &Batch, _: Clock, _: bool, bytes: &mut Vec<u8>) -> Result<(), Error> {
    for page in &batch.page {
        let page = u32::try_from(*page)
            .map_err(|_| Error::Format(format!("page {page} is above 2^32: write u64")))?;
        bytes.extend_from_slice(&page.to_le_bytes());
    }
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "an Encode")]
fn words_of_8_bytes(batch: &Batch, _: Clock, _: bool, bytes: &mut Vec<u8>) -> Result<(), Error> {
    for page in &batch.page {
        bytes.extend_from_slice(&page.to_le_bytes());
    }
    Ok(())
}

fn by_batch(
    source: &mut dyn Source,
    out: &mut (dyn Write + Send),
    encode: Encode,
) -> Result<u64, Error> {
    let mut batch = Batch::default();
    let mut bytes = Vec::new();
    let mut references = 0;
    while source.fill(&mut batch)? {
        bytes.clear();
        encode(&batch, source.about().clock, references == 0, &mut bytes)?;
        out.write_all(&bytes)?;
        references += batch.len() as u64;
    }
    if references == 0 {
        return Err(workingset::Error::Empty.into());
    }
    Ok(references)
}

#[allow(clippy::unnecessary_wraps, reason = "an Encode")]
fn csv(batch: &Batch, clock: Clock, first: bool, text: &mut Vec<u8>) -> Result<(), Error> {
    if first {
        let columns = [
            ("time", !batch.time.is_empty()),
            ("page", true),
            ("size", !batch.size.is_empty()),
            ("op", !batch.op.is_empty()),
            ("task", !batch.task.is_empty()),
        ];
        let known = columns.into_iter().filter(|(_, is_known)| *is_known);
        let names: Vec<&str> = known.map(|(name, _)| name).collect();
        text.extend_from_slice(names.join(",").as_bytes());
        text.push(b'\n');
    }
    for at in 0..batch.len() {
        let mut row = Vec::new();
        row.extend(batch.time.get(at).map(|time| time_of_csv(*time, clock)));
        row.push(batch.page[at].to_string());
        row.extend(batch.size.get(at).map(u32::to_string));
        row.extend(batch.op.get(at).map(|op| letter(*op).to_owned()));
        row.extend(batch.task.get(at).map(u16::to_string));
        text.extend_from_slice(row.join(",").as_bytes());
        text.push(b'\n');
    }
    Ok(())
}

/// A time as the reader of tables takes it: nanoseconds, or seconds if it has a point.
fn time_of_csv(time: u64, clock: Clock) -> String {
    match clock {
        Clock::Seconds => format!("{time}.0"),
        _ => time.to_string(),
    }
}

fn letter(op: Op) -> &'static str {
    match op {
        Op::FETCH => "I",
        Op::STORE => "S",
        op if op.writes() => "M",
        _ => "L",
    }
}

/// The time of a reference as oracleGeneral has it: seconds. Where a trace has no such time, its references are counted.
fn seconds(time: Option<u64>, clock: Clock, at: usize) -> u32 {
    const NANOSECONDS: u64 = 1_000_000_000;
    let seconds = match (clock, time) {
        (Clock::Seconds, Some(time)) => time,
        (Clock::Nanoseconds, Some(time)) => time / NANOSECONDS,
        _ => at as u64,
    };
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn oracle_general(source: &mut dyn Source, out: &mut (dyn Write + Send)) -> Result<u64, Error> {
    let trace = crate::read(source, &|_| {})?;
    let next = trace.next_uses();
    let size = trace.about.page_size.max(1).min(u64::from(u32::MAX)) as u32;
    let clock = trace.about.clock;
    let mut bytes = Vec::with_capacity(crate::oracle::RECORD * crate::BATCH);
    for (at, page) in trace.refs().iter().enumerate() {
        let later = if next[at] == NEVER {
            -1
        } else {
            // libCacheSim counts from 1.
            i64::from(next[at]) + 1
        };
        let time = trace.time().map(|time| time[at]);
        bytes.extend_from_slice(&seconds(time, clock, at).to_le_bytes());
        bytes.extend_from_slice(&trace.names()[*page as usize].to_le_bytes());
        let size = trace.size().map_or(size, |sizes| sizes[at]);
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&later.to_le_bytes());
        if bytes.len() + crate::oracle::RECORD > bytes.capacity() {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)?;
    Ok(trace.len() as u64)
}
