//! Tells the format of a trace by what is in it, and refuses what could be another.
//!
//! A wrong guess gives a clean table of nonsense. So a binary file needs a magic, or records that make sense one by one;
//! the lines of a text must agree. What stays open is said, and the user says which it is.

use crate::numbers::{either, quoted, words};
use crate::presets::Preset;
use crate::{
    Format, accesses, bare, block_requests, champsim, drmemtrace, headers, lcs, mooncake, numpy,
    oracle, perf_mem, pieces, vscsi,
};

/// Lines of a text that must agree. More cost time at each start; fewer let a mixed file pass.
const LINES: usize = 64;

/// What files of other kinds begin with, and what they are.
const OTHERS: &[(&[u8], &str)] = &[
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"\x7fELF", "a program"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"PERFILE2", "a file of perf: perf script prints it as text"),
    (
        b"\xff\xfe",
        "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes it readable",
    ),
    (
        b"\xfe\xff",
        "text in UTF-16: iconv -f UTF-16 -t UTF-8 makes it readable",
    ),
];

/// The format of a trace that begins so; `whole` if there is no more of it.
///
/// Errors: what was looked at, and why that is no format.
pub(crate) fn recognise(head: &[u8], whole: bool) -> Result<Format, String> {
    for (magic, what) in OTHERS {
        if head.starts_with(magic) {
            return Err(format!("this is {what}"));
        }
    }
    if head.starts_with(numpy::MAGIC) {
        return Ok(Format::Npy);
    }
    if pieces::is_one(head) {
        return Ok(Format::Uses);
    }
    if head.starts_with(&lcs::MAGIC) {
        return Ok(Format::Lcs);
    }
    match head {
        [b'P', b'A', b'R', b'1', ..] => return Ok(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => {
            return Ok(Format::Arrow);
        }
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] if !is_text(head) => return Ok(Format::Damon),
        _ => {}
    }
    if is_text(head) {
        text(head, whole)
    } else {
        binary(head, whole)
    }
}

/// Returns true if the first bytes are those of a text.
fn is_text(head: &[u8]) -> bool {
    let mut start = head.iter().take(4096);
    let is_printed = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    !head.is_empty() && start.all(is_printed)
}

fn text(head: &[u8], whole: bool) -> Result<Format, String> {
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    // The last one may be cut, or is what follows the last line's end.
    if !whole && lines.len() > 1 {
        lines.pop();
    }
    let mut first = None;
    let mut numbered = Vec::new();
    for (line, text) in (1_usize..).zip(lines) {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match of_line(text) {
            Line::Empty => continue,
            Line::Json => return json(head),
            Line::Shows(Format::Csv) => return Ok(Format::Csv),
            Line::Shows(format) => match &first {
                None => first = Some((line, format)),
                Some((_, before)) if *before == format => {}
                // A program prints beside a recording of lackey or perf.
                Some((_, Format::Lackey | Format::DamonText)) => {}
                Some((at, before)) => {
                    return Err(format!(
                        "line {at} looks like {}, and line {line} like {}",
                        before.name(),
                        format.name()
                    ));
                }
            },
            Line::Numbers => numbered.push((line, text)),
            // The readers say of a line what is wrong with it; those of lackey and perf pass over what a program prints.
            Line::Other => {}
        }
        if line >= LINES {
            break;
        }
    }
    match (first, numbered.as_slice()) {
        (Some((_, format)), []) => Ok(format),
        (None, lines) if is_arc(lines) => Ok(Format::Arc),
        (_, [(line, text), ..]) => Err(format!(
            "line {line} is {}: several numbers without a header. Say which of them is the page with --columns page=1, or with address, sector or key",
            quoted(text)
        )),
        (None, []) => {
            let start = quoted(&head[..head.len().min(24)]);
            Err(format!("no line begins as one of a format: {start}"))
        }
    }
}

/// What one line of a text shows.
enum Line {
    /// Nothing, or a comment.
    Empty,
    Shows(Format),
    /// Several numbers: ARC's traces have four.
    Numbers,
    Json,
    /// Maybe the output of a program.
    Other,
}

fn of_line(line: &[u8]) -> Line {
    let words: Vec<&[u8]> = words(line).collect();
    let fields: Vec<&[u8]> = line
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .collect();
    let is_number = |word: &[u8]| either(word).is_ok();
    match (line, words.as_slice()) {
        ([b'#', ..] | [b'=', b'=', ..], _) | (_, []) => Line::Empty,
        ([b'[' | b'{', ..], _) => Line::Json,
        ([b'I', b' ', b' ', ..] | [b' ', b'L' | b'S' | b'M', b' ', ..], _)
            if line.contains(&b',') =>
        {
            Line::Shows(Format::Lackey)
        }
        (_, words) if words.iter().any(|word| damon_event::NAMES.contains(word)) => {
            Line::Shows(Format::DamonText)
        }
        (_, words) if perf_mem::is_one(words) => Line::Shows(Format::PerfMem),
        (_, words) if block_requests::is_blkparse(words) => Line::Shows(Format::BlkParse),
        _ if drmemtrace::is_one(line) => Line::Shows(Format::DrMemTrace),
        _ if block_requests::is_fio(line) => Line::Shows(Format::Fio),
        _ if headers::is_header(line) => Line::Shows(Format::Csv),
        _ if headers::is_msr(&fields) => Line::Shows(Format::Preset(Preset::Msr)),
        _ if headers::is_spc(&fields) => Line::Shows(Format::Preset(Preset::Spc)),
        _ if headers::is_alibaba(&fields) => Line::Shows(Format::Preset(Preset::Alibaba)),
        _ if headers::is_twitter(&fields) => Line::Shows(Format::Preset(Preset::Twitter)),
        (_, [b"l" | b"s", address, ..]) if address.starts_with(b"0x") => {
            Line::Shows(Format::Address)
        }
        (_, words) if accesses::is_pin(words) => Line::Shows(Format::Pin),
        (_, words) if accesses::is_ramulator(words) => Line::Shows(Format::Ramulator),
        (_, words) if accesses::is_dramsim(words) => Line::Shows(Format::DramSim),
        (_, [_, _, ..]) if words.iter().all(|word| is_number(word)) => Line::Numbers,
        _ if fields.len() > 1 && fields.iter().all(|field| is_number(field)) => Line::Numbers,
        (_, [word]) if is_number(word) || *word == b"*" => Line::Shows(Format::Plain),
        // A negative number: the reader of plain traces says with its line what is wrong.
        (_, [[b'-', digits @ ..]]) if is_number(digits) => Line::Shows(Format::Plain),
        _ => Line::Other,
    }
}

/// Returns true if these are lines of the ARC paper's authors: first block, number of blocks, a zero, and the number of the
/// request, which counts up.
fn is_arc(lines: &[(usize, &[u8])]) -> bool {
    let mut before = None;
    for (_, line) in lines {
        let numbers: Vec<u64> = words(line).filter_map(|word| either(word).ok()).collect();
        let [_, count, zero, request] = numbers[..] else {
            return false;
        };
        let counts_up = before.is_none_or(|before: u64| before.checked_add(1) == Some(request));
        if count == 0 || zero != 0 || !counts_up {
            return false;
        }
        before = Some(request);
    }
    lines.len() >= 2
}

/// Of JSON, DAMON's records are read, a list of records with snapshots, and Mooncake's requests.
fn json(head: &[u8]) -> Result<Format, String> {
    let start = &head[..head.len().min(4096)];
    let has = |word: &[u8]| memchr::memmem::find(start, word).is_some();
    if has(b"\"snapshots\"") || has(b"\"kdamond_idx\"") || has(b"\"target_id\"") {
        return Ok(Format::Damon);
    }
    if mooncake::looks_like(head) {
        return Ok(Format::Mooncake);
    }
    let shown = quoted(&head[..head.len().min(40)]);
    Err(format!(
        "this is JSON, but no record of DAMON and no request of Mooncake: {shown}"
    ))
}

fn binary(head: &[u8], whole: bool) -> Result<Format, String> {
    let fits = |record: usize| !whole || head.len() % record == 0;
    if fits(oracle::RECORD) && oracle::looks_like(head) {
        return Ok(Format::OracleGeneral);
    }
    if vscsi::version_of(head).is_some() {
        return Ok(Format::Vscsi);
    }
    if fits(champsim::RECORD) && champsim::looks_like(head) {
        return Ok(Format::ChampSim);
    }
    bare::recognise(head, whole)
}
