//! Requests to disks as tools print them: `blkparse` of blktrace, and what fio replays.

use crate::numbers::{decimal, quoted, words};
use crate::roles::SECTOR;
use crate::text::Lines;
use crate::values::nanoseconds;
use workingset::{Batch, Clock, Op};

/// The action that is a request as a program or a file system makes it. All others are later states of the same request.
const QUEUED: &[u8] = b"Q";

/// Returns true if these are the words of a line of `blkparse`: `8,0 3 11 0.009507758 697 Q W 223490 + 8 [kjournald]`.
pub(crate) fn is_blkparse(words: &[&[u8]]) -> bool {
    let [device, processor, number, time, process, action, ..] = words else {
        return false;
    };
    let is_number = |word: &[u8]| decimal(word).is_ok();
    let is_action = action.len() <= 2 && action.iter().all(u8::is_ascii_uppercase);
    is_device(device)
        && is_number(processor)
        && is_number(number)
        && time.contains(&b'.')
        && nanoseconds(time).is_ok()
        && is_number(process)
        && is_action
}

/// Two numbers with a comma between them.
fn is_device(word: &[u8]) -> bool {
    let comma = memchr::memchr(b',', word);
    comma.is_some_and(|at| decimal(&word[..at]).is_ok() && decimal(&word[at + 1..]).is_ok())
}

/// A line of `blkparse`: device, processor, number, seconds, process, action, kind, first sector, `+`, sectors.
///
/// Requests are taken where they are queued; other actions, discards and flushes are passed over, and so is the summary.
pub(crate) fn blkparse(
    lines: &mut Lines<'_>,
    line: &[u8],
    batch: &mut Batch,
) -> Result<(), String> {
    let words: Vec<&[u8]> = words(line).collect();
    let [
        device,
        _,
        _,
        time,
        process,
        QUEUED,
        kind,
        sector,
        b"+",
        sectors,
        ..,
    ] = words.as_slice()
    else {
        lines.pass_over();
        return Ok(());
    };
    let op = if !is_device(device) || kind.contains(&b'D') {
        None
    } else if kind.contains(&b'W') {
        Some(Op::STORE)
    } else {
        kind.contains(&b'R').then_some(Op::LOAD)
    };
    let Some(op) = op else {
        lines.pass_over();
        return Ok(());
    };
    lines.at(nanoseconds(time)?);
    let bytes = |word: &[u8]| {
        let bytes = decimal(word)?.checked_mul(SECTOR);
        bytes.ok_or_else(|| format!("{} sectors are above 2^64 bytes", quoted(word)))
    };
    let (start, size) = (bytes(sector)?, bytes(sectors)?);
    let count = lines.used_on_disk(device, start, size, op, batch)?;
    lines.by(decimal(process)?, count, batch)
}

/// Returns true if a text begins as a file that fio replays (`write_iolog`, versions 2 and 3).
pub(crate) fn is_fio(line: &[u8]) -> bool {
    line.starts_with(b"fio version ")
}

/// A line of fio: file, what is done, first byte, bytes; version 3 has milliseconds before. What moves no data is passed over.
pub(crate) fn fio(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    if is_fio(line) {
        let version = words(line).nth(2).unwrap_or_default();
        match version {
            b"2" => lines.count_by(Clock::References),
            b"3" => lines.count_by(Clock::Nanoseconds),
            other => return Err(format!("fio version {} is not known", quoted(other))),
        }
        lines.pass_over();
        return Ok(());
    }
    let mut words = words(line);
    let is_timed = lines.counts() == Clock::Nanoseconds;
    if is_timed {
        let Some(time) = words.next() else {
            lines.pass_over();
            return Ok(());
        };
        lines.at(decimal(time)?.saturating_mul(1_000_000));
    }
    let file = words.next().unwrap_or_default();
    let op = match words.next() {
        Some(b"read") => Op::LOAD,
        Some(b"write") => Op::STORE,
        None if !file.is_empty() => return Err(format!("{} is no line of fio", quoted(line))),
        None | Some(b"add" | b"open" | b"close" | b"trim" | b"sync" | b"datasync" | b"wait") => {
            lines.pass_over();
            return Ok(());
        }
        Some(other) => return Err(format!("fio does not {}", quoted(other))),
    };
    let start = decimal(words.next().unwrap_or_default())?;
    let size = decimal(words.next().unwrap_or_default())?;
    lines.used_on_disk(file, start, size, op, batch)?;
    Ok(())
}
