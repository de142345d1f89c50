//! Every parser that reads bytes from outside, by name: what a user, a file or the kernel may hand to a program of ours.
//!
//! `fuzz/corpus/NAME` keeps inputs of each. The tests of this crate change them a little, thousands of times; `make fuzz` lets
//! libFuzzer change them, led by what code they reach.

mod recordings;

use pressure::config::Layers;
use pressure::import::{Legacy, legacy};
use pressure::users::{Reply, Tell};
use std::path::{Path, PathBuf};
use traces::blocks::Decoder;
use traces::{FORMATS, PageRows, Reading, open};
use workingset::{Batch, Clock};

/// A parser, and all that is done with what it understood.
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// The directory of its corpus.
    pub name: &'static str,
    /// Reads an input and returns true if it is a good one. It must never panic, loop, or use memory without bound.
    pub read: fn(&[u8]) -> bool,
}

/// All of them.
pub const PARSERS: [Parser; 12] = [
    parser("blocks", blocks),
    parser("configuration", configuration),
    parser("damon", damon),
    parser("holder", holder),
    parser("http", daemon::status_server::gets_a_page),
    parser("import", import),
    parser("notice", notice),
    parser("recording", recordings::read),
    parser("sweep", sweep),
    parser("trace", trace),
    parser("tracepoint", tracepoint),
    parser("undo", undo),
];

const fn parser(name: &'static str, read: fn(&[u8]) -> bool) -> Parser {
    Parser { name, read }
}

/// The parser of this name.
pub fn named(name: &str) -> Option<Parser> {
    PARSERS.into_iter().find(|parser| parser.name == name)
}

/// The directory of a parser's corpus.
pub fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name)
}

/// What the tool for Valgrind writes of the programs that it records.
fn blocks(bytes: &[u8]) -> bool {
    let mut decoder = Decoder::new(4096, Clock::Instructions);
    let mut rows = PageRows::default();
    let is_whole = decoder.push(bytes, &mut rows).is_ok() && decoder.finish(&mut rows).is_ok();
    is_whole && !rows.is_empty()
}

fn configuration(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut layers = Layers::default();
    layers.add("input.toml", &text).is_ok() && layers.finish().is_ok()
}

/// A line of the kernel's DAMON.
fn damon(bytes: &[u8]) -> bool {
    matches!(damon_event::Region::of(bytes), Ok(Some(_)))
}

/// What the guard and its holder say to each other, and what the guard thinks of it.
fn holder(bytes: &[u8]) -> bool {
    use host::holder::{check, wire};
    let mut warm = pressure::protect::Warm::default();
    let is_act = wire::act(bytes).is_some();
    let is_list = wire::programs_in(bytes).is_some() || wire::entry_in(bytes).is_some();
    let is_tale = wire::tale(bytes, &mut warm).is_some();
    let _ = check::parse(&String::from_utf8_lossy(bytes));
    is_act || is_list || is_tale
}

/// A configuration of a predecessor.
fn import(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let adaptive = legacy(Legacy::Adaptivemmd, &text).is_ok();
    let optimizer = legacy(Legacy::Memoptimizer, &text).is_ok();
    adaptive || optimizer
}

/// What users and the guard say to each other at the notice socket.
fn notice(bytes: &[u8]) -> bool {
    let is_reply = serde_json::from_slice::<Reply>(bytes).is_ok();
    let is_tell = serde_json::from_slice::<Tell>(bytes).is_ok();
    is_reply || is_tell
}

fn sweep(bytes: &[u8]) -> bool {
    tools::is_sweep(&String::from_utf8_lossy(bytes))
}

/// A trace. A few bytes can stand for very many references, which is no error: so there is a limit.
fn trace(bytes: &[u8]) -> bool {
    reads_a_trace(bytes, 1 << 14)
}

/// Reads a trace up to its first `most` references, and returns true if there are any. The first byte is an index into
/// `FORMATS`; one beyond them lets the format be recognised.
pub fn reads_a_trace(bytes: &[u8], most: usize) -> bool {
    let Some((first, rest)) = bytes.split_first() else {
        return false;
    };
    let format = FORMATS
        .get(usize::from(*first))
        .map(|format| format.0.clone());
    let Ok(mut source) = open(rest, "input", format, Reading::default()) else {
        return false;
    };
    let mut batch = Batch::default();
    let mut references = 0;
    while references < most {
        match source.fill(&mut batch) {
            Ok(true) => references += batch.len(),
            Ok(false) => break,
            Err(_) => return false,
        }
    }
    references > 0
}

/// The layout of a tracepoint and, after a zero byte, a record of it.
fn tracepoint(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (layout, record) = bytes.split_at(end.unwrap_or(bytes.len()));
    let record = record.get(1..).unwrap_or_default();
    let layout = String::from_utf8_lossy(layout);
    let of_the_page_cache = hold::tells_an_event(&layout, record);
    let of_compaction = hold::tells_a_compaction(&layout, record);
    of_the_page_cache || of_compaction
}

/// An undo log, by which a copy of a recorded machine is put back. What the log may not name must stay as it was.
fn undo(bytes: &[u8]) -> bool {
    use host::{Places, restore};
    use std::fs;

    thread_local! {
        static MACHINE: tempfile::TempDir = testsupport::recorded_machine::machine();
    }
    MACHINE.with(|directory| {
        let places = Places::at(directory.path());
        let log = places.run.join("undo");
        let overcommit = places.root.join("proc/sys/vm/overcommit_memory");
        fs::create_dir_all(&places.run).expect("a temporary directory");
        fs::write(&log, bytes).expect("a temporary directory");
        fs::write(&overcommit, "0\n").expect("a temporary directory");
        let is_restored = restore(&places).is_ok();
        let after = fs::read(&overcommit).expect("it was written");
        assert_eq!(after, b"0\n", "a log named what no log may name");
        is_restored
    })
}
