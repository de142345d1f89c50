//! What the fuzzer found and keeps (`fuzz/corpus/traces`, `make fuzz`), read again: nothing panics.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;
use traces::{FORMATS, Reading, open};
use workingset::Batch;

/// Reads a trace as the fuzzer does: the first byte is an index into `FORMATS`, one beyond them lets the format be recognised.
fn read(bytes: &[u8], most: usize) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    let format = FORMATS.get(usize::from(*first)).map(|format| format.0);
    let Ok(mut source) = open(rest, "fuzz", format, Reading::default()) else {
        return;
    };
    let mut batch = Batch::default();
    let mut references = 0;
    // A few bytes can stand for very many references, which is no error: so there is a limit.
    while references < most && matches!(source.fill(&mut batch), Ok(true)) {
        references += batch.len();
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/traces");
    let files = fs::read_dir(directory).unwrap().flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    // In the same order everywhere, so that the changed copies are the same.
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn mutated_traces_are_survived() {
    let corpus = corpus();
    let kept: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
    testsupport::mutated::each(&kept, |bytes| read(bytes, 1 << 12));
}

#[test]
fn the_kept_corpus_is_read_without_a_panic() {
    let corpus = corpus();
    for bytes in &corpus {
        read(bytes, 1 << 20);
    }
    assert!(corpus.len() >= 15, "only {} files are kept", corpus.len());
}
