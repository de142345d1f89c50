//! Samples of loads and stores as `perf script` prints what `perf mem record` recorded.
//!
//! ```text
//!   sqlite3  4711 [002]  8123.456789:  1  cpu/mem-loads,ldlat=30/P:  7f3a5c001238  68100142 |OP LOAD|LVL L1 hit|…
//!   program  task  cpu      seconds    period          event             address     source
//! ```
//!
//! A sample is one of many references: what is computed from them is of the sample. One without an address is passed over.

use crate::numbers::{decimal, hex, quoted, words};
use crate::text::Lines;
use crate::values::nanoseconds;
use workingset::{Batch, Op};

/// Parts of the names of events that sample addresses: Intel's and Arm's, AMD's.
const EVENTS: &[&[u8]] = &[
    b"mem-loads",
    b"mem-stores",
    b"mem-ldst",
    b"ibs_op",
    b"arm_spe",
];

/// The place of the event among the words of a line: it ends in a colon, and an address follows.
fn event(words: &[&[u8]]) -> Option<usize> {
    let at = words.iter().position(|word| {
        let is_known = |event: &&[u8]| memchr::memmem::find(word, event).is_some();
        word.ends_with(b":") && EVENTS.iter().any(is_known)
    })?;
    let address = words.get(at + 1)?;
    hex(address).is_ok().then_some(at)
}

/// Returns true if these are the words of such a sample.
pub(crate) fn is_one(words: &[&[u8]]) -> bool {
    event(words).is_some()
}

/// A line of `perf script`.
pub(crate) fn parse(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let words: Vec<&[u8]> = words(line).collect();
    let Some(event) = event(&words) else {
        lines.pass_over();
        return Ok(());
    };
    let address = hex(words[event + 1])?;
    let source = words.iter().find(|word| word.starts_with(b"|OP"));
    let op = match operation(&words, event, source.is_some()) {
        Some(op) if address != 0 => op,
        _ => {
            lines.pass_over();
            return Ok(());
        }
    };
    let time = words[..event].iter().rposition(|word| is_time(word));
    let time = time.ok_or_else(|| format!("{} has no time", quoted(line)))?;
    let seconds = words[time].strip_suffix(b":").unwrap_or_default();
    lines.at(nanoseconds(seconds)?);
    // Before the time the processor may stand in brackets.
    let task = words[..time].iter().rfind(|word| !word.starts_with(b"["));
    let task = task.and_then(|word| word.rsplit(|byte| *byte == b'/').next());
    let task = decimal(task.unwrap_or_default())?;
    lines.used_now(address, op, batch);
    lines.by(task, 1, batch)
}

fn is_time(word: &[u8]) -> bool {
    let seconds = word.strip_suffix(b":");
    seconds.is_some_and(|seconds| seconds.contains(&b'.') && nanoseconds(seconds).is_ok())
}

/// What was done: by the source of the data where it is printed, and else by the name of the event. `None` for a sample that
/// is no access.
fn operation(words: &[&[u8]], event: usize, has_source: bool) -> Option<Op> {
    let has = |text: &[u8]| {
        words[event..]
            .iter()
            .any(|word| memchr::memmem::find(word, text).is_some())
    };
    if has_source {
        return match (has(b"LOAD"), has(b"STORE")) {
            (true, true) => Some(Op::MODIFY),
            (true, false) => Some(Op::LOAD),
            (false, true) => Some(Op::STORE),
            (false, false) => None,
        };
    }
    let is_store = memchr::memmem::find(words[event], b"mem-stores").is_some();
    Some(if is_store { Op::STORE } else { Op::LOAD })
}
