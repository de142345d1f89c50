//! Which format a trace has, and its reader.

use crate::columns::Columns;
use crate::damon::{Damon, EVENTS};
use crate::input::Input;
use crate::oracle::{self, OracleGeneral, Word, Words};
use crate::rows::{self, Rows};
use crate::text::{self, Lines};
use crate::{Error, Reading, Source, ahead, compress};
use arrow_array::RecordBatchReader;
use std::io::Read;
use workingset::{Loader, Trace};

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Our own, in Parquet; or another's, with a page column.
    Parquet,
    /// The same as an Arrow stream.
    Arrow,
    /// libCacheSim's binary records.
    OracleGeneral,
    /// Valgrind's lackey.
    Lackey,
    /// A page number in each line; the LIRS authors' too.
    Plain,
    /// Comma-separated, with a header.
    Csv,
    /// ARC's `.lis`.
    Arc,
    /// UMass SPC.
    Spc,
    /// MSR Cambridge.
    Msr,
    /// UCSD's data references.
    Address,
    /// DAMON records in JSON.
    Damon,
    /// DAMON records as `perf script` prints them.
    DamonText,
    /// Page numbers of four bytes, little end first.
    U32,
    /// Page numbers of four bytes, big end first.
    U32Be,
    /// Page numbers of eight bytes, little end first.
    U64,
}

/// All formats: name, what it is.
pub const FORMATS: &[(Format, &str, &str)] = &[
    (
        Format::Parquet,
        "parquet",
        "our page trace, or any Parquet file with a column called page",
    ),
    (
        Format::Arrow,
        "arrow",
        "the same as an Arrow IPC stream, for pipes",
    ),
    (
        Format::OracleGeneral,
        "oracleGeneral",
        "libCacheSim's records of 24 bytes",
    ),
    (
        Format::Lackey,
        "lackey",
        "valgrind --tool=lackey --trace-mem=yes",
    ),
    (
        Format::Plain,
        "plain",
        "a page number in each line, 0x… or decimal; # comments, LIRS's * marks",
    ),
    (
        Format::Csv,
        "csv",
        "comma-separated, with a header: page, or address and size; time, op, task",
    ),
    (
        Format::Arc,
        "arc",
        "ARC's .lis: first page, number of pages, two numbers more",
    ),
    (
        Format::Spc,
        "spc",
        "UMass SPC: unit, block, bytes, r or w, seconds",
    ),
    (
        Format::Msr,
        "msr",
        "MSR Cambridge: ticks, host, disk, Read or Write, offset, bytes, response",
    ),
    (
        Format::Address,
        "address",
        "UCSD: l or s, 0x address, instructions since the last",
    ),
    (
        Format::Damon,
        "damon",
        "DAMON records as damo keeps them, JSON or zlib",
    ),
    (
        Format::DamonText,
        "damon-text",
        "DAMON records as perf script prints them",
    ),
    (
        Format::U32,
        "u32",
        "page numbers of four bytes, little end first",
    ),
    (
        Format::U32Be,
        "u32be",
        "page numbers of four bytes, big end first",
    ),
    (
        Format::U64,
        "u64",
        "page numbers of eight bytes, little end first",
    ),
];

impl Format {
    /// By its name, in any case.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = FORMATS
            .iter()
            .find(|format| format.1.eq_ignore_ascii_case(name));
        let known = || {
            FORMATS
                .iter()
                .map(|format| format.1)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let lirs = name.eq_ignore_ascii_case("lirs").then_some(Self::Plain);
        found
            .map(|format| format.0)
            .or(lirs)
            .ok_or_else(|| Error::Format(format!("no format '{name}': there are {}", known())))
    }

    /// Its name.
    fn name(self) -> &'static str {
        FORMATS
            .iter()
            .find(|format| format.0 == self)
            .map_or("", |format| format.1)
    }

    /// What a file's name says, without what compresses it.
    fn by_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let bare = [".gz", ".xz", ".zst", ".zstd"]
            .iter()
            .find_map(|end| lower.strip_suffix(end))
            .unwrap_or(&lower);
        let ends: &[(&str, Self)] = &[
            (".lis", Self::Arc),
            (".spc", Self::Spc),
            (".u32", Self::U32),
            (".u32be", Self::U32Be),
            (".u64", Self::U64),
            (".pids", Self::U32),
        ];
        if bare.contains("oraclegeneral") {
            return Some(Self::OracleGeneral);
        }
        ends.iter()
            .find(|(end, _)| bare.ends_with(end))
            .map(|(_, format)| *format)
    }

    /// What the first bytes say.
    fn by_content(head: &[u8]) -> Option<Self> {
        match head {
            [b'P', b'A', b'R', b'1', ..] => return Some(Self::Parquet),
            [0xff, 0xff, 0xff, 0xff, ..] => return Some(Self::Arrow),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => return Some(Self::Damon),
            _ => {}
        }
        let is_text = !head.is_empty()
            && head
                .iter()
                .take(4096)
                .all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..));
        if is_text {
            return head.split(|byte| *byte == b'\n').find_map(Self::by_line);
        }
        if head.len() >= oracle::RECORD && oracle::looks_like(head) {
            return Some(Self::OracleGeneral);
        }
        // Page numbers are small: which byte of four is zero nearly always?
        let zeros = |at: usize| head.chunks_exact(4).filter(|word| word[at] == 0).count();
        let words = head.len() / 4;
        match (zeros(0) * 10 > words * 9, zeros(3) * 10 > words * 9) {
            (true, false) => Some(Self::U32Be),
            (false, true) => Some(Self::U32),
            _ => None,
        }
    }

    /// What a line of text says; `None` if it can be a comment, or output of a program.
    fn by_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let words: Vec<&[u8]> = crate::numbers::words(line).collect();
        let fields: Vec<&[u8]> = line
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .collect();
        let number = |word: &[u8]| crate::numbers::either(word).is_ok();
        match (line, words.as_slice()) {
            ([b'[' | b'{', ..], _) => Some(Self::Damon),
            ([b'=', b'=', ..] | [b'#', ..] | [], _) => None,
            ([b'I', b' ', b' ', ..] | [b' ', b'L' | b'S' | b'M', b' ', ..], _)
                if line.contains(&b',') =>
            {
                Some(Self::Lackey)
            }
            (_, words) if words.iter().any(|word| EVENTS.contains(word)) => Some(Self::DamonText),
            _ if rows::is_header(line) => Some(Self::Csv),
            _ if fields.len() == 7 && fields[0].len() > 15 && number(fields[0]) => Some(Self::Msr),
            _ if fields.len() >= 5 && fields[..3].iter().all(|field| number(field)) => {
                Some(Self::Spc)
            }
            (_, [b"l" | b"s", address, ..]) if address.starts_with(b"0x") => Some(Self::Address),
            (_, [_, _, _, _]) if words.iter().all(|word| number(word)) => Some(Self::Arc),
            (_, [word]) if number(word) || *word == b"*" => Some(Self::Plain),
            // A first line that is no number may be a negative one: its reader will say so.
            (_, [word]) if word.starts_with(b"-") => Some(Self::Plain),
            _ => None,
        }
    }
}

/// Opens a trace. `name` is the file's, for what it tells of the format; `format` says otherwise.
///
/// Errors: compression that is broken, a format that cannot be told.
pub fn open<'a>(
    bytes: impl Read + Send + 'a,
    name: &str,
    format: Option<Format>,
    reading: Reading,
) -> Result<Box<dyn Source + 'a>, Error> {
    let mut input = Input::new(compress::plain(bytes)?);
    let format = match format.or_else(|| Format::by_name(name)) {
        Some(format) => format,
        None => recognise(&mut input)?,
    };
    if reading.bytes && format != Format::Lackey {
        let what = "the bytes of instructions are known of a lackey trace alone";
        return Err(Error::Format(format!(
            "{what}, and this one is {}",
            format.name()
        )));
    }
    let lines = |input, format, parse| -> Box<dyn Source + 'a> {
        Box::new(Lines::new(input, format, parse, reading))
    };
    Ok(match format {
        Format::Parquet => Box::new(Columns::parquet(input)?),
        Format::Arrow => Box::new(Columns::arrow(input)?),
        Format::OracleGeneral => Box::new(OracleGeneral::new(input, reading)),
        Format::Lackey => lines(input, "lackey", text::lackey),
        Format::Plain => lines(input, "plain", text::plain),
        Format::Csv => Box::new(Rows::named(input, reading)?),
        Format::Arc => lines(input, "arc", text::arc),
        Format::Spc => Box::new(Rows::spc(input, reading)),
        Format::Msr => Box::new(Rows::msr(input, reading)),
        Format::Address => lines(input, "address", text::address),
        Format::Damon => Box::new(Damon::json(input, reading)?),
        Format::DamonText => Box::new(Damon::text(input, reading)),
        Format::U32 => Box::new(Words::new(input, Word::Little32, reading)),
        Format::U32Be => Box::new(Words::new(input, Word::Big32, reading)),
        Format::U64 => Box::new(Words::new(input, Word::Little64, reading)),
    })
}

/// Opens Arrow tables in memory: columns as those of our page trace, or any with a column called page.
///
/// Errors: no column has the pages.
pub fn tables<'a>(
    reader: Box<dyn RecordBatchReader + Send + 'a>,
) -> Result<Box<dyn Source + 'a>, Error> {
    Ok(Box::new(Columns::memory(reader)?))
}

fn recognise(input: &mut Input<'_>) -> Result<Format, Error> {
    let head = input.peek()?;
    if head.is_empty() {
        return Err(workingset::Error::Empty.into());
    }
    let format = Format::by_content(head);
    let names = || {
        FORMATS
            .iter()
            .map(|format| format.1)
            .collect::<Vec<_>>()
            .join(", ")
    };
    format.ok_or_else(|| {
        let start = crate::numbers::quoted(&head[..head.len().min(24)]);
        Error::Format(format!(
            "the format cannot be told from {start}: say which with --format, one of {}",
            names()
        ))
    })
}

/// Reads a whole trace into memory; `told` hears how many references there are, now and then.
pub fn read(source: &mut dyn Source, told: &dyn Fn(usize)) -> Result<Trace, Error> {
    let (mut loader, mut references) = (Loader::default(), 0);
    let about = ahead(source, |batch| {
        loader.push(batch)?;
        references += batch.len();
        told(references);
        Ok::<_, Error>(())
    })?;
    Ok(loader.finish(about)?)
}
