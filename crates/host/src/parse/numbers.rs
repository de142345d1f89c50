//! Files that are one number, or a few in a row.

use super::lines::{number, words};
use crate::error::Malformed;

/// The only word of the file as a number; a limit of `max` is no number, and no error.
pub(crate) fn single(text: &[u8]) -> Result<Option<u64>, Malformed<'_>> {
    match text.strip_suffix(b"\n") {
        Some(b"max") => Ok(None),
        Some(line) => number(line.trim_ascii())
            .map(Some)
            .ok_or(Malformed::new("number", text)),
        None => Err(Malformed::new("number", text)),
    }
}

/// The first `N` words of the only line as numbers; there may be more.
pub(crate) fn row<const N: usize>(text: &[u8]) -> Result<[u64; N], Malformed<'_>> {
    let line = text
        .strip_suffix(b"\n")
        .ok_or(Malformed::new("number", text))?;
    let mut numbers = [0; N];
    let mut words = words(line);
    for slot in &mut numbers {
        *slot = words
            .next()
            .and_then(number)
            .ok_or(Malformed::new("number", text))?;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_unknown_and_anything_else_is_a_number_or_wrong() {
        assert_eq!(single(b"max\n"), Ok(None));
        assert_eq!(single(b"10\n"), Ok(Some(10)));
        for bad in [&b""[..], b"10", b"1 2\n", b"\n", b"-1\n", b"maximum\n"] {
            assert!(single(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_row_may_be_longer_but_not_shorter() {
        assert_eq!(row(b"1\t2\t3\n"), Ok([1, 2]));
        assert!(row::<4>(b"1\t2\t3\n").is_err());
        assert!(row::<2>(b"1\t2").is_err(), "cut");
    }
}
