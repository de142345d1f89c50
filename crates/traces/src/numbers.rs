//! Reads numbers in text, and says what is wrong with text that is no number.

/// A decimal number, or what is wrong with it.
pub(crate) fn decimal(word: &[u8]) -> Result<u64, String> {
    if let Some(number) = short_decimal(word) {
        return Ok(number);
    }
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    radix(digits, 10).ok_or_else(|| no_number(word))
}

/// A decimal number of so few digits that it is below 2^64: nearly all are.
#[inline]
fn short_decimal(digits: &[u8]) -> Option<u64> {
    const FEW: usize = 19;
    if digits.is_empty() || digits.len() > FEW {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// A hexadecimal number, with or without `0x`.
pub(crate) fn hex(word: &[u8]) -> Result<u64, String> {
    let digits = word
        .strip_prefix(b"0x")
        .or_else(|| word.strip_prefix(b"0X"))
        .unwrap_or(word);
    radix(digits, 16).ok_or_else(|| no_number(word))
}

/// Decimal, or hexadecimal after `0x`.
pub(crate) fn either(word: &[u8]) -> Result<u64, String> {
    if word.starts_with(b"0x") || word.starts_with(b"0X") {
        hex(word)
    } else {
        decimal(word)
    }
}

fn radix(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits {
        let digit = char::from(*digit).to_digit(radix)?;
        value = value.checked_mul(u64::from(radix))?;
        value = value.checked_add(u64::from(digit))?;
    }
    Some(value)
}

fn no_number(word: &[u8]) -> String {
    let text = quoted(word);
    match word {
        [] => "a number is missing".to_owned(),
        [b'-', ..] => format!("{text} is negative"),
        _ if word.iter().all(u8::is_ascii_hexdigit) => {
            format!("{text} is above 2^64, or no decimal number")
        }
        _ => format!("{text} is no number"),
    }
}

/// Bytes that are quoted of a text: what fits in one line of a message.
const QUOTED: usize = 60;

/// Bytes as a message can show them: in quotes, at most [`QUOTED`].
pub(crate) fn quoted(bytes: &[u8]) -> String {
    if bytes.len() <= QUOTED {
        return format!("{:?}", String::from_utf8_lossy(bytes));
    }
    let start = String::from_utf8_lossy(&bytes[..QUOTED]);
    format!("{start:?}…")
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_is_none() {
        assert_eq!(decimal(b"42"), Ok(42));
        assert_eq!(hex(b"0xFf"), Ok(255));
        assert_eq!(either(b"0x10"), Ok(16));
        for (word, says) in [
            (&b"-1"[..], "negative"),
            (b"18446744073709551616", "above 2^64"),
            (b"", "missing"),
            (b"x", "no number"),
        ] {
            assert!(decimal(word).unwrap_err().contains(says), "{word:?}");
        }
    }
}
