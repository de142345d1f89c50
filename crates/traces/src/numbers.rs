//! Numbers out of text, and what is wrong with those that are none.

/// A decimal number, or why it is none.
pub(crate) fn decimal(word: &[u8]) -> Result<u64, String> {
    let digits = word.strip_prefix(b"+").unwrap_or(word);
    radix(digits, 10).ok_or_else(|| no_number(word))
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
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = char::from(*digit).to_digit(radix)?;
        value
            .checked_mul(u64::from(radix))?
            .checked_add(u64::from(digit))
    })
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

/// Bytes as a person can read them, not more than a line's worth.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let short = &bytes[..bytes.len().min(60)];
    format!(
        "{:?}{}",
        String::from_utf8_lossy(short),
        if bytes.len() > 60 { "…" } else { "" }
    )
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
        assert_eq!(
            (decimal(b"42"), hex(b"0xFf"), either(b"0x10")),
            (Ok(42), Ok(255), Ok(16))
        );
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
