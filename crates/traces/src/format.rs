//! The formats that can be read, how each is recognised, and how a trace is opened.

use crate::columns::Columns;
use crate::damon::Damon;
use crate::input::Input;
use crate::oracle::{self, OracleGeneral, Word, Words};
use crate::rows::{self, CsvRows};
use crate::text::{self, Lines};
use crate::{Error, Reading, Source, ahead, compress};
use arrow_array::RecordBatchReader;
use std::io::Read;
use workingset::{Loader, Trace};

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Warmset's page trace in Parquet, or any Parquet file with a page column.
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

/// All formats: the name of each, and what it is.
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
    /// The format of this name, in upper or lower case.
    pub fn named(name: &str) -> Result<Self, Error> {
        for (format, known, _) in FORMATS {
            if known.eq_ignore_ascii_case(name) {
                return Ok(*format);
            }
        }
        if name.eq_ignore_ascii_case("lirs") {
            return Ok(Self::Plain);
        }
        let known = names();
        Err(Error::Format(format!(
            "no format '{name}': there are {known}"
        )))
    }

    /// Its name.
    fn name(self) -> &'static str {
        let found = FORMATS.iter().find(|(format, ..)| *format == self);
        found.map_or("", |(_, name, _)| name)
    }

    /// The format that a file's name ends in, under the ending of a compression.
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
        let found = ends.iter().find(|(end, _)| bare.ends_with(end));
        found.map(|(_, format)| *format)
    }

    /// The format that the first bytes show.
    fn by_content(head: &[u8]) -> Option<Self> {
        match head {
            [b'P', b'A', b'R', b'1', ..] => return Some(Self::Parquet),
            [0xff, 0xff, 0xff, 0xff, ..] => return Some(Self::Arrow),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => return Some(Self::Damon),
            _ => {}
        }
        if is_text(head) {
            let mut lines = head.split(|byte| *byte == b'\n');
            return lines.find_map(Self::by_line);
        }
        if head.len() >= oracle::RECORD && oracle::looks_like(head) {
            return Some(Self::OracleGeneral);
        }
        // Page numbers are small, so the highest byte of four is zero in nearly all words.
        match (is_mostly_zero(head, 0), is_mostly_zero(head, 3)) {
            (true, false) => Some(Self::U32Be),
            (false, true) => Some(Self::U32),
            _ => None,
        }
    }

    /// The format that a line of text shows; `None` if it can be a comment, or output of a program.
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
            (_, words) if words.iter().any(|word| damon_event::NAMES.contains(word)) => {
                Some(Self::DamonText)
            }
            _ if rows::is_header(line) => Some(Self::Csv),
            _ if fields.len() == 7 && fields[0].len() > 15 && number(fields[0]) => Some(Self::Msr),
            _ if fields.len() >= 5 && fields[..3].iter().all(|field| number(field)) => {
                Some(Self::Spc)
            }
            (_, [b"l" | b"s", address, ..]) if address.starts_with(b"0x") => Some(Self::Address),
            (_, [_, _, _, _]) if words.iter().all(|word| number(word)) => Some(Self::Arc),
            (_, [word]) if number(word) || *word == b"*" => Some(Self::Plain),
            // A negative number: the reader of plain traces says with its line what is wrong.
            (_, [word]) if word.starts_with(b"-") => Some(Self::Plain),
            _ => None,
        }
    }
}

/// The names of all formats, for a message.
fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|(_, name, _)| *name).collect();
    names.join(", ")
}

/// Returns true if the first bytes are those of a text.
fn is_text(head: &[u8]) -> bool {
    let mut start = head.iter().take(4096);
    let is_printed = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    !head.is_empty() && start.all(is_printed)
}

/// Returns true if this byte of each word of four is zero in more than nine of ten words.
fn is_mostly_zero(head: &[u8], byte: usize) -> bool {
    let words = head.chunks_exact(4);
    let count = words.len();
    let zeros = words.filter(|word| word[byte] == 0).count();
    zeros * 10 > count * 9
}

/// Opens a trace. The format is `format`, or else that of the file's name, or else what the content
/// shows.
///
/// Errors: a broken compression, a format that is not recognised.
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
        let name = format.name();
        return Err(Error::Format(format!(
            "the bytes of instructions are known of a lackey trace alone, and this one is {name}"
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
        Format::Csv => Box::new(CsvRows::named(input, reading)?),
        Format::Arc => lines(input, "arc", text::arc),
        Format::Spc => Box::new(CsvRows::spc(input, reading)),
        Format::Msr => Box::new(CsvRows::msr(input, reading)),
        Format::Address => lines(input, "address", text::address),
        Format::Damon => Box::new(Damon::json(input, reading)?),
        Format::DamonText => Box::new(Damon::text(input, reading)),
        Format::U32 => Box::new(Words::new(input, Word::Little32, reading)),
        Format::U32Be => Box::new(Words::new(input, Word::Big32, reading)),
        Format::U64 => Box::new(Words::new(input, Word::Little64, reading)),
    })
}

/// Opens Arrow tables in memory: with the columns of a page trace, or any with a column called
/// page.
///
/// Errors: there is no column with the pages.
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
    if let Some(format) = Format::by_content(head) {
        return Ok(format);
    }
    let start = crate::numbers::quoted(&head[..head.len().min(24)]);
    let known = names();
    Err(Error::Format(format!(
        "the format cannot be told from {start}: say which with --format, one of {known}"
    )))
}

/// Reads a whole trace into memory. After every batch `progress` is called with the number of
/// references so far.
pub fn read(source: &mut dyn Source, progress: &dyn Fn(usize)) -> Result<Trace, Error> {
    let mut loader = Loader::default();
    let mut references = 0;
    let about = ahead(source, |batch| {
        loader.push(batch)?;
        references += batch.len();
        progress(references);
        Ok::<_, Error>(())
    })?;
    Ok(loader.finish(about)?)
}
