//! Any bytes, read in any format: the first byte says which, or that it is to be recognised.

#![no_main]

use libfuzzer_sys::fuzz_target;
use traces::{FORMATS, Reading, open};
use workingset::Batch;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let format = FORMATS.get(usize::from(*first)).map(|format| format.0);
    let Ok(mut source) = open(rest, "fuzz", format, Reading::default()) else { return };
    let (mut batch, mut references) = (Batch::default(), 0);
    // A run of many references in a few bytes is no fault: enough is enough.
    while references < 1 << 20 && matches!(source.fill(&mut batch), Ok(true)) {
        references += batch.len();
    }
});
