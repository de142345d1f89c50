//! The formats that can be read, how each is recognised, and how a trace is opened.

use crate::bare::{Word, Words};
use crate::champsim::ChampSim;
use crate::columns::Columns;
use crate::damon::Damon;
use crate::input::Input;
use crate::lcs::Lcs;
use crate::mooncake::Mooncake;
use crate::oracle::OracleGeneral;
use crate::pieces::Pieces;
use crate::presets::Preset;
use crate::roles::Roles;
use crate::rows::CsvRows;
use crate::sorted::Sorted;
use crate::text::{self, Lines};
use crate::vscsi::Vscsi;
use crate::{
    Error, Order, Reading, Source, accesses, ahead, block_requests, compress, drmemtrace, perf_mem,
    recognise,
};
use arrow_array::RecordBatchReader;
use std::io::Read;
use workingset::{Loader, Trace};

/// A format that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// A table of a published kind.
    Preset(Preset),
    /// A table whose columns the user names.
    Told(Box<Roles>),
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
    /// Page numbers of eight bytes, big end first.
    U64Be,
    /// VMware's virtual disks.
    Vscsi,
    /// ChampSim's instructions.
    ChampSim,
    /// Pin's `pinatrace`.
    Pin,
    /// Dinero's.
    Din,
    /// Ramulator's memory traces.
    Ramulator,
    /// Ramulator's processor traces.
    RamulatorCpu,
    /// DRAMSim2's.
    DramSim,
    /// Mooncake's requests.
    Mooncake,
    /// libCacheSim's records with a header.
    Lcs,
    /// NumPy's array.
    Npy,
    /// DynamoRIO's memory traces.
    DrMemTrace,
    /// Samples of `perf mem`.
    PerfMem,
    /// Requests of `blktrace`.
    BlkParse,
    /// Requests that fio replays.
    Fio,
    /// What our own tools for Valgrind and QEMU write.
    Uses,
}

/// What comes before the columns that a user names, where a format is asked for.
pub const COLUMNS: &str = "columns:";

/// All formats: the name of each, and what it is. A new one comes last: kept inputs of the fuzzers name a format by its place.
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
        "a table with a header: page, key, or address and size; time, op, task",
    ),
    (
        Format::Arc,
        "arc",
        "ARC's .lis: first page, number of pages, two numbers more",
    ),
    (
        Format::Preset(Preset::Spc),
        "spc",
        "UMass SPC: unit, block, bytes, r or w, seconds",
    ),
    (
        Format::Preset(Preset::Msr),
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
    (
        Format::U64Be,
        "u64be",
        "page numbers of eight bytes, big end first",
    ),
    (
        Format::Vscsi,
        "vscsi",
        "VMware's vscsiStats, both versions: a request is its first block",
    ),
    (
        Format::ChampSim,
        "champsim",
        "ChampSim's instructions of 64 bytes: fetches, loads, stores",
    ),
    (
        Format::Pin,
        "pinatrace",
        "Pin: instruction, R or W, address",
    ),
    (
        Format::Din,
        "din",
        "Dinero: 0, 1 or 2, and an address in hexadecimal",
    ),
    (
        Format::Ramulator,
        "ramulator",
        "Ramulator's memory traces: address, R or W",
    ),
    (
        Format::RamulatorCpu,
        "ramulator-cpu",
        "Ramulator's processor traces: instructions, load, write-back",
    ),
    (
        Format::DramSim,
        "dramsim",
        "DRAMSim2: address, IFETCH, READ or WRITE, cycle",
    ),
    (
        Format::Mooncake,
        "mooncake",
        "Mooncake: requests in JSON, with hash_ids",
    ),
    (
        Format::Preset(Preset::Twitter),
        "twitter",
        "Twitter's caches: seconds, key, bytes of key, of value, client, operation, life",
    ),
    (
        Format::Preset(Preset::Alibaba),
        "alibaba",
        "Alibaba's disks: device, R or W, offset, bytes, microseconds",
    ),
    (
        Format::Preset(Preset::Tencent),
        "tencent",
        "Tencent's disks: seconds, block, blocks, 0 or 1, volume",
    ),
    (
        Format::Preset(Preset::Ibm),
        "ibm",
        "IBM's object store: milliseconds, request, object, bytes",
    ),
    (
        Format::Preset(Preset::Lrb),
        "lrb",
        "LRB, webcachesim, AdaptSize: time, object, bytes, features",
    ),
    (
        Format::Lcs,
        "lcs",
        "libCacheSim's records with a header, versions 1 to 8",
    ),
    (
        Format::Npy,
        "npy",
        "a NumPy array of page numbers: one dimension of integers",
    ),
    (
        Format::DrMemTrace,
        "drmemtrace",
        "DynamoRIO's memory traces, as its tool view prints them",
    ),
    (
        Format::PerfMem,
        "perf-mem",
        "samples of perf mem record, as perf script prints them",
    ),
    (
        Format::BlkParse,
        "blkparse",
        "blktrace: requests as they are queued, each page of them",
    ),
    (Format::Fio, "fio", "fio's write_iolog, versions 2 and 3"),
    (
        Format::Uses,
        "uses",
        "what our plugin for QEMU writes of a machine: fetches, loads, stores",
    ),
];

/// What people call formats that have a name here already.
const OTHER_NAMES: &[(&str, Format)] = &[
    ("lirs", Format::Plain),
    ("webcachesim", Format::Preset(Preset::Lrb)),
    ("adaptsize", Format::Preset(Preset::Lrb)),
];

impl Format {
    /// The format of this name, in upper or lower case; `columns:` and what `--columns` says is one, too.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some(roles) = name.strip_prefix(COLUMNS) {
            return Ok(Self::Told(Box::new(Roles::parse(roles)?)));
        }
        for (format, known, _) in FORMATS {
            if known.eq_ignore_ascii_case(name) {
                return Ok(format.clone());
            }
        }
        for (other, format) in OTHER_NAMES {
            if other.eq_ignore_ascii_case(name) {
                return Ok(format.clone());
            }
        }
        let known = names();
        Err(Error::Format(format!(
            "no format '{name}': there are {known}"
        )))
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        let found = FORMATS.iter().find(|(format, ..)| format == self);
        found.map_or("", |(_, name, _)| name)
    }

    /// The format that a file's name ends in, under the ending of a compression.
    pub fn by_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let bare = [".gz", ".xz", ".zst", ".zstd", ".bz2", ".lz4", ".zip"]
            .iter()
            .find_map(|end| lower.strip_suffix(end))
            .unwrap_or(&lower);
        let ends: &[(&str, Self)] = &[
            (".lis", Self::Arc),
            (".spc", Self::Preset(Preset::Spc)),
            (".u32", Self::U32),
            (".u32be", Self::U32Be),
            (".u64", Self::U64),
            (".u64be", Self::U64Be),
            (".vscsi", Self::Vscsi),
            (".champsimtrace", Self::ChampSim),
            (".pids", Self::U32),
            (".npy", Self::Npy),
            (".lcs", Self::Lcs),
        ];
        if bare.contains("oraclegeneral") {
            return Some(Self::OracleGeneral);
        }
        let found = ends.iter().find(|(end, _)| bare.ends_with(end));
        found.map(|(_, format)| format.clone())
    }
}

/// The names of all formats, for a message.
fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|(_, name, _)| *name).collect();
    names.join(", ")
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
    let source = as_it_stands(bytes, name, format, reading)?;
    Ok(match reading.order {
        Order::Refuse => source,
        Order::Sort => Box::new(Sorted::new(source, reading.time)),
    })
}

/// Opens a trace, its references in the order of the file.
fn as_it_stands<'a>(
    bytes: impl Read + Send + 'a,
    name: &str,
    format: Option<Format>,
    reading: Reading,
) -> Result<Box<dyn Source + 'a>, Error> {
    let mut input = Input::new(compress::plain(bytes)?);
    input.skip_mark()?;
    let format = match format.or_else(|| Format::by_name(name)) {
        Some(format) => format,
        None => recognised(&mut input)?,
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
        Format::Parquet => Box::new(Columns::parquet(input, reading)?),
        Format::Arrow => Box::new(Columns::arrow(input, reading)?),
        Format::OracleGeneral => Box::new(OracleGeneral::new(input, reading)),
        Format::Lackey => lines(input, "lackey", text::lackey),
        Format::Plain => lines(input, "plain", text::plain),
        Format::Csv => Box::new(CsvRows::named(input, reading)?),
        Format::Arc => lines(input, "arc", text::arc),
        Format::Preset(preset) => Box::new(CsvRows::preset(input, preset, reading)?),
        Format::Told(roles) => Box::new(CsvRows::told(input, &roles, reading)?),
        Format::Address => lines(input, "address", text::address),
        Format::Damon => Box::new(Damon::json(input, reading)?),
        Format::DamonText => Box::new(Damon::text(input, reading)),
        Format::U32 => Box::new(Words::new(input, Word::Little32, reading)),
        Format::U32Be => Box::new(Words::new(input, Word::Big32, reading)),
        Format::U64 => Box::new(Words::new(input, Word::Little64, reading)),
        Format::U64Be => Box::new(Words::new(input, Word::Big64, reading)),
        Format::Vscsi => Box::new(Vscsi::new(input, reading)?),
        Format::ChampSim => Box::new(ChampSim::new(input, reading)),
        Format::Pin => lines(input, "pinatrace", accesses::pin),
        Format::Din => lines(input, "din", accesses::din),
        Format::Ramulator => lines(input, "ramulator", accesses::ramulator),
        Format::RamulatorCpu => lines(input, "ramulator-cpu", accesses::ramulator_cpu),
        Format::DramSim => lines(input, "dramsim", accesses::dramsim),
        Format::Mooncake => Box::new(Mooncake::new(input, reading)),
        Format::Lcs => Box::new(Lcs::new(input, reading)?),
        Format::Npy => Box::new(Words::numpy(input, reading)?),
        Format::DrMemTrace => lines(input, "drmemtrace", drmemtrace::parse),
        Format::PerfMem => lines(input, "perf-mem", perf_mem::parse),
        Format::BlkParse => lines(input, "blkparse", block_requests::blkparse),
        Format::Fio => lines(input, "fio", block_requests::fio),
        Format::Uses => Box::new(Pieces::new(input, reading)),
    })
}

/// Opens Arrow tables in memory: with the columns of a page trace, or any with a column called
/// page.
///
/// Errors: there is no column with the pages.
pub fn tables<'a>(
    reader: Box<dyn RecordBatchReader + Send + 'a>,
    reading: Reading,
) -> Result<Box<dyn Source + 'a>, Error> {
    Ok(Box::new(Columns::memory(reader, reading)?))
}

fn recognised(input: &mut Input<'_>) -> Result<Format, Error> {
    let (head, whole) = input.start()?;
    if head.is_empty() {
        return Err(workingset::Error::Empty.into());
    }
    recognise::recognise(head, whole).map_err(|what| {
        let known = names();
        Error::Format(format!(
            "the format cannot be told: {what}. Say which it is with --format, one of {known}"
        ))
    })
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
