//! Reads what stands in a cell: operations and times.

use crate::numbers::{decimal, hex, quoted};
use crate::roles::Tick;
use crate::vscsi::operation_of;
use workingset::Op;

/// The operation that a word of a trace names.
pub(crate) fn opcode(word: &[u8]) -> Result<Op, String> {
    // Most tables have a letter, or one of these words.
    match word {
        b"r" | b"R" | b"Read" | b"get" => return Ok(Op::LOAD),
        b"w" | b"W" | b"Write" | b"set" => return Ok(Op::STORE),
        _ => {}
    }
    Ok(match word.to_ascii_lowercase().as_slice() {
        b"i" | b"fetch" | b"x" => Op::FETCH,
        b"r" | b"l" | b"read" | b"load" | b"get" | b"gets" | b"get_lease" | b"head" | b"0" => {
            Op::LOAD
        }
        b"w" | b"s" | b"write" | b"store" | b"set" | b"add" | b"cas" | b"replace" | b"append"
        | b"prepend" | b"incr" | b"decr" | b"delete" | b"put" | b"set_lease" | b"1" => Op::STORE,
        word if word.starts_with(b"rest.get.") || word.starts_with(b"rest.head.") => Op::LOAD,
        word if word.starts_with(b"rest.") => Op::STORE,
        b"m" | b"modify" | b"rw" => Op::MODIFY,
        // A command of SCSI, as libCacheSim writes it.
        [_, _] => {
            let command = hex(word).ok().and_then(operation_of);
            command.ok_or_else(|| no_operation(word))?
        }
        _ => return Err(no_operation(word)),
    })
}

fn no_operation(word: &[u8]) -> String {
    format!("{} is neither a read nor a write", quoted(word))
}

/// The bytes of an object.
///
/// Errors: 4 GiB or more. A trace has four bytes for it, as oracleGeneral has.
#[inline]
pub(crate) fn object_size(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| {
        format!("an object of {bytes} bytes: sizes below 4 GiB (4294967296 bytes) are read")
    })
}

/// A time as nanoseconds: of its unit, or of seconds if it has a point.
#[inline]
pub(crate) fn time(word: &[u8], Tick(tick): Tick) -> Result<u64, String> {
    let number = match decimal(word) {
        Ok(number) => number,
        Err(_) if word.contains(&b'.') => return nanoseconds(word),
        Err(what) => return Err(what),
    };
    let time = number.checked_mul(tick);
    time.ok_or_else(|| "a time above 2^64 ns".to_owned())
}

/// Decimal seconds as nanoseconds.
pub(crate) fn nanoseconds(word: &[u8]) -> Result<u64, String> {
    let (whole, part) = match memchr::memchr(b'.', word) {
        Some(at) => (&word[..at], &word[at + 1..]),
        None => (word, &b""[..]),
    };
    let mut nanoseconds = decimal(whole)?
        .checked_mul(1_000_000_000)
        .ok_or("a time above 2^64 ns")?;
    let mut unit = 100_000_000;
    for digit in part {
        let digit = char::from(*digit)
            .to_digit(10)
            .ok_or_else(|| format!("{} is no time", quoted(word)))?;
        nanoseconds = nanoseconds.saturating_add(u64::from(digit) * unit);
        unit /= 10;
    }
    Ok(nanoseconds)
}
