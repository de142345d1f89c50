//! DynamoRIO's memory traces as its tool `view` prints them, one record in a line.
//!
//! ```text
//!   record  instr:      task  kind     bytes          address
//!       12      3:   3264175  write        8 byte(s) @ 0x00007ffe5c3f1a28 by PC 0x00007f86ef03d10a
//! ```
//!
//! Time is instructions, over all tasks. Markers, prefetches and flushes are passed over. A task may be a bare number, `T12` or,
//! in a trace of several programs, `W0.T12`.

use crate::numbers::{decimal, hex, quoted, words};
use crate::text::Lines;
use workingset::{Batch, Op};

/// What stands after the size of an access.
const UNIT: &[u8] = b"byte(s)";

/// The words of an access: task, kind, bytes, address.
struct Access<'l> {
    task: &'l [u8],
    kind: &'l [u8],
    size: &'l [u8],
    address: &'l [u8],
}

/// The access that a line shows, if it is one.
fn access(line: &[u8]) -> Option<Access<'_>> {
    let words: Vec<&[u8]> = words(line).collect();
    let unit = words.iter().position(|word| *word == UNIT)?;
    let before = unit.checked_sub(3)?;
    if words.get(unit + 1).copied() != Some(b"@") {
        return None;
    }
    Some(Access {
        task: words[before],
        kind: words[before + 1],
        size: words[before + 2],
        address: words.get(unit + 2)?,
    })
}

/// Returns true if a line is an access or a marker of such a trace.
pub(crate) fn is_one(line: &[u8]) -> bool {
    let is_marker = memchr::memmem::find(line, b"<marker: ").is_some();
    is_marker || access(line).is_some_and(|access| access.address.starts_with(b"0x"))
}

/// A line of `view`.
pub(crate) fn parse(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let Some(access) = access(line) else {
        lines.pass_over();
        return Ok(());
    };
    let op = match access.kind {
        b"ifetch" => Op::FETCH,
        b"read" => Op::LOAD,
        b"write" => Op::STORE,
        _ => {
            lines.pass_over();
            return Ok(());
        }
    };
    if op == Op::FETCH {
        lines.wait(1);
    }
    let size = decimal(access.size)?;
    let address = hex(access.address)?;
    let task = task_number(access.task)?;
    let count = lines.used_bytes(address, size, op, batch)?;
    lines.by(task, count, batch)
}

fn task_number(word: &[u8]) -> Result<u64, String> {
    let wrong = || format!("{} is no task of drmemtrace", quoted(word));
    let Some(workload) = word.strip_prefix(b"W") else {
        return decimal(word.strip_prefix(b"T").unwrap_or(word)).map_err(|_| wrong());
    };
    let dot = memchr::memchr(b'.', workload).ok_or_else(wrong)?;
    let workload_number = decimal(&workload[..dot]).map_err(|_| wrong())?;
    let task = workload[dot + 1..].strip_prefix(b"T").ok_or_else(wrong)?;
    let task = decimal(task).map_err(|_| wrong())?;
    // Tasks of different programs may have one number.
    Ok(workload_number << 32 | task & 0xffff_ffff)
}
