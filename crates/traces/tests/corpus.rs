//! What the fuzzer found and keeps (`fuzz/corpus/traces`, `make fuzz`), read again: nothing panics.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;
use traces::{FORMATS, Reading, open};
use workingset::Batch;

#[test]
fn the_kept_corpus_is_read_without_a_panic() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/traces");
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let bytes = fs::read(entry.path()).unwrap();
        let Some((first, rest)) = bytes.split_first() else {
            continue;
        };
        let format = FORMATS.get(usize::from(*first)).map(|format| format.0);
        count += 1;
        let Ok(mut source) = open(rest, "fuzz", format, Reading::default()) else {
            continue;
        };
        let mut batch = Batch::default();
        let mut references = 0;
        while references < 1 << 20 && matches!(source.fill(&mut batch), Ok(true)) {
            references += batch.len();
        }
    }
    assert!(count >= 15, "only {count} files are kept");
}
