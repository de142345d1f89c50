//! Addresses as simulators and tools of processors print them, one access in a line.

use crate::numbers::{decimal, hex, quoted, words};
use crate::text::Lines;
use workingset::{Batch, Op};

/// What DRAMSim2's traces call their accesses (`mase`, `k6`); what moves no data is passed over.
const DRAMSIM: &[(&[u8], Option<Op>)] = &[
    (b"IFETCH", Some(Op::FETCH)),
    (b"P_FETCH", Some(Op::FETCH)),
    (b"READ", Some(Op::LOAD)),
    (b"P_MEM_RD", Some(Op::LOAD)),
    (b"P_LOCK_RD", Some(Op::LOAD)),
    (b"P_IO_RD", Some(Op::LOAD)),
    (b"WRITE", Some(Op::STORE)),
    (b"P_MEM_WR", Some(Op::STORE)),
    (b"P_LOCK_WR", Some(Op::STORE)),
    (b"P_IO_WR", Some(Op::STORE)),
    (b"BOFF", None),
    (b"P_INT_ACK", None),
];

/// Returns true if these are the words of a line of Pin's `pinatrace`: `0x401234: R 0x7ffe40`.
pub(crate) fn is_pin(words: &[&[u8]]) -> bool {
    match words {
        [pointer, b"R" | b"W", address, ..] => {
            let pointer = pointer.strip_suffix(b":");
            let is_hex = |word: &[u8]| word.starts_with(b"0x") && hex(word).is_ok();
            pointer.is_some_and(is_hex) && is_hex(address)
        }
        _ => false,
    }
}

/// Returns true if these are the words of a line of Ramulator's memory traces: `0x12345680 R`.
pub(crate) fn is_ramulator(words: &[&[u8]]) -> bool {
    match words {
        [address, b"R" | b"W"] => address.starts_with(b"0x") && hex(address).is_ok(),
        _ => false,
    }
}

/// Returns true if these are the words of a line of DRAMSim2's traces: `0x2000D5C0 IFETCH 30`.
pub(crate) fn is_dramsim(words: &[&[u8]]) -> bool {
    match words {
        [address, kind, cycle] => {
            let is_known = DRAMSIM.iter().any(|(known, _)| known == kind);
            address.starts_with(b"0x") && hex(address).is_ok() && is_known && decimal(cycle).is_ok()
        }
        _ => false,
    }
}

/// A line of Pin's `pinatrace`: the instruction, R or W, the address.
pub(crate) fn pin(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let mut words = words(line);
    let (Some(_), Some(kind)) = (words.next(), words.next()) else {
        return pass_over(lines, line);
    };
    let op = read_or_write(kind)?;
    let address = hex(words.next().unwrap_or_default())?;
    lines.used(address, op, batch);
    Ok(())
}

/// A line of Ramulator's memory traces: the address, R or W.
pub(crate) fn ramulator(
    lines: &mut Lines<'_>,
    line: &[u8],
    batch: &mut Batch,
) -> Result<(), String> {
    let mut words = words(line);
    let Some(address) = words.next() else {
        return pass_over(lines, line);
    };
    let address = hex(address)?;
    let op = read_or_write(words.next().unwrap_or_default())?;
    lines.used(address, op, batch);
    Ok(())
}

/// A line of Ramulator's processor traces: instructions before it, the address of a load, maybe that of a write-back.
pub(crate) fn ramulator_cpu(
    lines: &mut Lines<'_>,
    line: &[u8],
    batch: &mut Batch,
) -> Result<(), String> {
    let mut words = words(line);
    let Some(before) = words.next() else {
        return pass_over(lines, line);
    };
    lines.wait(decimal(before)?);
    let load = decimal(words.next().unwrap_or_default())?;
    lines.used_now(load, Op::LOAD, batch);
    if let Some(store) = words.next() {
        lines.used_now(decimal(store)?, Op::STORE, batch);
    }
    lines.wait(1);
    Ok(())
}

/// A line of Dinero's `din`: 0 for a load, 1 for a store, 2 for a fetch, then the address in hexadecimal.
pub(crate) fn din(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let mut words = words(line);
    let op = match words.next() {
        None => return pass_over(lines, line),
        Some(b"0") => Op::LOAD,
        Some(b"1") => Op::STORE,
        Some(b"2") => Op::FETCH,
        // Escape and flush.
        Some(b"3" | b"4") => {
            lines.pass_over();
            return Ok(());
        }
        Some(other) => return Err(format!("{} is no label of din, 0 to 4", quoted(other))),
    };
    let address = hex(words.next().unwrap_or_default())?;
    lines.used(address, op, batch);
    Ok(())
}

/// A line of DRAMSim2's traces: the address, what is done, the cycle.
pub(crate) fn dramsim(lines: &mut Lines<'_>, line: &[u8], batch: &mut Batch) -> Result<(), String> {
    let mut words = words(line);
    let Some(address) = words.next() else {
        return pass_over(lines, line);
    };
    let kind = words.next().unwrap_or_default();
    let Some((_, op)) = DRAMSIM.iter().find(|(known, _)| *known == kind) else {
        return Err(format!("{} is no access of DRAMSim2", quoted(kind)));
    };
    let Some(op) = op else {
        lines.pass_over();
        return Ok(());
    };
    lines.used(hex(address)?, *op, batch);
    Ok(())
}

/// An empty line, or a comment; anything else is an error.
fn pass_over(lines: &mut Lines<'_>, line: &[u8]) -> Result<(), String> {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        lines.pass_over();
        return Ok(());
    }
    Err(format!("{} is no access", quoted(line)))
}

fn read_or_write(word: &[u8]) -> Result<Op, String> {
    match word {
        b"R" => Ok(Op::LOAD),
        b"W" => Ok(Op::STORE),
        _ => Err(format!("{} is neither R nor W", quoted(word))),
    }
}
