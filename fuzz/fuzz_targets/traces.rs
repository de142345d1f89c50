//! Reads any bytes as a trace. The first byte is an index into `FORMATS`; one beyond them lets the format be recognised.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traces::{FORMATS, Reading, open};
use workingset::Batch;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let format = FORMATS.get(usize::from(*first)).map(|format| format.0);
    let Ok(mut source) = open(rest, "fuzz", format, Reading::default()) else { return };
    let mut batch = Batch::default();
    let mut references = 0;
    // A few bytes can stand for very many references, which is no error: so there is a limit.
    while references < 1 << 20 && matches!(source.fill(&mut batch), Ok(true)) {
        references += batch.len();
    }
});
